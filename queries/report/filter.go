package report

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// The orders of lists.
const (
	// ByName is by name and action. What is narrowed to few is looked for among all
	// names, unless the filter narrows these.
	ByName = "name"
	// Newest is by the last change, the newest first.
	Newest = "newest"
	// Oldest is by the last change, the oldest first: of what waits, what has waited longest.
	Oldest = "oldest"
)

// Filter narrows what is listed, and says in which order. Empty fields let
// everything through.
type Filter struct {
	Name      string // the file's name, with * for any characters
	Contains  string // part of the file's name; capitals don't matter
	Action    string
	Centre    string // without regard to case
	Source    string
	Phase     string
	Status    string
	Exception string
	Session   string    // UUID or number
	SHA256    string    // how the hash of bytes received for the file begins, now or before: 6 to 64 hex digits
	Since     time.Time // the last change of the file, its documents included, was then or later
	Until     time.Time // it was before
	Waiting   bool      // only what has not ended
	QC        string    // only documents that stand so in quality control (Qualities), and their files

	Sort   string // ByName, Newest or Oldest; empty: ByName
	After  string // only what comes after: the Next of a Page in the same order
	Limit  int    // 0: no limit
	Errors int    // list at most so many errors of a document; 0: all

	id string // of the file
}

// FilterError says that a list can't be asked for in this way.
type FilterError struct {
	Filter string // as flags and addresses name it: sha256, after
	Value  string
	Want   string // what it may be
}

func (e *FilterError) Error() string {
	return fmt.Sprintf("%s %q: %s", e.Filter, e.Value, e.Want)
}

// Check returns a FilterError for what can't be.
func (f Filter) Check() error {
	for _, x := range []struct{ filter, value string }{{"name", f.Name}, {"q", f.Contains}, {"centre", f.Centre}, {"source", f.Source}, {"exception", f.Exception}} {
		if !utf8.ValidString(x.value) || strings.ContainsRune(x.value, 0) {
			return &FilterError{x.filter, x.value, "this is no text"}
		}
	}
	actions, phases, statuses := []string{"add", "edit", "delete"}, []string{}, []string{}
	for _, p := range schemas.Phases() {
		phases = append(phases, string(p))
	}
	for _, s := range schemas.Statuses() {
		statuses = append(statuses, string(s))
	}
	for _, x := range []struct {
		filter, value string
		known         []string
	}{{"action", f.Action, actions}, {"phase", f.Phase, phases}, {"status", f.Status, statuses}, {"sort", f.Sort, []string{ByName, Newest, Oldest}}, {"qc", f.QC, Qualities()}} {
		if x.value != "" && check(x.filter, x.value, x.known) != nil {
			return &FilterError{x.filter, x.value, "there is none of that name: there are " + strings.Join(x.known, ", ")}
		}
	}
	if f.Session != "" && f.sessionNumber() == 0 && uuid.Validate(f.Session) != nil {
		return &FilterError{"session", f.Session, "give the session's number or its id"}
	}
	if f.SHA256 != "" && (len(f.SHA256) < 6 || len(f.SHA256) > 64 || strings.Trim(strings.ToLower(f.SHA256), "0123456789abcdef") != "") {
		return &FilterError{"sha256", f.SHA256, "give how it begins: 6 to 64 digits of 0 to 9 and a to f"}
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return &FilterError{"since", f.Since.UTC().Format(time.RFC3339), "it is not before until, so that nothing can be between them"}
	}
	return nil
}

// sessionNumber is the session by its number; 0 if it is not one.
func (f Filter) sessionNumber() int64 {
	n, err := strconv.ParseInt(f.Session, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// unfinished are the files that the index of that name holds; open those that have not
// ended, by the columns of tracker.file.ended.
const (
	unfinished = "(a.phase_id < {phase overview} OR a.status_id <> {status done})"
	open       = `CASE WHEN a.status_id IN ({status cancelled}, {status failed}) THEN coalesce(d.documents_open, 0) > 0
		WHEN d.note LIKE '%%duplicate%%' AND d.repeats IS NULL THEN false ELSE ` + unfinished + ` END`
)

// between demands when the last change was.
func (f Filter) between(w *pg.Conditions) {
	if !f.Since.IsZero() {
		w.Add("a.last_update >= %s::timestamptz", f.Since)
	}
	if !f.Until.IsZero() {
		w.Add("a.last_update < %s::timestamptz", f.Until)
	}
}

// common demands what files and documents are filtered by alike: of a the row of the
// file, z its name, t its action, and d the attempt that it shows.
func (f Filter) common(ctx context.Context, q pg.Querier, w *pg.Conditions) error {
	if f.Name != "" {
		f.named(w)
	}
	if f.Contains != "" {
		w.Add(`z.file_name COLLATE "C" ILIKE %s`, "%"+like(f.Contains)+"%")
	}
	if f.Action != "" {
		w.Add("t.short_name = %s", f.Action)
	}
	if f.id != "" {
		w.Add("a.id = %s::uuid", f.id)
	}
	if n := f.sessionNumber(); n > 0 {
		w.Add("d.session_id = (SELECT id FROM tracker.crawling_session WHERE number = %s ORDER BY id LIMIT 1)", n)
	} else if f.Session != "" {
		w.Add("d.session_id = %s::uuid", f.Session)
	}
	if f.SHA256 != "" { // the greatest digit is f
		w.Add("a.id = ANY(ARRAY(SELECT za_id FROM tracker.zip_version WHERE sha256 >= %[1]s AND sha256 < %[1]s || 'g' AND starts_with(sha256, %[1]s)))", strings.ToLower(f.SHA256))
	}
	f.between(w)
	if f.Centre == "" {
		return nil
	}
	ids, err := idsOf(ctx, q, "centre", "lower(short_name) = lower($1)", f.Centre)
	w.All = append(w.All, "z.centre_id IN ("+ids+")")
	return err
}

// stands is where something is to stand, by the columns of a or m.
func (f Filter) stands(ctx context.Context, q pg.Querier, of string) (conditions []string, err error) {
	if f.Phase != "" { // numbers, so that Postgres knows how many there are
		conditions = append(conditions, of+".phase_id = {phase "+f.Phase+"}")
	}
	if f.Status != "" {
		conditions = append(conditions, of+".status_id = {status "+f.Status+"}")
	}
	if f.Exception != "" {
		var ids string
		ids, err = idsOf(ctx, q, "an_exception", "short_name = $1", f.Exception)
		conditions = append(conditions, of+".exception_id IN ("+ids+")")
	}
	return conditions, err
}

// early tells whether the filter leaves only what has not come to a good end: what is
// in a phase before the last that is not people's, or has another status than done. A
// document in the phase of people is none of these, whatever its status.
func (f Filter) early() bool {
	if f.Phase == string(schemas.QC) || f.QC != "" {
		return false
	}
	return f.Waiting || f.Exception != "" || f.Status != "" && f.Status != string(schemas.Done) || f.Phase != "" && schemas.Phase(f.Phase).ID() < schemas.Overview.ID()
}

// idsOf are the ids of what has a name, as a list within a statement: so Postgres knows
// how much there is of each.
func idsOf(ctx context.Context, q pg.Querier, table, condition, name string) (ids string, err error) {
	return pg.One(ctx, q, fmt.Sprintf("look up %q in tracker.%s", name, table), pgx.RowTo[string], "SELECT coalesce(string_agg(quote_literal(id) || '::uuid', ', '), 'NULL') FROM tracker."+table+" WHERE "+condition, name)
}

// named demands a name, or one that fits a pattern; of that, what comes before the
// first * can be looked up.
func (f Filter) named(w *pg.Conditions) {
	begins, _, pattern := strings.Cut(f.Name, "*")
	if !pattern {
		w.Add("z.file_name = %s", f.Name)
		return
	}
	if begins != "" {
		w.Add(`z.file_name COLLATE "C" >= %s`, begins)
	}
	if end := after(begins); end != "" {
		w.Add(`z.file_name COLLATE "C" < %s`, end)
	}
	w.Add("z.file_name LIKE %s", strings.ReplaceAll(like(f.Name), "*", "%"))
}

// like is a text within a pattern of LIKE.
func like(text string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text)
}

// after is the first text, by code points, after all that begin with the given
// one; empty if there is none.
func after(text string) string {
	runes := []rune(text)
	for len(runes) > 0 {
		last := &runes[len(runes)-1]
		if *last++; *last == 0xd800 { // surrogates are no characters
			*last = 0xe000
		}
		if *last <= utf8.MaxRune {
			return string(runes)
		}
		runes = runes[:len(runes)-1]
	}
	return ""
}

func (f Filter) limit() string {
	if f.Limit <= 0 {
		return ""
	}
	return " LIMIT " + strconv.Itoa(f.Limit)
}
