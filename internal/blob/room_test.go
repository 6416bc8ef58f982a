package blob

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const mib = 1 << 20

// A reservation grows with what has come: a claim takes no room from others.
func TestAClaimReservesOnlySteps(t *testing.T) {
	d := &disk{free: 1100 * mib, total: 10_000 * mib}
	s := d.space(100*mib, 1)
	for range 50 {
		if _, err := s.Reserve("liar", 1000*mib); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Reserve("good", 900*mib); err != nil {
		t.Errorf("beside claims of which nothing has come: %v", err)
	}
	r, err := s.Reserve("good", -1)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		d.free -= 10 * mib
		if err := r.Wrote(10 * mib); err != nil {
			t.Fatalf("after %d MiB: %v", 10*n, err)
		}
	}
	if _, err := s.Reserve("late", 1000*mib); err != nil {
		t.Errorf("what has come of a transfer that may still fail makes a file outsized: %v", err)
	}
}

// One server's blobs that are being written take no more than its share, also of
// what they really send; then its youngest is given up, and nobody else's.
func TestAServersShare(t *testing.T) {
	d := &disk{free: 1100 * mib, total: 10_000 * mib}
	s := d.space(100*mib, 1)
	s.ServerShare = 0.5
	if _, err := s.Reserve("host", 501*mib); !errors.Is(err, ErrOutsized) || !errors.Is(err, ErrNoRoom) {
		t.Errorf("more than the share: %v", err)
	}
	good, err := s.Reserve("good", 500*mib)
	if err != nil {
		t.Fatal(err)
	}
	var greedy []*Reservation
	for range 4 {
		r, err := s.Reserve("greedy", 400*mib)
		if err != nil {
			t.Fatal(err)
		}
		greedy = append(greedy, r)
	}
	sent := map[*Reservation]int64{}
	write := func(r *Reservation, n int64) error {
		d.free -= n
		sent[r] += n
		return r.Wrote(int(n))
	}
	for range 40 {
		for _, r := range greedy {
			if sent[r] < 0 {
				continue
			}
			if err := write(r, 10*mib); err != nil {
				if !errors.Is(err, ErrNoRoom) || errors.Is(err, ErrOutsized) || r == greedy[0] {
					t.Fatalf("after %d MiB: %v", sent[r]/mib, err)
				}
				r.Release()
				d.free += sent[r]
				sent[r] = -1
			}
		}
		if sent[good] < 500*mib {
			if err := write(good, 12*mib+mib/2); err != nil {
				t.Fatalf("the other server's, after %d MiB: %v", sent[good]/mib, err)
			}
		}
	}
	if sent[good] != 500*mib || sent[greedy[0]] != 400*mib {
		t.Errorf("%d and %d MiB came of what is not the youngest", sent[good]/mib, sent[greedy[0]]/mib)
	}
}

// Whatever transfers there are, the oldest of those not given up goes on, unless
// what was finished meanwhile has left it no room even alone. So never do all
// give up: of any that do not fit together one after the other is finished.
func TestTheOldestAlwaysGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const floor = 100 * mib
		room := rapid.Int64Range(50, 500).Draw(t, "room") * mib
		d := &disk{free: floor + room, total: 1 << 50}
		s := d.space(floor, 1)
		if rapid.Bool().Draw(t, "shared") {
			s.ServerShare = 0.5
		}
		type transfer struct {
			r          *Reservation
			size, sent int64
		}
		var open []*transfer
		end := func(i int, kept bool) {
			open[i].r.Release()
			if !kept {
				d.free += open[i].sent
			}
			open = append(open[:i:i], open[i+1:]...)
		}
		for range rapid.IntRange(20, 300).Draw(t, "steps") {
			if len(open) == 0 || rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				size := rapid.Int64Range(1, 300).Draw(t, "size") * mib
				r, err := s.Reserve(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "server"), size)
				if err == nil {
					open = append(open, &transfer{r: r, size: size})
				} else if len(open) == 0 && !errors.Is(err, ErrOutsized) && !errors.Is(err, ErrLow) {
					t.Fatalf("alone, %d MiB of %d: %v", size/mib, (d.free-floor)/mib, err)
				}
				continue
			}
			i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
			x := open[i]
			oldest := slices.IndexFunc(open, func(o *transfer) bool { return !o.r.revoked })
			n := min(rapid.Int64Range(1, 40).Draw(t, "bytes")*mib, x.size-x.sent)
			x.sent += n
			d.free -= n
			switch err := x.r.Wrote(int(n)); {
			case err != nil && i == oldest && s.outsized(x.size) == nil:
				t.Fatalf("the oldest is given up after %d of %d MiB: %v", x.sent/mib, x.size/mib, err)
			case err != nil:
				end(i, false)
			case x.sent == x.size:
				end(i, rapid.Bool().Draw(t, "kept"))
			}
		}
	})
}
