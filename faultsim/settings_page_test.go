package faultsim_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rehearse-go/rehearse/internal/setting"
	_ "github.com/rehearse-go/rehearse/matrix" // which has a setting of its own
)

// The documentation has every setting, and nothing that is none.
func TestDocumentationListsEachSettingOnce(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var rows []setting.Entry
	for _, m := range regexp.MustCompile(`(?m)^//\t-(rehearse\.\w+) +(REHEARSE_\w+) +(.*)$`).FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, setting.Entry{Flag: m[1], Variable: m[2], Meaning: m[3]})
	}
	require.Equal(t, setting.All(), rows)
	for _, e := range rows {
		require.Equal(t, "REHEARSE_"+strings.ToUpper(strings.TrimPrefix(e.Flag, "rehearse.")), e.Variable)
	}
}
