package sequence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/test/wait"
)

// early is a bench whose profile releases early.
func early(t *testing.T) *bench {
	b := newBench(t)
	b.deps.Early = true
	return b
}

// specimen is a valid document of a file: the nth.
func (f *file) specimen(n int64) *schemas.DocumentValidated {
	return f.verdict("specimen", "2026-01-01", n, schemas.Valid)
}

// What is complete of a batch is released before the rest, whole versions with what
// they withdraw, in the order of its key; its number is that of its first part, and its
// end comes once. Late batches may fall between, the next session's may not.
func TestABatchIsReleasedInParts(t *testing.T) {
	b := early(t)
	first, second := b.session(), b.session()
	two := b.extracted(first, "H", "add", "2026-02-02", 1, 2)
	one := b.extracted(first, "H", "add", "2026-02-01", 1, 1)
	gone := b.extracted(first, "H", "delete", "2026-01-01", 1, 1)
	last := b.extracted(first, "H", "add", "2026-02-03", 1, 1)
	next := b.extracted(second, "H", "add", "2026-02-04", 1, 1)
	b.read(two.specimen(1), gone.specimen(1), one.specimen(1), next.specimen(1))
	b.release()
	got := b.says("1 add/"+one.name+"/H.2026-01-01.1.specimen.impc.xml", "2 delete/"+gone.name+"/H.2026-01-01.1.specimen.impc.xml",
		"3 withdrawal add/"+one.name+" of 1", "4 withdrawal delete/"+gone.name+" of 1")
	b.release()
	b.says() // nothing has ended meanwhile

	late := b.extracted("", "H", "add", "2026-02-05", 1, 1)
	b.read(late.specimen(1))
	b.release()
	b.says() // it has no parts
	b.now = b.now.Add(b.cfg.LateLimit.D())
	b.release()
	b.says("5 add/"+late.name+"/H.2026-01-01.1.specimen.impc.xml", "6 withdrawal add/"+late.name+" of 1", "7 end of H 2 of 1 late")

	b.read(two.specimen(2))
	b.release()
	got = append(got, b.says("8 add/"+two.name+"/H.2026-01-01.1.specimen.impc.xml", "9 add/"+two.name+"/H.2026-01-01.2.specimen.impc.xml", "10 withdrawal add/"+two.name+" of 2")...)
	b.read(last.specimen(1))
	b.release()
	got = append(got, b.says("11 add/"+last.name+"/H.2026-01-01.1.specimen.impc.xml", "12 withdrawal add/"+last.name+" of 1", "13 end of H 1 of 5", "14 end of session 1",
		"15 add/"+next.name+"/H.2026-01-01.1.specimen.impc.xml", "16 withdrawal add/"+next.name+" of 1", "17 end of H 3 of 1", "18 end of session 2")[:3]...)
	for _, o := range got {
		if o.Number != 1 || o.Batch != got[0].Batch {
			t.Errorf("position %d is of batch %d", o.Position, o.Number)
		}
	}
}

// What of a version was ordered before control was restored is given no position again,
// and its version counts it: in a part, in a batch as a whole, and where nothing is left
// but what the version withdraws.
func TestWhatWasOrderedBeforeIsNotOrderedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		before []int64 // of two documents
		beside bool    // another file of the batch is outstanding
		want   []string
	}{
		"a part":             {[]int64{1}, true, []string{"1 add/%s/H.2026-01-01.2.specimen.impc.xml", "2 withdrawal add/%s of 2"}},
		"a batch":            {[]int64{2}, false, []string{"1 add/%s/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/%s of 2", "3 end of H 1 of 1", "4 end of session 1"}},
		"all of a part":      {[]int64{1, 2}, true, []string{"1 withdrawal add/%s of 2"}},
		"all of a batch":     {[]int64{2, 1}, false, []string{"1 withdrawal add/%s of 2", "2 end of H 1 of 0", "3 end of session 1"}},
		"nothing, in a part": {nil, true, []string{"1 add/%s/H.2026-01-01.1.specimen.impc.xml", "2 add/%s/H.2026-01-01.2.specimen.impc.xml", "3 withdrawal add/%s of 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := early(t)
			s := b.session()
			f := b.extracted(s, "H", "add", "2026-02-01", 1, 2)
			if c.beside {
				b.extracted(s, "H", "add", "2026-02-02", 1, 1)
			}
			for _, n := range c.before {
				v := f.specimen(n)
				b.exec("INSERT INTO control.ordered_document (run, file, attempt, download, unzip, document) VALUES ($1,$2,$3,$4,$5,$6), ($1,$2,$3+1,$4,$5,$6), ($1,$2,$3,'other',$5,$6)", v.Run, v.File, v.Attempt, v.Download, v.Unzip, v.Document)
			}
			b.read(f.specimen(1), f.specimen(2))
			b.release()
			var want []string
			for _, w := range c.want {
				want = append(want, strings.ReplaceAll(w, "%s", f.name))
			}
			b.says(want...)
			b.release()
			b.says()
		})
	}
}

// A batch that has begun goes first, also before that of an earlier session whose
// files were found later, and its end is told when nothing more comes of it.
func TestABatchThatHasBegunGoesFirst(t *testing.T) {
	b := early(t)
	first, second := b.session(), b.session()
	b.exec("UPDATE control.session SET polls_ended_at = NULL WHERE id = $1", first)
	begun := b.extracted(second, "H", "add", "2026-02-01", 1, 1)
	failed := b.extracted(second, "H", "add", "2026-02-02", 1, 1)
	b.read(begun.specimen(1))
	b.release()
	b.says("1 add/"+begun.name+"/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+begun.name+" of 1")
	found := b.extracted(first, "H", "add", "2026-02-03", 1, 1)
	b.exec("UPDATE control.session SET polls_ended_at = opened_at WHERE id = $1", first)
	b.read(found.specimen(1))
	b.release()
	b.says()
	b.exec("UPDATE control.acquisition SET state = 'ended', result = 'failed' WHERE id = $1", failed.acquisition)
	b.release()
	b.says("3 end of H 1 of 1", "4 end of session 2",
		"5 add/"+found.name+"/H.2026-01-01.1.specimen.impc.xml", "6 withdrawal add/"+found.name+" of 1", "7 end of H 2 of 1", "8 end of session 1")
}

// A part waits for what a batch of an earlier session is there, or will come of.
func TestPartsFollowTheirSessions(t *testing.T) {
	for _, taken := range []bool{true, false} {
		b := early(t)
		first, second := b.session(), b.session()
		if taken {
			b.extracted(first, "H", "add", "2026-02-01", 1, 1)
		} else {
			b.look(first, "H", "announced")
		}
		f := b.extracted(second, "H", "add", "2026-02-02", 1, 1)
		b.extracted(second, "H", "add", "2026-02-03", 1, 1)
		b.read(f.specimen(1))
		b.release()
		b.says()
	}
}

// What ends gathers for a while: sequence may look for batches far more often.
func TestPartsGather(t *testing.T) {
	b := early(t)
	s := b.session()
	one, two := b.extracted(s, "H", "add", "2026-02-01", 1, 1), b.extracted(s, "H", "add", "2026-02-02", 1, 1)
	b.extracted(s, "H", "add", "2026-02-03", 1, 1)
	look := func() {
		t.Helper()
		if more, err := b.turn(t.Context(), b.epoch); err != nil || more {
			t.Fatalf("more: %t, %v", more, err)
		}
	}
	b.read(one.specimen(1))
	look()
	b.says("1 add/"+one.name+"/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+one.name+" of 1")
	b.read(two.specimen(1))
	b.now = b.now.Add(partsPause - 1)
	look()
	b.says()
	b.now = b.now.Add(1)
	look()
	b.says("3 add/"+two.name+"/H.2026-01-01.1.specimen.impc.xml", "4 withdrawal add/"+two.name+" of 1")
}

// What has gathered for long enough is a part then, though nothing else is due, and no
// file ends, for long.
func TestAPartComesWhenItIsDue(t *testing.T) {
	b := early(t)
	begun := time.Now()
	b.deps.Now = func() time.Time { return noon.Add(time.Since(begun)) }
	b.cfg.Interval = config.Duration(24 * time.Hour)
	s := b.session()
	one, two := b.extracted(s, "H", "add", "2026-02-01", 1, 1), b.extracted(s, "H", "add", "2026-02-02", 1, 1)
	b.extracted(s, "H", "add", "2026-02-03", 1, 1)
	b.read(one.specimen(1))
	if _, err := b.turn(t.Context(), b.epoch); err != nil {
		t.Fatal(err)
	}
	b.read(two.specimen(1))
	ctx, stop := context.WithTimeout(t.Context(), wait.Patience())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- b.Sequencer.release(ctx, b.epoch) }()
	for next := int64(0); next != 5; {
		if err := b.Pool.QueryRow(ctx, "SELECT next FROM control.position").Scan(&next); err != nil {
			t.Fatalf("position %d is next: %v", next, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	b.says("1 add/"+one.name+"/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+one.name+" of 1",
		"3 add/"+two.name+"/H.2026-01-01.1.specimen.impc.xml", "4 withdrawal add/"+two.name+" of 1")
}

// A file that ends when nothing had for a while is a part at once.
func TestAPartThatIsAloneNeedNotGather(t *testing.T) {
	b := early(t)
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	b.extracted(s, "H", "add", "2026-02-02", 1, 1)
	for range 2 {
		if more, err := b.turn(t.Context(), b.epoch); err != nil || more {
			t.Fatalf("more: %t, %v", more, err)
		}
	}
	b.read(f.specimen(1))
	if more, err := b.turn(t.Context(), b.epoch); err != nil || more {
		t.Fatalf("more: %t, %v", more, err)
	}
	b.says("1 add/"+f.name+"/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+f.name+" of 1")
}

// A late batch is released as a whole, by its own limit.
func TestALateBatchHasNoParts(t *testing.T) {
	b := early(t)
	late := b.extracted("", "H", "add", "2026-02-01", 1, 1)
	b.read(late.specimen(1))
	b.release()
	b.says()
	b.now = b.now.Add(b.cfg.LateLimit.D())
	b.release()
	b.says("1 add/"+late.name+"/H.2026-01-01.1.specimen.impc.xml", "2 withdrawal add/"+late.name+" of 1", "3 end of H 1 of 1 late")
}

// By default nothing of a batch is released before it is complete.
func TestAWholeBatchHasNoParts(t *testing.T) {
	b := newBench(t)
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	b.extracted(s, "H", "add", "2026-02-02", 1, 1)
	b.read(f.specimen(1))
	b.release()
	b.says()
}

// A member of an older program can't release what a newer one has begun: it would
// give everything its positions again.
func TestAnOlderMemberReleasesNoBatchThatHasBegun(t *testing.T) {
	b := early(t)
	s := b.session()
	f := b.extracted(s, "H", "add", "2026-02-01", 1, 1)
	b.extracted(s, "H", "add", "2026-02-02", 1, 1)
	b.read(f.specimen(1))
	b.release()
	// As it numbers what it releases.
	if _, err := b.Pool.Exec(t.Context(), "UPDATE control.batch SET number = 2, released_at = now(), last_position = 9"); err == nil || !strings.Contains(err.Error(), "batch_has_begun") {
		t.Errorf("it is released again: %v", err)
	}
}

// Once a version has its positions, nothing of it is outstanding that a person could
// keep from the warehouse; what has none yet is.
func TestOnlyWhatHasNoPositionIsOutstanding(t *testing.T) {
	b := early(t)
	s := b.session()
	placed, open := b.extracted(s, "H", "add", "2026-02-01", 1, 1), b.extracted(s, "H", "add", "2026-02-02", 1, 1)
	b.read(placed.specimen(1))
	b.release()
	for f, want := range map[*file]bool{placed: false, open: true} {
		err := pg.InTx(t.Context(), b.Pool, func(tx pgx.Tx) error {
			got, err := control.Outstanding(t.Context(), tx, f.id)
			if got[f.acquisition] != want {
				t.Errorf("%s is outstanding: %t", f.name, !want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := control.RequestUnload(t.Context(), b.Pool, control.Unload{Action: "add", Name: placed.name, By: "ann", Reason: "wrong"}, b.now); err != nil {
		t.Errorf("what has positions can be unloaded: %v", err)
	}
}

// However files end, each document has one position, in the batch in which it would
// have it if that were released as a whole, and whose end counts it; each part is sorted.
func TestPartsGiveWhatTheWholeGives(t *testing.T) {
	for seed := range uint64(12) {
		ends := rand.New(rand.NewPCG(seed, 1)).Perm(6)
		var told [2]map[int64][]string
		for i := range told {
			b := newBench(t)
			b.deps.Early = i > 0
			sessions := []string{b.session(), b.session()}
			var files []*file
			for n := range 6 {
				files = append(files, b.extracted(sessions[n/4], "H", []string{"add", "delete"}[n%2], fmt.Sprintf("2026-02-%02d", 9-n), 1, 1))
			}
			rng := rand.New(rand.NewPCG(seed, 2))
			for _, n := range ends {
				b.read(files[n].specimen(1))
				if rng.IntN(2) == 0 {
					b.release()
				}
			}
			b.release()
			told[i] = batches(t, b.ordered())
		}
		if d := cmp.Diff(told[0], told[1]); d != "" {
			t.Fatalf("ends in the order %v: in parts, something else comes (- whole, + parts):\n%s", ends, d)
		}
	}
}

// batches is what positions say but for their numbers, batch by batch, sorted. What
// must hold of each part is checked on the way.
func batches(t *testing.T, positions []*schemas.DocumentOrdered) map[int64][]string {
	t.Helper()
	out := map[int64][]string{}
	withdrawn := map[string]bool{}
	var before *schemas.DocumentOrdered
	for i, o := range positions {
		if o.Position != int64(i+1) {
			t.Fatalf("position %d is the %dth", o.Position, i+1)
		}
		switch o.What {
		case schemas.PositionDocument:
			if withdrawn[o.FileName] {
				t.Fatalf("%s comes behind its version's withdrawal", o.Entry)
			}
			if before != nil && before.What == o.What && (before.Action > o.Action || before.Action == o.Action && before.FileDate > o.FileDate) {
				t.Fatalf("a part is not sorted: %s comes before %s", before.FileName, o.FileName)
			}
		case schemas.PositionVersion:
			withdrawn[o.FileName] = true
		}
		before = o
		out[o.Number] = append(out[o.Number], fmt.Sprint(o.What, " ", o.Action, "/", o.FileName, "/", o.Entry, " of ", o.Documents))
	}
	for _, lines := range out {
		slices.Sort(lines)
	}
	return out
}
