package setting

import (
	"errors"
	"flag"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var answer = Define("answer", "a number", func(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, errors.New("is no number")
	}
	return n, nil
})

var yes = Define("yes", "a wish", YesOrNo)

func TestFlagGoesBeforeItsVariable(t *testing.T) {
	read := func() (int, Source) {
		v, from, err := answer.Read()
		require.NoError(t, err)
		return v, from
	}
	t.Setenv("REHEARSE_ANSWER", "")
	v, from := read()
	require.Equal(t, 0, v)
	require.Equal(t, Unset, from, "an empty variable is none")

	t.Setenv("REHEARSE_ANSWER", "6")
	v, from = read()
	require.Equal(t, 6, v)
	require.Equal(t, Variable, from)

	defer func() { answer.flag = text{} }()
	require.NoError(t, flag.Set("rehearse.answer", "7"))
	v, from = read()
	require.Equal(t, 7, v)
	require.Equal(t, Flag, from)

	require.NoError(t, flag.Set("rehearse.answer", "seven"))
	_, _, err := answer.Read()
	require.EqualError(t, err, `-rehearse.answer="seven" is no number`)

	answer.flag = text{}
	t.Setenv("REHEARSE_ANSWER", "six")
	_, _, err = answer.Read()
	require.EqualError(t, err, `REHEARSE_ANSWER="six" is no number`)
}

func TestAFlagOfYesOrNoNeedsNoValue(t *testing.T) {
	defer func() { yes.flag = text{bool: true} }()
	f := flag.Lookup("rehearse.yes").Value.(interface{ IsBoolFlag() bool })
	require.True(t, f.IsBoolFlag())
	require.False(t, flag.Lookup("rehearse.answer").Value.(interface{ IsBoolFlag() bool }).IsBoolFlag())
	require.NoError(t, flag.Set("rehearse.yes", "true"))
	v, _, err := yes.Read()
	require.NoError(t, err)
	require.True(t, v)

	require.NoError(t, flag.Set("rehearse.yes", "no"))
	v, _, err = yes.Read()
	require.EqualError(t, err, `-rehearse.yes="no" is neither true nor false`)
	require.False(t, v)
}

func TestAllListsTheSettingsByTheirFlags(t *testing.T) {
	require.Equal(t, []Entry{
		{"rehearse.answer", "REHEARSE_ANSWER", "a number"},
		{"rehearse.yes", "REHEARSE_YES", "a wish"},
	}, All())
}
