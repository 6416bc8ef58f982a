package pages

import (
	"net/http"
	"slices"

	"tributary/web/access"
	"tributary/web/compared"
	"tributary/web/past"
	"tributary/web/question"
)

// Routes are the addresses of all pages.
func (s *Site) Routes() []access.Route {
	return slices.Concat(s.ownRoutes(), s.onlyNow(slices.Concat(s.orderRoutes(), s.defineRoutes(), s.manyRoutes(), s.keptRoutes(), []access.Route{
		{Pattern: "GET /{$}", Least: access.Reader, Handler: s.ever((*Site).now, ofAll)},
		{Pattern: "GET /files", Least: access.Reader, Handler: s.ever((*Site).files, ofFilter)},
		{Pattern: "GET /files/{action}/{name}", Least: access.Reader, Handler: s.ever((*Site).file, ofFile)},
		{Pattern: "GET /files/{action}/{name}/documents/{entry...}", Least: access.Reader, Handler: s.ever((*Site).document, ofFile)},
		{Pattern: "GET /files/{action}/{name}/original", Least: access.Wrangler, Handler: http.HandlerFunc(s.originalFile)},
		{Pattern: "GET /files/{action}/{name}/original/{entry...}", Least: access.Wrangler, Handler: http.HandlerFunc(s.originalDocument)},
		{Pattern: "GET /documents", Least: access.Reader, Handler: s.ever((*Site).documents, ofFilter)},
		{Pattern: "GET /files.csv", Least: access.Reader, Handler: s.sheet(s.filesSheet)},
		{Pattern: "GET /documents.csv", Least: access.Reader, Handler: s.sheet(s.documentsSheet)},
		{Pattern: "GET /quality", Least: access.Reader, Handler: s.ever((*Site).quality, ofFilter)},
		{Pattern: "GET /sources", Least: access.Reader, Handler: s.ever((*Site).sources, ofAll)},
		{Pattern: "GET /sources/{id}", Least: access.Reader, Handler: s.ever((*Site).source, ofSource)},
		{Pattern: "GET /centres", Least: access.Reader, Handler: s.ever((*Site).centres, ofAll)},
		{Pattern: "GET /centres/{name}", Least: access.Reader, Handler: s.ever((*Site).centre, ofCentre)},
		{Pattern: "GET /centres/{name}/report", Least: access.Reader, Handler: http.HandlerFunc(s.report)},
		{Pattern: "GET /centres/{id}/link", Least: access.Wrangler, Handler: s.show(s.linkWanted)},
		{Pattern: "POST /centres/{id}/link", Least: access.Wrangler, Handler: http.HandlerFunc(s.makeLink)},
		{Pattern: "GET /sessions", Least: access.Reader, Handler: s.ever((*Site).sessions, ofAll)},
		{Pattern: "GET /sessions/{number}", Least: access.Reader, Handler: s.ever((*Site).session, ofAll)},
		{Pattern: "GET /diff", Least: access.Reader, Handler: s.within(past.Timeout, s.diff)},
		{Pattern: "GET /dead-letters", Least: access.Reader, Handler: s.ever((*Site).letters, ofLetters)},
		{Pattern: "GET /replays", Least: access.Reader, Handler: s.ever((*Site).replays, ofReplays)},
		{Pattern: "GET /replays/new", Least: access.Wrangler, Handler: s.show(s.wanted)},
		{Pattern: "POST /replays/new", Least: access.Wrangler, Handler: http.HandlerFunc(s.replay)},
		{Pattern: "GET /replays/{id}", Least: access.Reader, Handler: s.ever((*Site).replayed, ofReplays)},
		{Pattern: "GET /replays/{id}/compare", Least: access.Reader, Handler: s.within(compared.Timeout, s.compareShadow)},
		{Pattern: "GET /audit", Least: access.Wrangler, Handler: s.show(s.audit)},
		{Pattern: "GET /findings", Least: access.Reader, Handler: s.ever((*Site).findings, ofFindings)},
		{Pattern: "GET /analytics", Least: access.Reader, Handler: s.recorded((*Site).allRecipes)},
		{Pattern: "GET /analytics/{recipe}", Least: access.Reader, Handler: s.recorded((*Site).recipe)},
		{Pattern: "GET /analytics/{recipe}/chart.svg", Least: access.Reader, Handler: momentary{http.HandlerFunc(s.chart)}},
		{Pattern: "GET /analytics/{recipe}/answer.csv", Least: access.Reader, Handler: momentary{s.sheet(s.recipeSheet)}},
		{Pattern: "GET /tail", Least: access.Reader, Handler: s.recorded((*Site).tail)},
		{Pattern: "GET /notices", Least: access.Reader, Handler: s.show(s.noticed)},
		{Pattern: "GET /notices.xml", Least: access.Reader, Handler: http.HandlerFunc(s.notices)},
		{Pattern: "GET /lineage", Least: access.Reader, Handler: s.show(s.lineagePage)},
		{Pattern: "GET /lineage/{position}/{ordinal}", Least: access.Reader, Handler: s.show(s.lineagePage)},
		{Pattern: "GET /why", Least: access.Reader, Handler: s.show(s.why)},
		{Pattern: "GET /sql", Least: access.Reader, Handler: s.show(s.console)},
		{Pattern: "POST /sql", Least: access.Reader, Handler: s.within(question.StatementTime, s.console)},
		{Pattern: "POST /theme", Least: access.Nobody, Handler: http.HandlerFunc(s.setTheme)},
		{Pattern: "GET /", Least: access.Reader, Handler: s.show(s.missing)},
	})))
}
