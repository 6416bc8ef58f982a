// Package access decides who may do what on the pages and in the API: people and
// programs say who they are with a session or a token, each has one role, and each
// route asks for the least role that may use it. Nothing is served to anybody else,
// on loopback neither.
package access

import (
	"context"
	"fmt"
	"strings"
)

// Role is what a person or a program may do: all that a lesser one may, and more.
type Role int

const (
	// Nobody has said who they are. Only what must be there to log in asks for no more.
	Nobody Role = iota
	// Producer is somebody of one centre, who sees what concerns it, and nothing of
	// other centres.
	Producer
	// Reader sees everything and changes nothing.
	Reader
	// Wrangler corrects data: replays, files by hand, dead letters, quality control.
	Wrangler
	// Operator does everything, sources and accounts included.
	Operator
)

// names are those of the roles, the least first.
func names() []string { return []string{"nobody", "producer", "reader", "wrangler", "operator"} }

func (r Role) String() string {
	if r < Nobody || r > Operator {
		return fmt.Sprintf("role %d", int(r))
	}
	return names()[r]
}

// ParseRole reads the name of a role that an account may have.
func ParseRole(name string) (Role, error) {
	for r := Producer; r <= Operator; r++ {
		if name == r.String() {
			return r, nil
		}
	}
	return Nobody, fmt.Errorf("there is no role %q; the roles are %s", name, strings.Join(names()[Producer:], ", "))
}

// Person is who asks.
type Person struct {
	// Name is the account's. Changes are recorded with it.
	Name string
	Role Role
	// Centre is the one that a producer is of; empty for all other roles.
	Centre string
}

// Program tells whether a program asks, with a token.
func (p Person) Program() bool { return strings.HasPrefix(p.Name, "token:") }

type key struct{}

// With returns a context that knows who asks.
func With(ctx context.Context, p Person) context.Context { return context.WithValue(ctx, key{}, p) }

// From is who asks; Nobody if the context doesn't know.
func From(ctx context.Context) Person {
	p, _ := ctx.Value(key{}).(Person)
	return p
}
