package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tributary/web/access"
	"tributary/web/pages"
)

// operations are where a program reads what a page shows, by the page's address.
func operations() map[string][]string {
	return map[string][]string{
		"GET /{$}":                           {"/status", "/pace", "/failures", "/sessions", "/changed"},
		"GET /questions":                     {"/questions"},
		"POST /questions":                    {"/questions"},
		"POST /questions/{number}/rename":    {"/questions/{number}/rename"},
		"POST /questions/{number}/delete":    {"/questions/{number}/delete"},
		"GET /files":                         {"/files"},
		"GET /files/{action}/{name}":         {"/files/{action}/{name}"},
		"GET /files.csv":                     {"/files"},
		"GET /documents":                     {"/documents"},
		"GET /documents.csv":                 {"/documents"},
		"GET /quality":                       {"/documents"},
		"GET /sources":                       {"/sources"},
		"GET /sources/{id}":                  {"/sources/{source}", "/sources/{source}/polls", "/sources/{source}/errors", "/sources/{source}/revisions", "/sources/{source}/ignored"},
		"GET /centres":                       {"/centres"},
		"GET /centres/{name}":                {"/centres/{centre}"},
		"GET /centres/{id}/link":             {"/centres/{id}/links"}, // a form, and what the centre's page lists
		"POST /centres/{id}/link":            {"/centres/{id}/links"},
		"GET /centres/{name}/report":         {"/centres/{centre}", "/files", "/findings/{centre}/{check}"}, // a letter made of these
		"GET /sessions":                      {"/sessions"},
		"GET /sessions/{number}":             {"/sessions/{number}"},
		"GET /dead-letters":                  {"/dead-letters"},
		"GET /replays":                       {"/replays"},
		"GET /replays/{id}":                  {"/replays/{replay}"},
		"GET /replays/{id}/compare":          {"/replays/{replay}/compare", "/replays/{replay}/compare/documents"},
		"GET /audit":                         {"/audit"},
		"GET /findings":                      {"/findings", "/findings/{centre}/{check}"},
		"GET /analytics":                     {"/recipes"},
		"GET /analytics/{recipe}":            {"/recipes/{recipe}"},
		"GET /analytics/{recipe}/chart.svg":  {"/recipes/{recipe}"}, // drawn from the same answer
		"GET /analytics/{recipe}/answer.csv": {"/recipes/{recipe}"}, // and all rows by POST /recipes/{recipe}/export
		"GET /why":                           {"/why"},
		"GET /sql":                           {"/sql"},
		"POST /sql":                          {"/sql"},
		"GET /files/{action}/{name}/documents/{entry...}": {"/files/{action}/{name}/document"},
		"GET /files/{action}/{name}/original":             nil, // a program has the bytes there, with its token
		"GET /files/{action}/{name}/original/{entry...}":  nil,
		"GET /notices":                      nil, // as the feed
		"GET /notices.xml":                  nil, // a program has the feed there, with its token
		"GET /diff":                         {"/diff"},
		"GET /tail":                         {"/recipes/{recipe}"}, // latest
		"GET /lineage":                      {"/files/{action}/{name}/lineage"},
		"GET /lineage/{position}/{ordinal}": {"/lineage/{position}/{ordinal}"},
		"GET /replays/new":                  nil, // a form
		"GET /new/source":                   nil,
		"POST /new/source":                  {"/sources", "/sources/{id}/check"},
		"GET /new/centre":                   nil,
		"POST /new/centre":                  {"/centres"},
		"GET /sources/{id}/edit":            nil,
		"POST /sources/{id}/edit":           {"/sources/{id}/edit", "/sources/{id}/check", "/sources/{id}/test-filter"},
		"GET /centres/{id}/edit":            nil,
		"POST /centres/{id}/edit":           {"/centres/{id}/edit"},
		"GET /definitions":                  {"/definitions"},
		"POST /definitions":                 {"/definitions"},
		"GET /definitions/{file}":           {"/definitions"},
		"POST /replays/new":                 {"/replays"},
		"POST /theme":                       nil, // how pages look
		"GET /":                             nil, // what is no page
	}
}

// Programs read whatever pages show: each address of a page has its operations.
func TestEveryPageHasItsOperations(t *testing.T) {
	site, err := pages.New(pages.Site{})
	if err != nil {
		t.Fatal(err)
	}
	a, known := made(nil), operations()
	for _, route := range site.Routes() {
		if path, ok := strings.CutPrefix(route.Pattern, "GET /own"); ok {
			ownsPage(t, a, route, strings.Replace(path, "/documents/{entry...}", "/document", 1))
			continue
		}
		if strings.Contains(route.Pattern, " /own") {
			continue // how pages look
		}
		of, listed := known[route.Pattern]
		if !listed {
			t.Errorf("%s: no operation is named that gives what this page shows: add it to the API, and here", route.Pattern)
		}
		delete(known, route.Pattern)
		for _, path := range of {
			item := a.huma.OpenAPI().Paths[base+path]
			if item == nil || item.Get == nil && strings.HasPrefix(route.Pattern, http.MethodGet) && route.Pattern != "GET /sql" {
				t.Errorf("%s: the API has no operation %s", route.Pattern, path)
			}
		}
		for _, r := range a.Routes() {
			method, path, _ := strings.Cut(r.Pattern, " "+base)
			if slices.Contains(of, path) && strings.HasPrefix(route.Pattern, method+" ") && r.Least != route.Least {
				t.Errorf("%s is for the role %s, and %s for %s", route.Pattern, route.Least, r.Pattern, r.Least)
			}
		}
	}
	for pattern := range known {
		t.Errorf("there is no page %s any more", pattern)
	}
}

// ownsPage holds that programs read what a page of a centre's own view shows, with the same
// role and by the centre's link.
func ownsPage(t *testing.T, a *API, route access.Route, path string) {
	t.Helper()
	if path == "/feed.xml" || path == "/errors.csv" || path == "/{nothing...}" {
		return // a program has these there, with its token; and what is no page
	}
	for _, at := range []string{base + "/own" + path, linked + base + "/own" + path} {
		if item := a.huma.OpenAPI().Paths[at]; item == nil || item.Get == nil {
			t.Errorf("%s: the API has no operation %s", route.Pattern, at)
		}
	}
	for _, r := range a.Routes() {
		if r.Pattern == "GET "+base+"/own"+path && r.Least != route.Least {
			t.Errorf("%s is for the role %s, and %s for %s", route.Pattern, route.Least, r.Pattern, r.Least)
		}
	}
}
