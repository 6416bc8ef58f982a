// Package api answers programs below /api/v1, in JSON: what the pages show, from the
// same functions. The OpenAPI document that it serves is made of the handlers, so that
// it can't say anything else than they do.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/recovery/replay"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
	"tributary/web/past"
)

// base is the path below which the API is, within the prefix.
const base = "/api/v1"

// timeout is how long an answer may take to be read from the stores.
const timeout = 20 * time.Second

// Deps are what the API reads.
type Deps struct {
	Tracker pg.Querier
	Control pg.Querier  // where keys of orders are kept
	Orders  order.Table // what may be ordered
	// Request asks for replays (order.Deps); nil: that can't be done here.
	Request func(ctx context.Context, w order.Wanted, by control.Decision, dry bool) (replay.Requested, error)
	// Definitions define sources and centres; nil: that can't be done here.
	Definitions *order.Deps
	Past        *past.Reader // of moments; nil: nobody here knows them
	Now         func() time.Time
	Log         *slog.Logger
	// ByLink passes on who asks by a centre's link, as (*access.Guard).ByLink does; nil: nobody does.
	ByLink  func(http.Handler) http.Handler
	Prefix  string // path below which a proxy passes requests on
	Version string // of the program

	Beside
}

// API are the addresses for programs.
type API struct {
	deps   Deps
	huma   huma.API
	least  access.Role // of the operation that is being registered
	routes []access.Route

	streams chan struct{} // held while events are streamed
}

// New makes the API with all of its operations.
func New(deps Deps) *API {
	a := &API{deps: deps, streams: make(chan struct{}, maxStreams)}
	config := huma.DefaultConfig("Tributary", deps.Version)
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.CreateHooks = nil // answers carry no address of their schema
	config.DocsPath, config.SchemasPath, config.OpenAPIPath = "", "", base+"/openapi"
	config.Info.Description = "Where files and documents stand, what became of each, where they come from, and what may be ordered about them. Errors are problem details (RFC 9457)."
	config.Servers = []*huma.Server{{URL: deps.Prefix + "/"}}
	config.RejectUnknownQueryParameters = true
	config.AllowAdditionalPropertiesByDefault = true // later versions may say more

	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "made by tributary tokens add"}}
	config.Security = []map[string][]string{{"token": {}}}
	a.least = access.Reader
	a.huma = humago.New(a, config)
	a.files()
	a.lists()
	a.origins()
	a.stands()
	a.sessions()
	a.recovery()
	a.findings()
	a.lineage()
	a.questions()
	a.exports()
	a.kept()
	a.why()
	a.events()
	a.changes()
	a.audit()
	a.orders()
	a.definitions()
	a.manyDefined()
	a.announcements()
	a.links()
	a.own()
	a.report()
	// Types of problems are addresses below this server's.
	a.huma.OpenAPI().Components.Schemas.Map()["ErrorModel"].Properties["type"].Format = "uri-reference"
	return a
}

// Routes are all addresses of the API.
func (a *API) Routes() []access.Route { return a.routes }

// Document is the OpenAPI document, in YAML.
func (a *API) Document() ([]byte, error) { return a.huma.OpenAPI().YAML() }

// HandleFunc makes an operation one of the routes, for which it is called.
func (a *API) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	whole := conditional(a.texts(a.onlyNow(pattern, http.HandlerFunc(handler))))
	if isLinked(pattern) {
		a.routes = append(a.routes, a.byLink(pattern, whole))
		return
	}
	a.routes = append(a.routes, access.Route{Pattern: pattern, Least: a.least, Handler: whole})
}

// ServeHTTP is what the library asks of a router, and not used: the server routes.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

// get registers an operation that reads.
func get[In, Out any](a *API, path, id, summary string, read func(ctx context.Context, in *In) (Out, error)) {
	register(a, http.MethodGet, timeout, path, id, summary, read)
}

// register registers an operation that reads, and may take so long.
func register[In, Out any](a *API, method string, most time.Duration, path, id, summary string, read func(ctx context.Context, in *In) (Out, error)) {
	operation := reading(path, id, summary)
	if method == http.MethodPost {
		operation = sending(operation)
	}
	huma.Register(a.huma, operation, func(ctx context.Context, in *In) (*struct{ Body Out }, error) {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		out, err := read(ctx, in)
		if err != nil {
			return nil, a.problem(id, err)
		}
		return &struct{ Body Out }{out}, nil
	})
}

// reading is an operation that reads.
func reading(path, id, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: base + path, Summary: summary,
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}}
}

// sending is an operation to which something is sent.
func sending(o huma.Operation) huma.Operation {
	o.Method = http.MethodPost
	o.Errors = append(o.Errors, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	return o
}

// texts refuses an address with what no store takes: such as NUL, or what is no UTF-8.
func (a *API) texts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		bad := err != nil || pg.Text(r.URL.Path) != r.URL.Path
		for name, values := range query {
			bad = bad || pg.Text(name) != name || slices.ContainsFunc(values, func(v string) bool { return pg.Text(v) != v })
		}
		if bad {
			a.refuse(w, &refusal{"bad_text", http.StatusBadRequest, "This address has characters that no store takes, or is not written as addresses are."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// problem is an error for programs. Its type is a stable name.
func (a *API) problem(id string, err error) error {
	var unknown *report.UnknownError
	var filter *report.FilterError
	var refused *refusal
	var moment *past.Problem
	if told := (*huma.ErrorModel)(nil); errors.As(err, &told) {
		return told
	}
	p := &huma.ErrorModel{Type: "/problems/store_unavailable", Status: http.StatusServiceUnavailable, Detail: "The tracker does not answer: try again."}
	switch {
	case errors.As(err, &refused):
		p = &huma.ErrorModel{Type: "/problems/" + refused.name, Status: refused.status, Detail: refused.detail}
	case errors.Is(err, report.ErrNotFound):
		p = &huma.ErrorModel{Type: "/problems/no_such_file", Status: http.StatusNotFound, Detail: "The tracker knows no such file."}
	case errors.As(err, &unknown):
		p = &huma.ErrorModel{Type: "/problems/unknown_" + unknown.What, Status: http.StatusNotFound, Detail: unknown.Error()}
	case errors.As(err, &filter):
		p = &huma.ErrorModel{Type: "/problems/bad_filter", Status: http.StatusBadRequest, Detail: filter.Error(),
			Errors: []*huma.ErrorDetail{{Location: "query." + filter.Filter, Message: filter.Want}}}
	case errors.As(err, &moment):
		p = &huma.ErrorModel{Type: "/problems/" + moment.Name, Status: moment.Status, Detail: moment.Detail}
		if moment.Where != "" {
			p.Errors = []*huma.ErrorDetail{{Location: "query." + moment.Where, Message: moment.Detail}}
		}
	default:
		a.deps.Log.Warn("the API can't read", "operation", id, "error", err)
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// nothing is what an operation without parameters is asked with.
type nothing struct{}

// all collects what a listing gives.
func all[T any](list func(each func(T) error) error) ([]T, error) {
	out := []T{}
	err := list(func(v T) error {
		out = append(out, v)
		return nil
	})
	return out, err
}
