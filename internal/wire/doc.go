// Package wire speaks the HTTP APIs of model providers: it reads what a program
// asks a model off a request ([Format].Decode), writes what a model replies, whole
// or as a stream of server-sent events, and fails in the provider's own shapes. So
// a program that uses a provider's SDK needs no change but its HTTP client.
//
// There is a [Format] for each API: OpenAI's chat completions and responses,
// Anthropic's messages, and Gemini's generateContent with streamGenerateContent.
// What is written is what a reader of the API gets to see, in the real order of
// events, and no field more than SDKs read.
//
// [Format].Strict holds a request to what the real provider rejects. What a format
// cannot carry is an error of [Format].Whole or another reply, as its comment says:
// arguments that are no JSON are a string of OpenAI's and reach the program as they
// are; Anthropic has them as an object, so that only the fragments of a stream can
// carry them; Gemini answers MALFORMED_FUNCTION_CALL in their place.
//
// [Format].Read puts together what a program has got of an answer, also of one that
// broke off. It shares no code with what writes.
//
// Nothing here starts a goroutine, keeps state or waits.
package wire
