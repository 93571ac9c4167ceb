package faultsim

import "testing"

func BenchmarkFuzzPlay(b *testing.B) {
	inTest(b, func(t *testing.T) {
		a := homeAdapter()
		z, err := newFuzzer(t.Name(), &a)
		if err != nil {
			t.Fatal(err)
		}
		seeds := z.seeds()
		for n := 0; b.Loop(); n++ {
			z.play(t, seeds[n%len(seeds)])
		}
	})
}
func BenchmarkDecode(b *testing.B) {
	inTest(b, func(t *testing.T) {
		a := homeAdapter()
		z, _ := newFuzzer(t.Name(), &a)
		seeds := z.seeds()
		z.play(t, seeds[0])
		for n := 0; b.Loop(); n++ {
			decode(z.property.drawer, seeds[n%len(seeds)])
		}
	})
}
