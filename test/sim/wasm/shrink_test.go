package main

import (
	"slices"
	"testing"
)

const trace = `seed 7, 12 members, 10 files, 3 faults struck, 5 parts drawn:
    0.000s  sim          FAULT kill a plan
   12.020s  LAW          L5: rows differ
   13.020s  LAW          L5: rows differ again
   14.000s  LAW          L8: pending
`

func TestTracesAreRead(t *testing.T) {
	if got := broken(trace); !slices.Equal(got, []string{"L5", "L8"}) {
		t.Errorf("broken: %v", got)
	}
	if got := broken("panic: deadlock"); !slices.Equal(got, []string{"end"}) {
		t.Errorf("broken without a law: %v", got)
	}
	if got := partsOf(trace); got != 5 {
		t.Errorf("parts: %d", got)
	}
	if got := partsOf("panic"); got != 0 {
		t.Errorf("parts of what ended before it said: %d", got)
	}
}

// A seed that breaks a law for two parts of seven, both needed, is shrunk to
// these.
func TestShrinkLeavesWhatIsNeeded(t *testing.T) {
	played := 0
	try := func(without []int) (play, error) {
		played++
		if slices.Contains(without, 2) || slices.Contains(without, 5) {
			return play{held: true}, nil
		}
		return play{trace: "1.000s  LAW  L5: x\n"}, nil
	}
	_, gone, err := shrink(try, play{trace: "seed 1, 7 parts drawn:\n1.000s  LAW  L5: x\n"}, nil)
	if err != nil || !slices.Equal(gone, []int{0, 1, 3, 4, 6}) {
		t.Errorf("gone: %v, error %v", gone, err)
	}
	if played > 20 {
		t.Errorf("%d plays", played)
	}
}
