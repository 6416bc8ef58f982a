package e2e

import (
	"math/rand/v2"
	"testing"
	"time"
)

// ordersOf tells the runs in which a person changes how sources stand while faults
// go on: one in four, and the first.
func ordersOf(from uint64) bool { return from%4 == 1 }

// ordering has sources put into maintenance, resumed and polled at once, one order
// after another: a command that fails since something is away is given again, as
// people do.
type ordering struct {
	rng        *rand.Rand
	next       time.Time
	asked      *process // not answered yet; nil: none
	words      []string // of the order that is given
	maintained string   // the source that is in maintenance; empty: none
	done       map[string]int
}

// tickOrder does what is due. While last is set only a source that is in maintenance
// is resumed.
func (c *chaos) tickOrder(now time.Time, last bool) {
	o := c.orders
	if o.asked != nil {
		select {
		case <-o.asked.done:
		default:
			return
		}
		o.next = now.Add(time.Second)
		if o.asked.err == nil {
			c.f.say("done: tributary %s", o.asked.name)
			o.done[o.words[1]]++
			switch o.words[1] {
			case "maintain":
				o.maintained = o.words[2]
			case "resume":
				o.maintained = ""
			}
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

// order chooses what is ordered next; nil: nothing.
func (c *chaos) order(last bool) []string {
	o := c.orders
	sources := c.f.s.corpus.Sources
	id := sources[o.rng.IntN(len(sources))].ID
	switch {
	case o.maintained != "":
		return []string{"sources", "resume", o.maintained, "--reason", "chaos"}
	case last:
		return nil
	case o.rng.IntN(3) == 0:
		return []string{"sources", "poll", id, "--reason", "chaos"}
	}
	return []string{"sources", "maintain", id, "--reason", "chaos"}
}

// ordered sees to it that a source was in maintenance, and none is any more.
func (c *chaos) ordered(t testing.TB) {
	t.Helper()
	left := c.f.wait(replayWithin, func() string {
		o := c.orders
		c.tickOrder(time.Now(), o.done["maintain"] > 0)
		switch {
		case o.done["maintain"] == 0:
			return "no source was put into maintenance"
		case o.asked != nil || o.maintained != "" || o.words != nil:
			return "a source is in maintenance, or an order is being given"
		}
		return ""
	})
	if left != "" {
		t.Fatal(left)
	}
}
