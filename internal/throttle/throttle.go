// Package throttle keeps to how fast servers may be asked: bytes a second, requests a
// minute, and pauses between them, by all members together.
//
// What all share is kept in a [Store]: when the next request may be sent, and when bytes
// that came are paid off. So a server sees one pace, however many members and sessions
// there are, and one session alone has all of it. Without an answer of the store each
// session keeps to its share, of which there are as many as the server allows sessions.
package throttle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tributary/internal/config"
)

// Limit is what is allowed. A zero is no bound.
type Limit struct {
	Rate  int64         // bytes a second
	Every time.Duration // from one request to the next
	Pause time.Duration // from the answer to a request to the next
}

// tighter are the tighter bounds of two.
func (l Limit) tighter(o Limit) Limit {
	if l.Rate == 0 || o.Rate > 0 && o.Rate < l.Rate {
		l.Rate = o.Rate
	}
	return Limit{Rate: l.Rate, Every: max(l.Every, o.Every), Pause: max(l.Pause, o.Pause)}
}

// Bound is a limit of what is known by a name, which all members share.
type Bound struct {
	Name string
	Limit
}

// Server is a server with its sources.
type Server struct {
	Name     string // under which its sessions are counted
	Sessions int    // that it allows at once
	Sources  []Source
	Crawl    time.Duration // the pause that its robots.txt asked for last, which sessions keep that read it
}

// Source is one source of a server, as it is defined: of its definition only what says
// how fast it is asked is looked at.
type Source struct{ ID, Definition string }

// ServerName is the name by which what is allowed of a server is known.
func ServerName(server string) string { return "server " + server }

// sourceName is that of a source.
func sourceName(source string) string { return "source " + source }

// Bounds are what holds at a moment for whoever asks a server for the sake of a source:
// of its server's sources the tightest, and the source's own. An error tells of sources
// whose throttles can't be read, as a newer program has defined them; what others say
// holds.
func (s Server) Bounds(source string, now time.Time) ([]Bound, error) {
	server, own := Limit{}, Limit{}
	var errs []error
	for _, of := range s.Sources {
		forServer, alone, err := of.at(now)
		if err != nil {
			errs = append(errs, fmt.Errorf("source %s: %w", of.ID, err))
			continue
		}
		server = server.tighter(limitOf(forServer))
		if of.ID == source {
			own = limitOf(alone)
		}
	}
	var all []Bound
	if server != (Limit{}) {
		all = append(all, Bound{ServerName(s.Name), server})
	}
	if own != (Limit{}) {
		all = append(all, Bound{sourceName(source), own})
	}
	return all, errors.Join(errs...)
}

// at is what a source says of its server, and of itself alone.
func (s Source) at(now time.Time) (server, alone config.Throttle, err error) {
	all, zone, err := config.ThrottlesOf(s.Definition)
	if err != nil {
		return server, alone, err
	}
	if server, err = all.At(now, config.ThrottleServer, zone); err != nil {
		return server, alone, err
	}
	alone, err = all.At(now, config.ThrottleSource, zone)
	return server, alone, err
}

func limitOf(t config.Throttle) Limit {
	return Limit{Rate: int64(t.Rate), Every: t.Every(), Pause: t.Pause.D()}
}

// Text says for people what holds for a source at a moment, and where; empty: nothing.
func (s Server) Text(source string, now time.Time) string {
	bounds, err := s.Bounds(source, now)
	var parts []string
	for _, b := range bounds {
		parts = append(parts, b.Name+": "+b.String())
	}
	if err != nil {
		parts = append(parts, "what can't be read: "+err.Error())
	}
	return strings.Join(parts, "; ")
}

// Requests is how many are allowed a minute; 0: there is no bound.
func (l Limit) Requests() int {
	if l.Every <= 0 {
		return 0
	}
	return int(time.Minute / l.Every)
}

// String says for people what is allowed.
func (l Limit) String() string {
	return config.Throttle{Rate: config.Bytes(l.Rate), Requests: l.Requests(), Pause: config.Duration(l.Pause)}.String()
}

// Store keeps what members share of each name of a bound. Times are by its own clock.
type Store interface {
	// Server is that of a source.
	Server(ctx context.Context, source string) (Server, error)
	// Claim claims the next request of all bounds. wait is 0 if it may be sent now, and
	// then nobody else claims one before it is answered, or a few seconds have passed;
	// else it is how long to wait before trying again.
	Claim(ctx context.Context, bounds []Bound) (wait time.Duration, err error)
	// Answered says that a claimed request was answered.
	Answered(ctx context.Context, bounds []Bound) error
	// Heed notes the pause that a server asks for, or that it asks for none, and that it
	// has just answered.
	Heed(ctx context.Context, server string, pause time.Duration) error
	// Spend notes bytes that came, and is how long to wait until they are paid off.
	Spend(ctx context.Context, bounds []Bound, bytes int64) (wait time.Duration, err error)
}

// asking are the bounds on requests.
func asking(all []Bound) []Bound {
	return slices.DeleteFunc(slices.Clone(all), func(b Bound) bool { return b.Every == 0 && b.Pause == 0 })
}

// taking are the bounds on bytes.
func taking(all []Bound) []Bound {
	return slices.DeleteFunc(slices.Clone(all), func(b Bound) bool { return b.Rate == 0 })
}
