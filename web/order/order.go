// Package order has what people may order on the pages and by the API: one table, from
// which forms, addresses and operations are made. Each order is given by the function
// that the command line gives it by.
package order

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tributary/sql/control"
	"tributary/web/access"
)

// What orders are about.
const (
	Files       = "files"
	Documents   = "documents"
	Sources     = "sources"
	Centres     = "centres"
	DeadLetters = "dead-letters"
	Replays     = "replays"
)

// Order is one thing that may be ordered.
type Order struct {
	On    string // what it is about, as the addresses have it
	Name  string // the end of its address
	Least access.Role
	Verb  string // what the button says, before what it is about
	About string // what it does, for who asks
	Why   bool   // a reason must be given
	Value *Value // what else is asked; nil: nothing
	// Takes is how long it may take, also to tell what it would do; 0: as long as pages do.
	Takes time.Duration
	// Command says the same on the command line, but for the reason.
	Command func(Asked) string
	// Offered says whether the order may be of use for what stands so; nil: always.
	// Otherwise says why it is not offered else. They are what a page offers, and no rule:
	// whether it can be done is found when it is given.
	Offered   func(standing string) bool
	Otherwise string
	// Tried has it found by a try whether it can be given about a thing that a page shows,
	// since how that stands doesn't say.
	Tried bool
	// Confirmed is set of what can't be undone, or withdraws rows: on the pages the name of
	// what it is about is typed to confirm it.
	Confirmed bool
	// Effect says in numbers what would be concerned, beside what a try says; nil: nothing.
	Effect func(ctx context.Context, subject string) (string, error)
	// Elsewhere is set of what is not offered by how a thing stands, but by what a page
	// shows of it.
	Elsewhere bool

	give func(context.Context, Asked) (Outcome, error)
}

// Time is how long the order may take, where pages take so long.
func (o *Order) Time(usual time.Duration) time.Duration { return max(usual, o.Takes) }

// Short is the verb where what it is about does not follow.
func (o *Order) Short() string { return strings.TrimSuffix(o.Verb, ":") }

// Path is the address of the order below that of pages or API, as a pattern of
// [http.ServeMux].
func (o *Order) Path() string {
	subject := "{id}"
	switch o.On {
	case Files:
		subject = "{action}/{name}"
	case Documents:
		subject = "{action}/{name}/{sha256}/{entry}"
	}
	return "/" + o.On + "/" + subject + "/" + o.Name
}

// Value is what an order asks for beside the reason.
type Value struct {
	Label, Hint string
	Must        bool
	Any         string // one with which it may be tried, if one must be given
}

// Asked is an order that somebody gives.
type Asked struct {
	control.Decision // who, why and when

	Subject string // action/name of a file, a DocumentSubject, the id of a source or a dead letter, the short name of a centre, the number of a replay
	Value   string
	Seen    string // Outcome.Seen of the same order when it was only tried; empty: it doesn't matter
	Dry     bool   // only tell what would be done
}

// Outcome is what became of an order.
type Outcome struct {
	Subject string `json:"subject"`
	Done    bool   `json:"done"`
	Detail  string `json:"detail"`
	Seen    string `json:"seen,omitempty" doc:"of an order that can be tied to it: how what it is about was defined"`
}

// Error is bad input: what is asked can't be read.
type Error struct {
	message   string
	overtaken bool
}

func (e *Error) Error() string { return e.message }

// Overtaken tells whether it is refused since somebody else has changed meanwhile what was
// looked at.
func (e *Error) Overtaken() bool { return e.overtaken }

func bad(format string, args ...any) error { return &Error{message: fmt.Sprintf(format, args...)} }

// ErrNotHere says that an order needs what this process does not have.
var ErrNotHere = errors.New("this can't be ordered here: use the command line where the stores are")

// Give gives the order, or tells what it would do. What is refused is an outcome, not
// an error.
func (o *Order) Give(ctx context.Context, a Asked) (Outcome, error) {
	a.Reason, a.Value = strings.TrimSpace(a.Reason), strings.TrimSpace(a.Value)
	if err := CheckReason(a.Reason, o.Why && !a.Dry); err != nil {
		return Outcome{}, err
	}
	switch {
	case o.Value == nil && a.Value != "":
		return Outcome{}, bad("there is nothing to say here but why")
	case o.Value != nil && o.Value.Must && a.Value == "":
		return Outcome{}, bad("%s must be given", o.Value.Label)
	}
	return o.give(ctx, a)
}

// CheckReason refuses a reason that is too long, or none where one must be given.
func CheckReason(reason string, must bool) error {
	if err := control.CheckReason(reason); err != nil {
		return bad("%v", err)
	}
	if must && strings.TrimSpace(reason) == "" {
		return bad("say why: whoever finds it later wants to know")
	}
	return nil
}

// Table has all orders.
type Table []Order

// Find returns the order of a name about a kind of thing; nil: there is none.
func (t Table) Find(on, name string) *Order {
	for i := range t {
		if t[i].On == on && t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// For are the orders that a page of a thing has for somebody, be they offered or not.
func (t Table) For(on string, p access.Person) (out Table) {
	for _, o := range t {
		if o.On == on && p.Role >= o.Least && !o.Elsewhere {
			out = append(out, o)
		}
	}
	return out
}

// Not says why an order is not offered about a thing that stands so; empty: it is. Where
// that can't be found it is offered: whoever gives it is told.
func (o *Order) Not(ctx context.Context, subject, standing string, now time.Time) string {
	if o.Offered != nil && !o.Offered(standing) {
		return o.Otherwise
	}
	if !o.Tried {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, triedFor)
	defer cancel()
	if out, err := o.Try(ctx, Asked{Decision: control.Decision{At: now}, Subject: subject}); err == nil && !out.Done {
		return out.Detail
	}
	return ""
}

// triedFor is how long a page waits for what an order would do.
const triedFor = 2 * time.Second

// Try tells what an order would do, with any value where one must be given.
func (o *Order) Try(ctx context.Context, a Asked) (Outcome, error) {
	a.Dry = true
	if o.Value != nil && o.Value.Must && a.Value == "" {
		a.Value = o.Value.Any
	}
	return o.Give(ctx, a)
}
