package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tributary/producers/sources"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// Definitions are how sources or centres are defined.
type Definitions struct {
	Text string `json:"text" doc:"YAML, as the configuration lists them; secrets are references"`
}

// manyDefinitions are definitions that are to hold from now on.
type manyDefinitions struct {
	Keyed

	Body struct {
		Of     string `json:"of" enum:"sources,centres" doc:"sources: with centres before them, if the text lists some"`
		Text   string `json:"text" minLength:"1" maxLength:"900000" doc:"YAML, as the configuration lists them; secrets are references, and relative paths are relative to the configuration"`
		Name   string `json:"name,omitempty" maxLength:"200" doc:"of the file, for who reads what is wrong with it"`
		Prune  bool   `json:"prune,omitempty" doc:"remove those that were added before and that the text doesn't list"`
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"why, for those who read it later"`
		DryRun bool   `json:"dry_run,omitempty" doc:"only tell what would change"`
	}
}

// manyDefined registers how many sources and centres are defined at once.
func (a *API) manyDefined() {
	a.least = access.Operator
	defer func() { a.least = access.Reader }()
	type of struct {
		Of   string   `query:"of" required:"true" enum:"sources,centres"`
		Name []string `query:"name,explode" maxItems:"1000" doc:"of a source or a centre; given again, these; else all"`
	}
	get(a, "/definitions", "exportDefinitions", "How sources or centres are defined, as a file that the configuration reads, and that can be applied", func(ctx context.Context, in *of) (Definitions, error) {
		text, err := a.deps.Definitions.Export(ctx, in.Of, in.Name)
		bad := (*order.Error)(nil)
		switch {
		case errors.As(err, &bad):
			err = &refusal{"unknown_" + map[string]string{order.Sources: "source", order.Centres: "centre"}[in.Of], http.StatusNotFound, bad.Error()}
		case errors.Is(err, order.ErrNotHere):
			err = notHere()
		}
		return Definitions{string(text)}, err
	})
	huma.Register(a.huma, changing("applyDefinitions", "/definitions", "Define sources or centres as a text lists them: all or none"), func(ctx context.Context, in *manyDefinitions) (*struct{ Body []sources.Change }, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		b := in.Body
		m := order.Many{On: b.Of, Name: b.Name, Text: b.Text, Prune: b.Prune}
		if m.Name == "" {
			m.Name = "the text"
		}
		by := control.Decision{By: access.From(ctx).Name, Reason: b.Reason, At: a.deps.Now()}
		give := func() ([]sources.Change, error) {
			changes, err := a.deps.Definitions.Apply(ctx, m, by, b.DryRun)
			if changes == nil {
				changes = []sources.Change{}
			}
			return changes, err
		}
		var out []sources.Change
		var err error
		if in.IdempotencyKey == "" || b.DryRun {
			out, err = give()
		} else {
			out, err = once(ctx, a, in.IdempotencyKey, []any{"apply", b}, give)
		}
		if err != nil {
			return nil, a.notGiven("applyDefinitions", err)
		}
		if !b.DryRun {
			a.deps.Log.InfoContext(ctx, "ordered by the API", "order", "apply", "about", b.Of, "by", by.By)
		}
		return &struct{ Body []sources.Change }{out}, nil
	})
}
