package control

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

const (
	// fetchKept is what a fetch still counts for after one further fetch of its source,
	// so that some fifty make a reputation.
	fetchKept = 0.98
	// halved is after which time all that was measured counts half: so what was bad is
	// tried again in time, though nothing else would tell that it is good by now.
	halved = 72 * time.Hour
	// fresh is how much must be left of what was measured for a source to be known.
	fresh = 0.1
)

// Reputation is what fetching from a source has brought of late. The numbers are of
// fetches, as far as they still count: at most some fifty.
type Reputation struct {
	Tries   float64 // that were judged
	Good    float64 // of them, those that brought bytes which were not found damaged
	Corrupt float64 // of them, those that brought other bytes than were published
	Bytes   float64 // received by fetches whose time is known
	Seconds float64 // that these took
}

// Choice is by what a source is chosen of several that host a file, beside whose it is.
type Choice struct {
	Preference int // that people give it, 0 to 9, 9 comes first
	Reputation
}

// Outcomes are what some fetches from a source brought, in the order in which they ended.
type Outcomes struct {
	Reputation
	Fetched, Failed int // as control.source counts them, for ever
	ended           int
}

// Brought counts a fetch that brought bytes, and how long it took: 0 where nobody knows.
func (f *Outcomes) Brought(bytes int64, took time.Duration) {
	f.another()
	f.Fetched++
	f.Good++
	if took > 0 && bytes > 0 {
		f.Bytes += float64(bytes)
		f.Seconds += took.Seconds()
	}
}

// Missed counts a fetch that brought nothing, or other bytes than were published.
func (f *Outcomes) Missed(corrupt bool) {
	f.another()
	f.Failed++
	if corrupt {
		f.Corrupt++
	}
}

// another lets those before count less.
func (f *Outcomes) another() {
	f.Reputation = f.times(fetchKept)
	f.ended++
	f.Tries++
}

// FoundCorrupt says of a fetch that was counted before that its bytes are damaged.
func (f *Outcomes) FoundCorrupt() {
	f.Failed++
	f.Good--
	f.Corrupt++
}

// Cleared says of one whose bytes were found damaged that they are those which were published.
func (f *Outcomes) Cleared() {
	f.Good++
	f.Corrupt--
}

// times lets all numbers count less.
func (r Reputation) times(k float64) Reputation {
	return Reputation{r.Tries * k, r.Good * k, r.Corrupt * k, r.Bytes * k, r.Seconds * k}
}

// Known tells whether enough is left of what was measured to go by.
func (r Reputation) Known() bool { return r.Tries >= fresh }

// Success is the share of fetches that bring the right bytes, as one more that does
// would make it: 1 where nothing is known.
func (r Reputation) Success() float64 { return (max(r.Good, 0) + 1) / (max(r.Tries, 0) + 1) }

// Corruption is the share of fetches that brought other bytes than were published.
func (r Reputation) Corruption() float64 {
	if !r.Known() {
		return 0
	}
	return min(max(r.Corrupt, 0)/r.Tries, 1)
}

// Speed is how many bytes a second came from the beginning of a fetch to its end; 0
// where nothing is known.
func (r Reputation) Speed() float64 {
	if !r.Known() || r.Seconds <= 0 {
		return 0
	}
	return r.Bytes / r.Seconds
}

// preferenceOf is the preference of source s among those that host a file, as it is
// defined; 5 where it says nothing.
const preferenceOf = `CASE WHEN s.definition->>'preference' ~ '^[0-9]$' THEN (s.definition->>'preference')::int ELSE 5 END`

// fadedSQL is what is left of a column of control.reputation r at a moment. All of it is
// double precision: Postgres would raise to a power of type numeric, as extract gives it,
// a hundred times as slowly, which for each file's hostings was most of reading them.
func fadedSQL(column, at string) string {
	return fmt.Sprintf("r.%s * power(0.5::double precision, least(greatest(date_part('epoch', %s::timestamptz - r.measured_at), 0) / %d, 100))", column, at, int(halved.Seconds()))
}

// choiceColumns are the columns of a choice by the names of the fields.
func choiceColumns(at string) string {
	out := []string{preferenceOf + " AS preference"}
	for _, c := range []string{"tries", "good", "corrupt", "bytes", "seconds"} {
		out = append(out, "coalesce("+fadedSQL(c, at)+", 0) AS "+c)
	}
	return strings.Join(out, ", ")
}

// reputationJoin joins the reputation of source s, where it was measured at its server.
const reputationJoin = "LEFT JOIN control.reputation r ON r.source = s.id AND r.address = coalesce(nullif(s.address, ''), s.server)"

// CountFetches adds to what sources are known for.
func CountFetches(ctx context.Context, tx pgx.Tx, met map[string]*Outcomes, now time.Time) error {
	b := &pgx.Batch{}
	for _, id := range slices.Sorted(maps.Keys(met)) { // in one order by all, so that two never wait for each other
		f := met[id]
		b.Queue("UPDATE control.source SET fetched = fetched + $2, fetch_failures = fetch_failures + $3 WHERE id = $1", id, f.Fetched, f.Failed)
		set := ""
		for _, c := range []string{"tries", "good", "corrupt", "bytes", "seconds"} {
			set += fmt.Sprintf("%[1]s = CASE WHEN r.address = excluded.address THEN %[2]s * $7 ELSE 0 END + excluded.%[1]s, ", c, fadedSQL(c, "$8"))
		}
		b.Queue(`INSERT INTO control.reputation AS r (source, address, tries, good, corrupt, bytes, seconds, measured_at)
			SELECT s.id, coalesce(nullif(s.address, ''), s.server), $2, $3, $4, $5, $6, $8 FROM control.source s WHERE s.id = $1
			ON CONFLICT (source) DO UPDATE SET `+set+`address = excluded.address, measured_at = greatest(r.measured_at, excluded.measured_at)`,
			id, f.Tries, f.Good, f.Corrupt, f.Bytes, f.Seconds, math.Pow(fetchKept, float64(f.ended)), now)
	}
	return pg.Send(ctx, tx, "count fetches", b)
}

// Choices is by what each of the named sources is chosen now, by source; all of them
// where none is named.
func Choices(ctx context.Context, q pg.Querier, now time.Time, ids ...string) (map[string]Choice, error) {
	type row struct {
		Source string
		Choice
	}
	all, err := pg.List(ctx, q, "read what sources are known for", pgx.RowToStructByName[row], "SELECT s.id AS source, "+choiceColumns("$1")+" FROM control.source s "+reputationJoin+" WHERE cardinality($2::text[]) = 0 OR s.id = ANY($2)",
		now, append([]string{}, ids...))
	if err != nil {
		return nil, err
	}
	out := make(map[string]Choice, len(all))
	for _, r := range all {
		out[r.Source] = r.Choice
	}
	return out, nil
}
