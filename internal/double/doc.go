// Package double is the engine of the doubles: what a scripted double, whose
// answers a person wrote down, and a simulated one, whose answers a schedule
// plans, have in common.
//
// It plays the time of an answer ([Timing]), renders a class of failure as an
// HTTP response or transport error ([Reply]), reads a request without changing
// it ([Capture]), tells when an HTTP answer has ended ([OnEnd]), copies values
// ([Clone]), keeps a script with the lines that wrote it ([Script]) and guards
// the way to a test's t ([Door]).
//
// Nothing here starts a goroutine, and nothing waits while it holds a lock: a
// goroutine that waits for a mutex stops the virtual time of a synctest bubble.
package double
