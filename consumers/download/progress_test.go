package download

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/config"
	"tributary/schemas"
)

// told is what was told of how far transfers are, and when.
type told struct {
	name    string
	after   time.Duration // since the test began
	started time.Duration // of the transfer, likewise
	schemas.Progress
}

// telling has the bench keep what is told, which settles it after that time.
func (b *bench) telling(settles time.Duration) *[]told {
	var all []told
	begun := time.Now()
	b.deps.Now = time.Now
	b.tell = func(m schemas.Message, settled func(error)) {
		b.mu.Lock()
		defer b.mu.Unlock()
		s, ok := m.Body.(*schemas.StatusChanged)
		p, is := schemas.ProgressOf(s)
		if !ok || !is || m.Key != s.File || m.Topic != schemas.StatusChangedTopic || s.Attempt == 0 || s.StartedAt == nil || s.Outcome != "" || s.Bytes != 0 {
			b.t.Errorf("told: %+v", m)
		}
		for _, o := range b.out {
			if o.ID == m.ID {
				b.t.Errorf("the id of %s is told twice", s.FileName)
			}
		}
		b.out = append(b.out, schemas.Message{ID: m.ID})
		all = append(all, told{s.FileName, m.Time.Sub(begun), s.StartedAt.Sub(begun), p})
		if settles == 0 {
			settled(nil)
			return
		}
		time.AfterFunc(settles, func() { settled(errors.New("perhaps not")) })
	}
	return &all
}

// A transfer that takes longer than the interval is told of once in each, with the
// bytes so far and the rate since the last; one that doesn't is not, and what is
// told of the end is as without.
func TestProgressIsToldWhileAFileComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		all := b.telling(time.Millisecond)
		b.dripping("1.zip", 2000, time.Second, 33_000) // it takes 17 s
		b.dripping("2.zip", 2000, time.Second, 18_000) // and this 9
		if err := b.work(t.Context(), b.job("1.zip", "2.zip")); err != nil {
			t.Fatal(err)
		}
		want := []told{{"1.zip", 10 * time.Second, 0, schemas.Progress{Received: 20_000, Rate: 2000}}}
		if d := cmp.Diff(want, *all, cmp.AllowUnexported(told{})); d != "" {
			t.Errorf("told (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"download running  ", "zip_md5 done " + b.finished()["1.zip"].SHA256 + " no_checksum"}, b.statuses("1.zip")); d != "" {
			t.Errorf("what is told of the file itself:\n%s", d)
		}
	})
}

// What stands still is not told of, and afterwards the rate is that of the whole
// time since.
func TestAStallIsKnownByWhatIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.RateGrace = config.Duration(time.Hour)
		all := b.telling(time.Millisecond)
		b.dripping("1.zip", 50_000, 50*time.Second, 100_000)
		if err := b.work(t.Context(), b.job("1.zip")); err != nil {
			t.Fatal(err)
		}
		want := []told{{"1.zip", 50 * time.Second, 0, schemas.Progress{Received: 32768, Rate: 655}}} // io.Copy takes so much at a time
		if len(*all) == 0 || cmp.Diff(want[:1], (*all)[:1], cmp.AllowUnexported(told{})) != "" {
			t.Errorf("told: %+v, want first %+v", *all, want)
		}
		for i := 1; i < len(*all); i++ {
			if gap := (*all)[i].after - (*all)[i-1].after; gap < 50*time.Second {
				t.Errorf("told again after %v, though nothing came meanwhile", gap)
			}
		}
	})
}

// The longer a transfer takes, the more rarely it is told of: of the longest there
// may be the log keeps little. What is told is never older than a twentieth of the
// time that it has taken, or the interval.
func TestALongTransferIsToldOfMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		all := b.telling(time.Millisecond)
		b.dripping("1.zip", 2000, time.Second, 2000*(12*3600-60))
		if err := b.work(t.Context(), b.job("1.zip")); err != nil {
			t.Fatal(err)
		}
		if n := len(*all); n < 100 || n > 130 {
			t.Errorf("told %d times in 12 hours", n)
		}
		var before told
		for _, p := range *all {
			gap := p.after - before.after
			if least, most := max(10*time.Second, p.after/20), max(10*time.Second, p.after/20)+time.Second; gap < least || gap > most {
				t.Errorf("told after %v, %v after it was told before", p.after, gap)
			}
			if p.Received-before.Received != int64(gap/time.Second)*2000 || p.Rate != 2000 {
				t.Errorf("after %v: %+v, and before %+v", p.after, p.Progress, before.Progress)
			}
			before = p
		}
	})
}

// However many files come at once, a member tells no more than so much in a second,
// and each of them in its turn.
func TestAMemberTellsSoMuchASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.ProgressInterval = config.Duration(time.Second)
		all := b.telling(time.Millisecond)
		const files = 60
		b.server.width = files
		var names []string
		for i := range files {
			names = append(names, fmt.Sprintf("%d.zip", i))
			b.dripping(names[i], 100, 30*time.Millisecond, 100_000)
		}
		if err := b.work(t.Context(), b.job(names...)); err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for i, p := range *all {
			of[p.name]++
			if i > 0 && p.after-(*all)[i-1].after < tellPause {
				t.Errorf("told at %v and at %v", (*all)[i-1].after, p.after)
			}
		}
		if n := len(*all); n < files || n > 310 {
			t.Errorf("told %d times in 30 s", n)
		}
		for _, name := range names {
			if of[name] == 0 {
				t.Errorf("%s was never told of", name)
			}
		}
	})
}

// While the broker takes nothing, one is told and the others are dropped: the files
// are fetched all the same, in the same time.
func TestProgressIsDroppedWhileKafkaIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		all := b.telling(35*time.Second + 500*time.Millisecond)
		begun := time.Now()
		b.dripping("1.zip", 2000, time.Second, 2000*60)
		if err := b.work(t.Context(), b.job("1.zip")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); b.finished()["1.zip"].Result != schemas.Fetched || took != 61*time.Second {
			t.Errorf("after %v: %+v", took, b.finished()["1.zip"])
		}
		if len(*all) != 2 || (*all)[0].after != 10*time.Second || (*all)[1].after != 46*time.Second || (*all)[1].Received != 92_000 {
			t.Errorf("told: %+v, want after 10 s, and after the first was settled", *all)
		}
	})
}

// A file that changes while it is fetched is fetched once more, and counts anew; so
// does the next attempt.
func TestATransferCountsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		all := b.telling(time.Millisecond)
		f := b.dripping("1.zip", 2000, time.Second, 24_000)
		m := b.job("1.zip")
		f.mtime = f.mtime.Add(time.Hour) // since it was listed
		for range 2 {
			b.server.closed = 0
			if err := b.work(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		var want []told
		for i := range 4 { // each attempt takes two transfers, since the listing is of before
			begun := time.Duration(i) * 13 * time.Second // its end is read a second after its last bytes
			want = append(want, told{"1.zip", begun + 10*time.Second, begun, schemas.Progress{Received: 20_000, Rate: 2000}})
		}
		if d := cmp.Diff(want, *all, cmp.AllowUnexported(told{})); d != "" {
			t.Errorf("told (-want +got):\n%s", d)
		}
	})
}

// Nothing is told where that is switched off, or where nobody takes it.
func TestNothingIsToldOfProgress(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"switched off":   func(b *bench) { b.cfg.ProgressInterval = 0 },
		"nobody is told": func(b *bench) { b.tell = nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				all := b.telling(0)
				change(b)
				b.dripping("1.zip", 2000, time.Second, 33_000)
				if err := b.work(t.Context(), b.job("1.zip")); err != nil {
					t.Fatal(err)
				}
				if b.finished()["1.zip"].Result != schemas.Fetched || len(*all) > 0 {
					t.Errorf("told: %+v", *all)
				}
			})
		})
	}
}
