package faultsim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-go/rehearse/trace"
)

// sayOption is the option whose value is a Go string: words have spaces.
const sayOption = "say="

func (f *Fault) writeWords(b *strings.Builder) {
	if f.Say != "" {
		b.WriteString(" " + sayOption + strconv.Quote(f.Say))
	}
	if f.Advice != trace.AdviceNone {
		b.WriteString(" advice=" + f.Advice.String())
	}
	if f.Wrap != WrapNone {
		b.WriteString(" wrap=" + string(f.Wrap))
	}
}

func wrapForm(value string) (WrapForm, error) {
	w := WrapForm(value)
	if w == WrapNone || !slices.Contains(wrapForms, w) {
		return WrapNone, fmt.Errorf("wrap is %q; known are wrap=wrapped and wrap=joined", value)
	}
	return w, nil
}

// quotedWord takes a Go string off the rest of a line.
func quotedWord(rest, line string) (word, after string, err error) {
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", "", fmt.Errorf("a quotation mark is not closed in %q", line)
	}
	word, _ = strconv.Unquote(quoted)
	after = rest[len(quoted):]
	if after != "" && after[0] != ' ' && after[0] != '\t' {
		return "", "", fmt.Errorf("there is no space after %s in %q", quoted, line)
	}
	return word, after, nil
}
