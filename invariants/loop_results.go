package invariants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// replyKept is: what the model said stays in what it is shown next, unless the loop
// shortens the conversation.
func (l *Loop) replyKept(p *Policy) Invariant {
	return l.runRule(p, "reply-kept", "the model is shown its own replies", func(r *run) (v Verdict) {
		for i := range r.turns {
			t := &r.turns[i]
			if next := r.turnAt(t.Next); next == nil || next.Prompt == nil || t.Reply == nil {
				continue
			}
			if v.Applied++; t.Skipped {
				v.report(r.a, fmt.Sprintf("%s was asked on, and its reply of turn %d was not in what it was shown", t.Model, t.N),
					"append each reply, with the calls in it, to the conversation before the results", t.Answer, t.Next)
				return v
			}
		}
		return v
	})
}

// oneResult is: each call that the model asked for has exactly one result in its next
// prompt, also where one beside it failed ("each call id gets exactly one result", rule
// 14 of the field collection; field cases F068, F075).
func (l *Loop) oneResult(p *Policy) Invariant {
	return l.runRule(p, "one-result", "each call that the model asks for gets exactly one result", func(r *run) (v Verdict) {
		for i := range r.turns {
			t := &r.turns[i]
			if next := r.turnAt(t.Next); next == nil || next.Prompt == nil || t.Prompt == nil || t.Skipped {
				continue
			}
			for k := range t.Asks {
				ask := &t.Asks[k]
				if l.Compacts && ask.ID == "" {
					continue // which of the results that are left are new is not to be seen
				}
				v.Applied++
				switch n := len(ask.Results); {
				case n == 0:
					v.report(r.a, fmt.Sprintf("%s was asked on, and the call of %s had no result", t.Model, ask.Tool),
						"give each call a result on every way out, those that failed and those that were not made included", t.Answer, t.Next)
				case n > 1:
					v.report(r.a, fmt.Sprintf("%s was shown %d results of one call of %s", t.Model, n, ask.Tool),
						"show the model what became of a call in the end, once; attempts are the program's business", t.Answer, t.Next)
				case ask.Results[0].Tool != "" && ask.Results[0].Tool != ask.Tool:
					v.report(r.a, fmt.Sprintf("%s was shown a result of %s for a call of %s", t.Model, ask.Results[0].Tool, ask.Tool),
						"pair results with calls by the place of the call, and give calls that share an id, or have none, ids of your own", t.Answer, t.Next)
				}
				if len(v.Findings) > 0 {
					return v
				}
			}
		}
		return v
	})
}

// conversationTaken is: the model's API takes each conversation that it is sent. One
// that it rejects for its form, such as a result whose call was cut off with the
// history, is the program's doing, and comes back at each run that gets so far.
func (l *Loop) conversationTaken(p *Policy) Invariant {
	return l.runRule(p, "conversation-taken", "no conversation is rejected for its form", func(r *run) (v Verdict) {
		for _, c := range r.talks {
			if r.tr.Events[c.event].Role != trace.RoleModel || c.answer < 0 {
				continue
			}
			v.Applied++
			if e := &r.tr.Events[c.answer]; e.Outcome.Class == trace.Invalid && e.Outcome.Code == trace.CodeConversation {
				v.report(r.a, fmt.Sprintf("%s rejected the conversation: %s", e.Tool, e.Error),
					"send calls and their results together or not at all, also where the history is cut or told in short", c.event, c.answer)
				return v
			}
		}
		return v
	})
}

// resultMarked is: a result tells the model what became of its call: a failure is
// marked, or said in words, and a success is neither (field cases F024, F026; "return
// the error to the model as a normal tool result", Retries, timeouts and failure
// handling).
func (l *Loop) resultMarked(p *Policy) Invariant {
	return l.runRule(p, "result-marked", "the model is told which of its calls failed", func(r *run) (v Verdict) {
		for i := range r.asks {
			k := &r.asks[i]
			if len(k.Results) != 1 || r.twin(k) {
				continue
			}
			next, shown := r.turns[k.turn].Next, &k.Results[0]
			f, event := r.fate(k)
			if event > next {
				continue // it was known later
			}
			switch {
			case f == fateFailed:
				if v.Applied++; !shown.Failed && !mayTellFailure(shown.Text) {
					v.report(r.a, fmt.Sprintf("a call of %s failed, and the model was shown %s as its result", k.Tool, orSilence(shown.Text)),
						"mark the result as failed, and say in a sentence what failed and what can be done next", event, next)
				}
			case f == fateOK:
				if v.Applied++; shown.Failed {
					v.report(r.a, fmt.Sprintf("a call of %s succeeded, and the model was shown %s as a failure", k.Tool, orSilence(shown.Text)),
						"judge the structured status, not words in the answer", event, next)
				}
			}
			if len(v.Findings) > 0 {
				return v
			}
		}
		return v
	})
}

func orSilence(text string) string {
	if strings.TrimSpace(text) == "" {
		return "nothing"
	}
	return fmt.Sprintf("%q", short([]byte(text)))
}

// promptResent is: a turn whose model failed is asked for again with the same
// conversation; a message that is appended with each try is there twice. A prompt that
// was rejected as invalid may be changed.
func (l *Loop) promptResent(p *Policy) Invariant {
	return l.runRule(p, "prompt-resent", "the attempts of one turn show the model the same conversation", func(r *run) (v Verdict) {
		for i := range r.turns {
			t := &r.turns[i]
			for n := 1; n < len(t.Calls); n++ {
				was, is := r.tr.Events[t.Calls[n-1]].Prompt, r.tr.Events[t.Calls[n]].Prompt
				if was == nil || is == nil || r.answered(t.Calls[n-1]) == trace.Invalid {
					continue
				}
				if v.Applied++; !l.Compacts && !sameTalk(was, is) || len(is.Messages) > len(was.Messages) {
					v.report(r.a, fmt.Sprintf("%s was asked for turn %d again with another conversation: %d messages instead of %d", t.Model, t.N, len(is.Messages), len(was.Messages)),
						"build the prompt once, before the calls of the turn, and append nothing until the reply is there", t.Calls[n-1], t.Calls[n])
					return v
				}
			}
		}
		return v
	})
}

// answered is the class of the answer to the talk's call; zero: none has come.
func (r *run) answered(event int) trace.Class {
	if at := r.answerTo(event); at >= 0 {
		return r.tr.Events[at].Outcome.Class
	}
	return 0
}

func sameTalk(a, b *trace.Prompt) bool {
	return slices.EqualFunc(a.Messages, b.Messages, func(x, y trace.Message) bool {
		return x.From == y.From && x.Text == y.Text && slices.Equal(x.Calls, y.Calls) && slices.Equal(x.Results, y.Results)
	})
}

// promptNotFlooded is: the same failure is not in one prompt over and over ("it
// pollutes the context", Tool errors, retries and timeouts).
func (l *Loop) promptNotFlooded(p *Policy) Invariant {
	return l.runRule(p, "prompt-not-flooded", fmt.Sprintf("a prompt holds the same failed result at most %d times", l.Rejections), func(r *run) (v Verdict) {
		for _, c := range r.talks {
			e := &r.tr.Events[c.event]
			if e.Prompt == nil {
				continue
			}
			counts := map[string]int{}
			for i := range e.Prompt.Messages {
				for _, res := range e.Prompt.Messages[i].Results {
					if !res.Failed {
						continue
					}
					v.Applied = 1
					if counts[res.Text]++; counts[res.Text] > l.Rejections {
						v.report(r.a, fmt.Sprintf("%s was shown %d failed results that say %q, at most %d are allowed", e.Tool, counts[res.Text], short([]byte(res.Text)), l.Rejections),
							"end the run, or say it once, when the same call is refused again and again", c.event)
						return v
					}
				}
			}
		}
		return v
	})
}
