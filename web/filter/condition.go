package filter

import (
	"strconv"
	"strings"

	"tributary/queries/report"
)

// Condition is what a list of files is narrowed to as a condition in SQL on the tracker's
// view file, as replays take it, but for its moments, which replays take apart; empty where
// nothing else narrows it. Not every filter can be said so.
func Condition(f report.Filter) (condition string, ok bool) {
	if f.SHA256 != "" || f.QC != "" {
		return "", false
	}
	var all []string
	add := func(column, value string) {
		if value != "" {
			all = append(all, column+" = "+text(value))
		}
	}
	if strings.Contains(f.Name, "*") {
		all = append(all, "file LIKE "+text(strings.ReplaceAll(like(f.Name), "*", "%")))
	} else {
		add("file", f.Name)
	}
	if f.Contains != "" {
		all = append(all, "file ILIKE "+text("%"+like(f.Contains)+"%"))
	}
	add("action", f.Action)
	add("lower(centre)", strings.ToLower(f.Centre))
	add("source", f.Source)
	add("phase", f.Phase)
	add("status", f.Status)
	add("exception", f.Exception)
	if n, err := strconv.ParseInt(f.Session, 10, 64); err == nil {
		all = append(all, "session_id = (SELECT id FROM tracker.session WHERE number = "+strconv.FormatInt(n, 10)+" ORDER BY id LIMIT 1)")
	} else {
		add("session_id", f.Session)
	}
	if f.Waiting {
		all = append(all, "NOT ended")
	}
	return strings.Join(all, " AND "), true
}

// text is a text in SQL.
func text(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// like is a text within a pattern of LIKE.
func like(text string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text)
}
