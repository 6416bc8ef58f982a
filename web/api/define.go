package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tributary/internal/remote"
	"tributary/producers/sources"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// given are the values of keys that a program gives.
type given struct {
	Keys map[string]any `json:"keys,omitempty" maxProperties:"100" doc:"values by the keys of the configuration; null gives a key its default. Secrets are references, file:PATH or env:NAME"`
}

// defining is what a program says with a definition beside it.
type defining struct {
	given

	Reason string `json:"reason,omitempty" maxLength:"500" doc:"why, for those who read it later"`
	DryRun bool   `json:"dry_run,omitempty" doc:"only tell what would change"`
}

type newDefinition struct {
	Keyed

	Body struct {
		defining

		ID string `json:"id" minLength:"1" maxLength:"200" doc:"the id of a source, which stays, or a centre's short name, as it stands in file names"`
	}
}

type editedDefinition struct {
	Keyed

	ID      string `path:"id" maxLength:"200" doc:"the id of a source, or a centre's short name"`
	IfMatch string `header:"If-Match" maxLength:"200" doc:"the ETag of the definition that was looked at; * changes whatever is there. Needed unless it is a dry run"`
	Body    struct {
		defining

		Update string `json:"update,omitempty" enum:"merge,append,replace" doc:"of a source: whether keys that are not given stay (merge, which is the default), lists are added to as well (append), or what is not given has its default (replace)"`
	}
}

type tryDefinition struct {
	ID   string `path:"id" maxLength:"200" doc:"the source's id"`
	Body given
}

// Definition is how a source or a centre is defined.
type Definition struct {
	Definition json.RawMessage `json:"definition" doc:"an object with the keys of the configuration; secrets are references"`
	Declared   bool            `json:"declared" doc:"the configuration owns it: it can't be changed here"`
	By         string          `json:"defined_by" doc:"configuration, profile or person"`
}

type definitionAnswer struct {
	ETag string `header:"ETag" doc:"goes with an edit as If-Match: it changes with the definition"`
	Body Definition
}

// Checked is what the check of a source found.
type Checked struct {
	Passed bool          `json:"passed"`
	Steps  []remote.Step `json:"steps"`
}

// definitions registers how sources and centres are defined, and tried.
func (a *API) definitions() {
	a.least = access.Operator
	for _, on := range []string{order.Sources, order.Centres} {
		noun, one := "Source", "a source"
		if on == order.Centres {
			noun, one = "Centre", "a centre"
		}
		huma.Register(a.huma, changing("add"+noun, "/"+on, "Add "+one), func(ctx context.Context, in *newDefinition) (*struct{ Body sources.Change }, error) {
			return a.define(ctx, order.Definition{On: on, ID: in.Body.ID, New: true}, in.Body.defining, in.IdempotencyKey)
		})
		edit := changing("edit"+noun, "/"+on+"/{id}/edit", "Change how "+one+" is defined")
		edit.Errors = append(edit.Errors, http.StatusPreconditionFailed, http.StatusPreconditionRequired)
		huma.Register(a.huma, edit, func(ctx context.Context, in *editedDefinition) (*struct{ Body sources.Change }, error) {
			seen, err := in.matching()
			if err != nil {
				return nil, a.notGiven("define", err)
			}
			return a.define(ctx, order.Definition{On: on, ID: in.ID, Kind: in.Body.Update, Seen: seen}, in.Body.defining, in.IdempotencyKey)
		})
		a.defined(on, noun, one)
	}
	huma.Register(a.huma, changing("checkSource", "/sources/{id}/check", "Connect to a source, as it is or would be with other values, and say step by step what works"), func(ctx context.Context, in *tryDefinition) (*struct{ Body Checked }, error) {
		values, err := in.Body.values()
		out := Checked{Passed: true, Steps: []remote.Step{}}
		if err == nil {
			err = a.deps.Definitions.Check(ctx, order.Definition{On: order.Sources, ID: in.ID, Values: values}, func(s remote.Step) {
				out.Passed, out.Steps = out.Passed && s.OK, append(out.Steps, s)
			})
		}
		if err != nil {
			return nil, a.notGiven("checkSource", err)
		}
		return &struct{ Body Checked }{out}, nil
	})
	huma.Register(a.huma, changing("testFilters", "/sources/{id}/test-filter", "Say what a source's filters, and other keys that leave files (min_size, max_size, max_age, latest_only, done_file, min_age), do to what its last listings showed: as they are or would be"), func(ctx context.Context, in *tryDefinition) (*struct{ Body []sources.Filtered }, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		values, err := in.Body.values()
		var out []sources.Filtered
		if err == nil {
			out, err = a.deps.Definitions.Filtered(ctx, order.Definition{On: order.Sources, ID: in.ID, Values: values})
		}
		if err != nil {
			return nil, a.notGiven("testFilters", err)
		}
		return &struct{ Body []sources.Filtered }{out}, nil
	})
	a.least = access.Reader
}

// defined registers how the definition of a source or a centre is read.
func (a *API) defined(on, noun, one string) {
	operation := reading("/"+on+"/{id}/definition", "get"+noun+"Definition", "How "+one+" is defined, with the ETag that an edit asks for")
	huma.Register(a.huma, operation, func(ctx context.Context, in *definitionOf) (*definitionAnswer, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		is, err := a.deps.Definitions.Defined(ctx, on, in.ID)
		bad := (*order.Error)(nil)
		switch {
		case errors.As(err, &bad):
			return nil, a.problem(operation.OperationID, notFound(strings.ToLower(noun), bad.Error()))
		case errors.Is(err, order.ErrNotHere):
			return nil, a.problem(operation.OperationID, notHere())
		case err != nil:
			return nil, a.problem(operation.OperationID, err)
		}
		return &definitionAnswer{ETag: `"` + is.Seen + `"`, Body: Definition{Definition: json.RawMessage(is.Definition), Declared: is.Declared, By: is.By}}, nil
	})
}

type definitionOf struct {
	ID string `path:"id" maxLength:"200" doc:"the id of a source, or a centre's short name"`
}

// matching is what an edit was made on, by its If-Match; empty: whatever is there. It is
// asked for: without it one would overwrite what another has changed meanwhile.
func (in *editedDefinition) matching() (string, error) {
	switch {
	case in.IfMatch == "*", in.IfMatch == "" && in.Body.DryRun:
		return "", nil
	case in.IfMatch == "":
		return "", problem("match_required", http.StatusPreconditionRequired, "Say with If-Match which definition the change was made on: the ETag of its /definition, or * for whatever is there.")
	}
	return strings.Trim(in.IfMatch, `"`), nil
}

// changing is an operation that is an order.
func changing(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodPost, Path: base + path, Summary: summary,
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}}
}

// define defines a source or a centre, once for each key.
func (a *API) define(ctx context.Context, w order.Definition, d defining, key string) (*struct{ Body sources.Change }, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	by := control.Decision{By: access.From(ctx).Name, Reason: d.Reason, At: a.deps.Now()}
	var err error
	if w.On == order.Centres {
		w.Values, err = d.texts()
	} else {
		w.Values, err = d.values()
	}
	var out sources.Change
	give := func() (sources.Change, error) { return a.deps.Definitions.Define(ctx, w, by, d.DryRun) }
	switch {
	case err != nil:
	case key == "" || d.DryRun:
		out, err = give()
	default:
		out, err = once(ctx, a, key, []any{"define", w, d.Reason}, give)
	}
	if err != nil {
		return nil, a.notGiven("define", err)
	}
	if !d.DryRun {
		a.deps.Log.InfoContext(ctx, "ordered by the API", "order", out.Done, "about", w.On+" "+w.ID, "by", by.By)
	}
	return &struct{ Body sources.Change }{out}, nil
}

// values are those of a source, as JSON, which the YAML is that a person writes.
func (g given) values() (out []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(g.Keys)) {
		text := []byte{}
		if g.Keys[key] != nil {
			if text, err = json.Marshal(g.Keys[key]); err != nil {
				return nil, fmt.Errorf("the value of %s: %w", key, err)
			}
		}
		out = append(out, key+"="+string(text))
	}
	return out, nil
}

// texts are the values of a centre, which are taken as they are.
func (g given) texts() (out []string, err error) {
	for _, key := range slices.Sorted(maps.Keys(g.Keys)) {
		switch v := g.Keys[key].(type) {
		case nil:
			out = append(out, key+"=")
		case string, bool:
			out = append(out, fmt.Sprintf("%s=%v", key, v))
		default:
			return nil, problem("bad_order", http.StatusBadRequest, key+" is neither a text nor true nor false")
		}
	}
	return out, nil
}
