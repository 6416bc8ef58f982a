package access

import (
	"container/list"
	"sync"
	"time"
)

// allowance is how many logins may fail at once, and how the pauses grow after that:
// each is twice the one before.
type allowance struct {
	free    int
	longest time.Duration
}

const (
	// maxAttempts is how many names and addresses are remembered: those that tried
	// last. Whoever wants to be forgotten must fail as often, elsewhere.
	maxAttempts = 10_000
	// forgottenAfter is how long after its last attempt a name or address begins anew.
	forgottenAfter = time.Hour
)

// A name's pause is short, so that nobody is locked out for long by others who try.
// Passwords are long, so that it is long enough.
func ofName() allowance    { return allowance{free: 5, longest: time.Minute} }
func ofAddress() allowance { return allowance{free: 20, longest: 15 * time.Minute} }

// attempts counts logins that fail. It is safe for concurrent use.
type attempts struct {
	mu    sync.Mutex
	known map[string]*list.Element
	order *list.List // of *attempt, the last that tried first
}

type attempt struct {
	key    string
	failed int
	last   time.Time
	until  time.Time // before which nothing is tried
}

func newAttempts() *attempts { return &attempts{known: map[string]*list.Element{}, order: list.New()} }

// begin counts an attempt as failed, until succeed takes it back, so that many at once
// are no more than one after the other. It returns for how long the name or the
// address has to wait, and counts nothing then.
func (a *attempts) begin(now time.Time, name, address string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	byName, byAddress := a.of(now, nameKey(name)), a.of(now, addressKey(address))
	if wait := max(byName.until.Sub(now), byAddress.until.Sub(now)); wait > 0 {
		return wait
	}
	byName.fail(now, ofName())
	byAddress.fail(now, ofAddress())
	return 0
}

// succeed forgets a name's failures. The address keeps its own, but for this attempt:
// who tries many names may know one.
func (a *attempts) succeed(name, address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.known[nameKey(name)]; e != nil {
		a.drop(e)
	}
	a.takeBack(addressKey(address))
}

// withdraw takes an attempt back of which nobody knows whether it would have failed.
func (a *attempts) withdraw(name, address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.takeBack(nameKey(name))
	a.takeBack(addressKey(address))
}

func (a *attempts) takeBack(key string) {
	if e := a.known[key]; e != nil {
		is, _ := e.Value.(*attempt)
		is.failed = max(0, is.failed-1)
		is.until = time.Time{}
	}
}

// Names are kept by their digest: they may be long, or something that nobody meant to
// type there.
func nameKey(name string) string       { return "name " + string(shortened(name)) }
func addressKey(address string) string { return "address " + address }

func (a *attempts) of(now time.Time, key string) *attempt {
	if e := a.known[key]; e != nil {
		is, _ := e.Value.(*attempt)
		if now.Sub(is.last) >= forgottenAfter {
			*is = attempt{key: key}
		}
		a.order.MoveToFront(e)
		return is
	}
	for a.order.Len() >= maxAttempts {
		a.drop(a.order.Back())
	}
	is := &attempt{key: key}
	a.known[key] = a.order.PushFront(is)
	return is
}

func (a *attempts) drop(e *list.Element) {
	is, _ := a.order.Remove(e).(*attempt)
	delete(a.known, is.key)
}

func (t *attempt) fail(now time.Time, of allowance) {
	t.failed++
	t.last = now
	if over := t.failed - of.free; over >= 0 {
		t.until = now.Add(min(of.longest, time.Second<<min(over, 20)))
	}
}
