package faultsim

import (
	"fmt"
	"strconv"
	"strings"
)

const noKeyWord = "none"

// writeServed writes what a call of a tool under test is made with.
func (p *Plan) writeServed(b *strings.Builder) {
	switch {
	case p.Key < 0:
		b.WriteString(" key=" + noKeyWord)
	case p.Key > 1:
		fmt.Fprintf(b, " key=%d", p.Key)
	}
	if p.Other {
		b.WriteString(" other")
	}
}

// keyNumber reads the value of key=.
func keyNumber(value string) (int, error) {
	if value == noKeyWord {
		return NoKey, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("key=%s is no number from 1, and not none: the first key needs no key=", value)
	}
	if n == 1 {
		n = 0
	}
	return n, nil
}
