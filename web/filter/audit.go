package filter

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"tributary/queries/asof"
	"tributary/queries/audit"
	"tributary/queries/report"
)

// AuditNames are the filters of who ordered what in addresses, in the order in which
// people are shown them.
func AuditNames() []string { return []string{"by", "kind", "q", "since", "until"} }

// ParseAudit reads what narrows who ordered what from the query of an address; moments
// are seen from now. What can't be is a report.FilterError.
func ParseAudit(query url.Values, now time.Time) (f audit.Filter, err error) {
	for _, name := range append(AuditNames(), "after", "limit") {
		if v := query.Get(name); len(v) > maxValue {
			return f, &report.FilterError{Filter: name, Value: v[:60] + "…", Want: "this is too long"}
		}
	}
	f = audit.Filter{By: query.Get("by"), Kind: query.Get("kind"), Contains: query.Get("q"), After: query.Get("after")}
	if err := moments(query, now, map[string]*time.Time{"since": &f.Since, "until": &f.Until}); err != nil {
		return f, err
	}
	if f.Limit, err = limit(query); err != nil {
		return f, err
	}
	return f, f.Check()
}

// AuditCommand is the command that lists the same.
func AuditCommand(query url.Values) string {
	words := []string{"tributary", "audit"}
	for _, name := range AuditNames() {
		if v := query.Get(name); v != "" {
			words = append(words, "--"+name, Quoted(v))
		}
	}
	return strings.Join(words, " ")
}

// moments reads those that an address gives.
func moments(query url.Values, now time.Time, into map[string]*time.Time) (err error) {
	for name, at := range into {
		v := query.Get(name)
		if v == "" {
			continue
		}
		if *at, err = asof.ParseMoment(v, now); err != nil {
			return &report.FilterError{Filter: name, Value: v, Want: "write a moment as " + asof.Moments}
		}
	}
	return nil
}

// limit is how many rows an address asks for; 0: it doesn't say.
func limit(query url.Values) (int, error) {
	v := query.Get("limit")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > report.MaxPage {
		return 0, &report.FilterError{Filter: "limit", Value: v, Want: "write a number from 1 to " + strconv.Itoa(report.MaxPage)}
	}
	return n, nil
}
