package e2e

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tributary/test/corpus"
	"tributary/test/wait"
)

// ordersOf tells the runs in which a person changes how sources and files stand while
// faults go on: one in four, and the first.
func ordersOf(from uint64) bool { return from%4 == 1 }

// ordering has sources put into maintenance, resumed and polled at once, and files held
// and released, one order after another: a command that fails since something is away
// is given again, as people do.
type ordering struct {
	rng        *rand.Rand
	next       time.Time
	asked      *process // not answered yet; nil: none
	words      []string // of the order that is given
	maintained string   // the source that is in maintenance; empty: none
	held       string   // the file that is held; empty: none
	done       map[string]int
}

// tickOrder does what is due. While last is set only a source that is in maintenance
// is resumed, and a file that is held is released.
func (c *chaos) tickOrder(now time.Time, last bool) {
	o := c.orders
	if o.asked != nil {
		select {
		case <-o.asked.done:
		default:
			return
		}
		o.next = now.Add(time.Second)
		if o.answered() {
			c.f.say("done: tributary %s", o.asked.name)
			o.words = nil
		}
		o.asked = nil
	}
	// Without engines that run the command would start its own.
	if now.Before(o.next) || !c.f.engines().runs() || c.f.engines().not("engines are serving") != "" {
		return
	}
	if o.words == nil {
		if o.words = c.order(last); o.words == nil {
			return
		}
	}
	o.asked = c.f.s.start(o.words...)
}

// answered tells whether the order was answered, and notes what it has done. What is
// refused of a file needs no other try: it isn't known yet, or is in the warehouse.
func (o *ordering) answered() bool {
	verb, what := o.words[1], o.words[2]
	if verb != "hold" && verb != "release" {
		if o.asked.err != nil {
			return false
		}
		o.done[verb]++
		switch verb {
		case "maintain":
			o.maintained = what
		case "resume":
			o.maintained = ""
		}
		return true
	}
	answer, err := os.ReadFile(o.asked.out)
	if err != nil || !bytes.Contains(answer, []byte(`"detail"`)) {
		return false
	}
	done := bytes.Contains(answer, []byte(`"done":true`))
	if done {
		o.done[verb]++
	}
	switch {
	case verb == "release":
		o.held = ""
	case done, bytes.Contains(answer, []byte("held already")): // the answer before was lost
		o.held = what
	}
	return true
}

// order chooses what is ordered next; nil: nothing.
func (c *chaos) order(last bool) []string {
	o := c.orders
	sources := c.f.s.corpus.Sources
	id := sources[o.rng.IntN(len(sources))].ID
	switch {
	case o.held != "":
		return []string{"files", "release", o.held, "--reason", "chaos", "-o", "json"}
	case o.maintained != "":
		return []string{"sources", "resume", o.maintained, "--reason", "chaos"}
	case last:
		return nil
	case o.rng.IntN(3) == 0:
		return []string{"sources", "poll", id, "--reason", "chaos"}
	case o.rng.IntN(3) > 0:
		return []string{"files", "hold", c.young(), "--reason", "chaos", "-o", "json"}
	}
	return []string{"sources", "maintain", id, "--reason", "chaos"}
}

// young is one of the dozen files whose names tell the latest dates: most others are in
// the warehouse.
func (c *chaos) young() string {
	files := slices.Clone(c.f.s.corpus.Oracle.Files)
	date := func(f corpus.FileEnd) string { _, d, _ := strings.Cut(f.File, "."); return d }
	slices.SortStableFunc(files, func(a, b corpus.FileEnd) int { return strings.Compare(date(b), date(a)) })
	f := files[c.orders.rng.IntN(min(12, len(files)))]
	return f.Action + "/" + f.File
}

// ordered sees to it that a source was in maintenance, and none is any more.
func (c *chaos) ordered(t testing.TB) {
	t.Helper()
	left := c.f.wait(wait.Patience(), func() string {
		o := c.orders
		c.tickOrder(time.Now(), o.done["maintain"] > 0)
		switch {
		case o.done["maintain"] == 0:
			return "no source was put into maintenance"
		case o.asked != nil || o.maintained != "" || o.held != "" || o.words != nil:
			return "a source is in maintenance, a file is held, or an order is being given"
		}
		return ""
	})
	if left != "" {
		t.Fatal(left)
	}
}
