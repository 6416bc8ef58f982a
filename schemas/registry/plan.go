package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"

	"tributary/schemas"
)

// Compatibility is the level that every subject is given: the versions of a
// topic's schema are compatible both ways, each with all others.
const Compatibility = sr.CompatFullTransitive

// The modes of a registry and its subjects that matter here.
const (
	modeImport           = "IMPORT"
	modeReadWrite        = "READWRITE"
	modeReadOnlyOverride = "READONLY_OVERRIDE" // of the registry, above what subjects have
)

// Kind is what a change changes.
type Kind string

// The kinds of changes.
const (
	Register         Kind = "register"      // a version of a schema that the registry lacks
	SetCompatibility Kind = "compatibility" // of a subject
	SetMode          Kind = "mode"          // of a subject that an earlier attempt left in IMPORT
)

// Change is one thing that the registry needs.
type Change struct {
	Kind    Kind   `json:"kind"`
	Subject string `json:"subject"`
	Version int    `json:"version,omitempty"` // of a schema to register
	ID      int    `json:"id,omitempty"`      // likewise
	From    string `json:"from,omitempty"`    // the compatibility or mode now; empty: the registry's own
	To      string `json:"to,omitempty"`      // what it becomes
}

// String says what the change is, for people.
func (c Change) String() string {
	if c.Kind == Register {
		return fmt.Sprintf("register %s version %d with id %d", c.Subject, c.Version, c.ID)
	}
	from := c.From
	if from == "" {
		from = "the registry's default"
	}
	return fmt.Sprintf("set %s of %s to %s (now %s)", c.Kind, c.Subject, c.To, from)
}

// Item is one version of a schema and where it belongs in a registry.
type Item struct {
	Subject string // the topic's name with -value: TopicNameStrategy
	Version int
	ID      int
	Schema  *avro.Schema
}

// Items are all versions of all schemas, sorted by subject and version. topic
// gives a topic's full name.
func Items(versions []schemas.Version, topic func(name string) string) []Item {
	items := make([]Item, 0, len(versions))
	for _, v := range versions {
		items = append(items, Item{Subject: topic(v.Topic) + "-value", Version: v.Version, ID: v.ID, Schema: v.Schema})
	}
	return items
}

// subject is what a registry has of one subject.
type subject struct {
	name          string
	items         []Item
	missing       []Item
	exists        bool
	mode          string // explicitly its own, or empty
	compatibility string // explicitly its own, or empty
}

// Plan compares the registry with the items and returns what Apply would do,
// in order. Nothing is changed. The error is of a Conflict for each id or
// version that is taken by something else, or says why the registry can't be
// asked or takes no schemas.
func (r *Registry) Plan(ctx context.Context, items []Item) ([]Change, error) {
	subjects, err := r.subjects(ctx, items)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, s := range subjects {
		changes = append(changes, s.changes(r.importing)...)
	}
	return changes, nil
}

func (s subject) changes(importing bool) []Change {
	var changes []Change
	for _, i := range s.missing {
		changes = append(changes, Change{Kind: Register, Subject: s.name, Version: i.Version, ID: i.ID})
	}
	if len(s.missing) == 0 && s.mode == modeImport && !importing {
		changes = append(changes, Change{Kind: SetMode, Subject: s.name, From: s.mode, To: modeReadWrite})
	}
	if s.compatibility != Compatibility.String() {
		changes = append(changes, Change{Kind: SetCompatibility, Subject: s.name, From: s.compatibility, To: Compatibility.String()})
	}
	return changes
}

// subjects reads what the registry has of every subject of the items.
func (r *Registry) subjects(ctx context.Context, items []Item) ([]subject, error) {
	global, err := r.mode(ctx, "/mode")
	if err != nil {
		return nil, r.explain("ask for its mode", err)
	}
	r.importing = global == modeImport
	var subjects []subject
	for _, i := range items {
		if n := len(subjects); n == 0 || subjects[n-1].name != i.Subject {
			subjects = append(subjects, subject{name: i.Subject})
		}
		s := &subjects[len(subjects)-1]
		s.items = append(s.items, i)
	}
	var conflicts []error
	for i := range subjects {
		s := &subjects[i]
		if err := r.settings(ctx, s); err != nil {
			return nil, err
		}
		for _, item := range s.items {
			has, err := r.has(ctx, item)
			var conflict *Conflict
			switch {
			case errors.As(err, &conflict):
				conflicts = append(conflicts, conflict)
			case err != nil:
				return nil, err
			case !has:
				s.missing = append(s.missing, item)
			}
		}
		if mode := effective(s.mode, global); len(s.missing) > 0 && mode != modeImport && mode != modeReadWrite {
			return nil, fmt.Errorf("the schema registry %s takes no schemas for %s: its mode is %s: whoever runs the registry must set it to READWRITE first", r.address, s.name, mode)
		}
	}
	return subjects, errors.Join(conflicts...)
}

// effective is the mode that counts for a subject.
func effective(own, global string) string {
	if own == "" || global == modeReadOnlyOverride {
		return global
	}
	return own
}

// mode reads the mode at a path as a word, since registries know more modes
// than the client does.
func (r *Registry) mode(ctx context.Context, path string) (string, error) {
	var answer struct {
		Mode string `json:"mode"`
	}
	err := r.client.Do(ctx, http.MethodGet, path, nil, &answer)
	return answer.Mode, err
}

// settings reads a subject's own mode and compatibility, and whether it exists.
func (r *Registry) settings(ctx context.Context, s *subject) error {
	// Only what is the subject's own: not every registry leaves that out unasked.
	ctx = sr.WithParams(ctx, sr.RawParams(url.Values{"defaultToGlobal": {"false"}}))
	var err error
	if s.mode, err = r.mode(ctx, "/mode/"+url.PathEscape(s.name)); err != nil && !notFound(err) {
		return r.explain("ask for the mode of "+s.name, err)
	}
	level := r.client.Compatibility(ctx, s.name)[0]
	switch {
	case level.Err == nil:
		s.compatibility = level.Level.String()
	case !notFound(level.Err):
		return r.explain("ask for the compatibility of "+s.name, level.Err)
	}
	versions, err := r.client.SubjectVersions(ctx, s.name)
	if err != nil && !notFound(err) {
		return r.explain("ask for the versions of "+s.name, err)
	}
	s.exists = len(versions) > 0
	return nil
}

// has tells whether the registry has an item. A Conflict says that something
// else has its id or its version.
func (r *Registry) has(ctx context.Context, i Item) (bool, error) {
	there, err := r.client.SchemaByVersion(ctx, i.Subject, i.Version)
	switch {
	case err == nil && there.ID == i.ID && same(there.Schema, i.Schema):
		return true, nil
	case err == nil:
		return false, &Conflict{Registry: r.address, Item: i, Version: true, OtherID: there.ID}
	case !notFound(err):
		return false, r.explain(fmt.Sprintf("ask for version %d of %s", i.Version, i.Subject), err)
	}
	// The version is not there, yet the id may be: below another prefix, which
	// is good when it is the same schema.
	other, err := r.client.SchemaByID(ctx, i.ID)
	switch {
	case err == nil && !same(other, i.Schema):
		return false, &Conflict{Registry: r.address, Item: i}
	case err != nil && !notFound(err):
		return false, r.explain(fmt.Sprintf("ask for the schema with id %d", i.ID), err)
	}
	return false, nil
}

// same tells whether the registry's schema decodes what ours encodes: their
// canonical forms are equal. Registries write attributes in another order.
func same(theirs sr.Schema, ours *avro.Schema) bool {
	if theirs.Type != sr.TypeAvro {
		return false
	}
	parsed, err := avro.Parse(theirs.Schema)
	return err == nil && bytes.Equal(parsed.Canonical(), ours.Canonical())
}
