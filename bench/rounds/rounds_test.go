package rounds

import "testing"

func TestTheRatioIsTakenRoundByRound(t *testing.T) {
	var p Pairs
	for _, round := range [][2]float64{{1, 2}, {10, 5}, {2, 6}} {
		p.Add(round[0], round[1])
	}
	if got, want := p.Line("x y", "more=1"), "bench x y ours=2.00s peer=5.00s ratio=2.00 rounds=3 more=1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("the median of four is %g", got)
	}
}
