package api

import (
	"context"
	"net/http"
	"path"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tributary/internal/pg"
	"tributary/queries/centrereport"
	"tributary/queries/explained"
	"tributary/queries/lineage"
	"tributary/queries/report"
	"tributary/queries/why"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/web/compared"
	"tributary/web/question"
)

// Beside is what is not in the tracker, or needs more than that. What is nil can't be
// read here, and says so.
type Beside struct {
	// Status adds to where everything stands, as tributary status tells it.
	Status func(ctx context.Context, s *report.Status) error
	// Priority is what a person has given a file that waits; nil: nobody has.
	Priority func(ctx context.Context, action, name string) (*report.Priority, error)
	// Standing is how a source stands, as tributary sources show tells it. One that isn't
	// there is a sources.ErrUnknown.
	Standing func(ctx context.Context, source string) (Standing, error)

	// Explained explains a document whose exceptions mean what is given, with the lines
	// around its errors, as (*explained.Reader).Document does.
	Explained func(ctx context.Context, x report.DocumentFacts, meanings map[string]string) explained.Document

	// Why answers why files are where they are, as (*why.Asker).Ask does.
	Why func(ctx context.Context, source, path string) (answers []why.Answer, more int, err error)

	// Letters gives at most limit of the dead letters that a filter means, the newest
	// first; all: the dropped ones too.
	Letters func(ctx context.Context, f *deadletter.Filter, limit int, all bool, each func(deadletter.Row) error) error
	// Letter tells of one, by its id. One that isn't there is a deadletter.ErrNotFound.
	Letter func(ctx context.Context, id string) (deadletter.Story, error)
	// Replays lists at most limit replays, the newest first.
	Replays func(ctx context.Context, limit int) ([]*replay.Status, error)
	// Replay tells of one, by number, run or shadow, with how its files ended. One that
	// isn't there is a control.ErrNoReplay.
	Replay func(ctx context.Context, name string) (*replay.Status, error)

	// Shadows compares shadows.
	Shadows *compared.Reader

	// Warehouse has the findings.
	Warehouse pg.Querier
	// Meaning says what a check of the profile finds; empty: nobody here knows.
	Meaning func(check string) string
	// Advice says of a check what a centre is to do about it; nil: nobody here knows.
	Advice func(check string) centrereport.Advice
	// Lineage tells what files put into the warehouse; its Limit is the API's.
	Lineage *lineage.Reader
	// Asker answers recipes and statements.
	Asker *question.Asker
	// Follow gives events as they are told.
	Follow Follow
}

// refusal is an error that says itself what programs are told.
type refusal struct {
	name   string // stable, the end of the problem's type
	status int
	detail string
}

func (r *refusal) Error() string { return r.detail }

// notFound says that there is no such thing.
func notFound(what, detail string) error {
	return &refusal{"no_such_" + what, http.StatusNotFound, detail}
}

// notHere says that this process has no connection to where something lies.
func notHere() error {
	return &refusal{"not_here", http.StatusServiceUnavailable, "The process that serves this can't read that: it has no connection to where it lies."}
}

// schemaName names the schema of a type: by its own name, behind that of its package
// where that is not report, since several packages have a Document or a Count.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if below, own := strings.CutPrefix(t.PkgPath(), "tributary/"); own && t.Name() != "" {
		if of := path.Base(below); of != "report" && of != "api" {
			if of = strings.ToUpper(of[:1]) + of[1:]; !strings.HasPrefix(name, of) {
				return of + name
			}
		}
	}
	return name
}

// orNull lets properties of a schema be null that huma takes for objects always:
// pointers to structs that are not left away where there is nothing.
func (a *API) orNull(schema string, properties ...string) {
	s := a.huma.OpenAPI().Components.Schemas.Map()[schema]
	for _, name := range properties {
		s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{s.Properties[name], {Enum: []any{nil}}}}
	}
}
