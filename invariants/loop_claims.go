package invariants

import "strings"

// ClaimsSuccess reports whether a sentence of the text says that something was
// done, in English: it has a word such as "done", "booked" or "successfully", and
// none that takes it back or puts it off, such as "not", "could", "I'll" or "if". A
// question claims nothing. It is a careful guess, for a loop whose texts are a
// script's: hand in a [Loop.Claims] of your own where words matter.
func ClaimsSuccess(text string) bool {
	for text != "" {
		end := strings.IndexAny(text, ".!?;\n")
		if end < 0 {
			end = len(text) - 1
		}
		sentence := text[:end+1]
		text = text[end+1:]
		if !strings.HasSuffix(sentence, "?") && claims(sentence) {
			return true
		}
	}
	return false
}

func claims(sentence string) bool {
	said := strings.Contains(sentence, "✅")
	for word := range strings.FieldsFuncSeq(strings.ToLower(sentence), between) {
		if doubting[word] || shortened(word) {
			return false
		}
		said = said || claiming[word]
	}
	return said
}

// shortened reports whether the word is run together with "not" or "will".
func shortened(word string) bool {
	word = strings.ReplaceAll(word, "’", "'")
	return strings.HasSuffix(word, "n't") || strings.HasSuffix(word, "'ll")
}

// between reports whether the rune stands between words.
func between(r rune) bool {
	return !('a' <= r && r <= 'z') && r != '\'' && r != '’'
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

var (
	// claiming are words that say that something was done.
	claiming = wordSet(`done success successful successfully succeeded complete completed finished booked reserved
		paid charged refunded transferred sent delivered ordered placed created updated deleted saved scheduled
		confirmed submitted approved fixed resolved`)

	// doubting are words that take it back, or put it off.
	doubting = wordSet(`not no never nothing none neither nor without unable cannot failed fails failure error unsuccessful unsuccessfully incomplete
		could would should might may will shall can if unless until before once when whether try trying attempt attempting
		pending waiting yet be let going need needs want wants`)
)
