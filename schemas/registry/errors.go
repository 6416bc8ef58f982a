package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/twmb/franz-go/pkg/sr"
)

// Conflict says that an item's id, or its version, is taken in the registry by
// another schema.
type Conflict struct {
	Registry string // its address
	Item     Item
	Version  bool // the version of the subject is taken; otherwise the id
	OtherID  int  // the id that the taken version has
}

// Error says what is taken and what can be done.
func (c *Conflict) Error() string {
	if c.Version {
		return fmt.Sprintf("version %d of %s is another schema in the registry %s, or the same with another id (%d, ours is %d): consumers could not decode our records with it; "+
			"remove that subject from the registry (if a tool registered it by itself, switch that off), or use a context of your own in schema_registry.url (…/contexts/.NAME)",
			c.Item.Version, c.Item.Subject, c.Registry, c.OtherID, c.Item.ID)
	}
	return fmt.Sprintf("the id %d of %s version %d is another schema in the registry %s: ids are pinned in our records and can't be changed; "+
		"use another registry, or a context of your own in schema_registry.url (…/contexts/.NAME)", c.Item.ID, c.Item.Subject, c.Item.Version, c.Registry)
}

// WrongID says that the registry gave a schema an id of its own, although the
// subject's mode was IMPORT.
type WrongID struct {
	Registry string
	Item     Item
	Got      int
}

// Error says what that means.
func (w *WrongID) Error() string {
	return fmt.Sprintf("the registry %s gave %s version %d the id %d, not %d: it has the mode IMPORT but ignores the ids asked for (Apicurio's compatibility API does), "+
		"so consumers could not decode our records with it; what was registered now has been removed again; use a registry that imports ids",
		w.Registry, w.Item.Subject, w.Item.Version, w.Got, w.Item.ID)
}

// notFound tells whether the registry answered that it has no such thing, and
// not that there is no registry at the address.
func notFound(err error) bool {
	var answer *sr.ResponseError
	return errors.As(err, &answer) && sr.IsNotFoundError(answer.ErrorCode)
}

// explain says which request failed, and what to do about it.
func (r *Registry) explain(what string, err error) error {
	head := fmt.Sprintf("the schema registry %s: %s", r.address, what)
	var answer *sr.ResponseError
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", head, err)
	case !errors.As(err, &answer):
		return fmt.Errorf("%s: nobody answers as a registry does: %w: check schema_registry.url, and that the registry runs", head, err)
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s: refused (%d): check schema_registry.username and schema_registry.password, and what that user may do", head, answer.StatusCode)
	case answer.ErrorCode == sr.ErrOperationNotPermitted.Code:
		return fmt.Errorf("%s: not permitted: %w: the registry must allow modes to be changed (mode.mutability=true with Confluent's)", head, err)
	case answer.StatusCode == http.StatusNotFound && !notFound(err):
		return fmt.Errorf("%s: there is no schema registry at this address (404): check the path in schema_registry.url (Apicurio's ends in /apis/ccompat/v7)", head)
	}
	return fmt.Errorf("%s: %w", head, err)
}
