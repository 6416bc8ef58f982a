package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
)

// Listed is one entry of a listing that is new, changed, not yet settled or
// whose name was refused before, beside what is known of it.
type Listed struct {
	File, Action, Name string
	Size               int64
	ModTime            *time.Time
	Known              bool // the file is known, from whatever source
	Unread             bool // its name was refused when it was recorded last
	Exception          string
	Hosted             bool // this source is known to host it
	Look               int32
	HostedSize         int64
	HostedModTime      *time.Time
	ListedAt           *time.Time
	Settled            bool
	State              string
	Invalid, Message   string // the exception under which this entry ends, and why; empty: nothing is wrong with it
	Precision          int32  // of ModTime, in milliseconds; 0: as exact as it looks
	Attributes         map[string]string
}

// Shown is what a source's last listing showed of a file that is there.
type Shown struct {
	File    string
	Size    int64
	ModTime *time.Time
}

// ShownBefore returns what a source's last listing showed of files, by their ids.
func ShownBefore(ctx context.Context, q pg.Querier, source string, files []string) (map[string]Shown, error) {
	shown, err := pg.List(ctx, q, "read what was listed before", pgx.RowToStructByName[Shown], `SELECT file::text, size, mtime AS mod_time FROM control.hosting WHERE source = $1 AND file = ANY($2::uuid[]) AND state = 'present'`, source, files)
	if err != nil {
		return nil, err
	}
	byFile := make(map[string]Shown, len(shown))
	for _, s := range shown {
		byFile[s.File] = s
	}
	return byFile, nil
}

// listingKey is under what a connection has noted a listingState.
const listingKey = "tributary.control.listing"

// listingState is how a connection's tables for a listing are. To make or to truncate
// them takes Postgres longer than anything else of a poll that finds nothing: it makes new
// files for the tables and their indexes, and every backend forgets what it knew of them.
type listingState struct {
	empty bool // they are there, and empty
	dead  int  // entries that were deleted from them since they were truncated
}

// mostDead is how many deleted entries there may be in the tables, which no vacuum sees.
const mostDead = 1000

// CreateListing makes the connection's temporary tables for one listing: the files, and
// what else was shown.
func CreateListing(ctx context.Context, c *pgxpool.Conn) error {
	noted := c.Conn().PgConn().CustomData()
	if is, _ := noted[listingKey].(listingState); is.empty {
		noted[listingKey] = listingState{dead: is.dead}
		return nil
	}
	delete(noted, listingKey)
	for _, sql := range []string{
		`CREATE TEMP TABLE IF NOT EXISTS listed (file uuid PRIMARY KEY, action text NOT NULL, name text NOT NULL, size bigint NOT NULL, mtime timestamptz,
			exception text NOT NULL, message text NOT NULL, precision int NOT NULL, yearless boolean NOT NULL, known boolean NOT NULL, attributes jsonb, shown timestamptz, turn boolean NOT NULL DEFAULT false, centre text, file_date date, file_inc bigint)`,
		`CREATE TEMP TABLE IF NOT EXISTS passed_over (directory text NOT NULL, name text NOT NULL, size bigint NOT NULL, mtime timestamptz, note text NOT NULL)`,
		truncateListing,
	} {
		if _, err := c.Exec(ctx, sql); err != nil {
			return fmt.Errorf("temporary table for the listing: %w", err)
		}
	}
	return nil
}

const (
	truncateListing = "TRUNCATE pg_temp.listed, pg_temp.passed_over"
	deleteListing   = "WITH o AS (DELETE FROM pg_temp.passed_over) DELETE FROM pg_temp.listed"
)

// EmptyListing gives back the room that a listing of so many entries takes. Where these are
// few it deletes them, and gives the room back some polls later. It does so also where ctx
// has ended.
func EmptyListing(ctx context.Context, c *pgxpool.Conn, entries int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	noted := c.Conn().PgConn().CustomData()
	is, _ := noted[listingKey].(listingState)
	is, sql := listingState{empty: true, dead: is.dead + entries}, deleteListing
	if is.dead > mostDead {
		is.dead, sql = 0, truncateListing
	}
	if _, err := c.Exec(ctx, sql); err != nil {
		return fmt.Errorf("empty the listing: %w", err)
	}
	noted[listingKey] = is
	return nil
}

// Entry is what a server says of one name.
type Entry struct {
	File, Action, Name string
	Size               int64
	ModTime            *time.Time
	Invalid, Message   string            // the exception under which it ends, and why; empty: nothing is wrong with it
	Precision          int32             // of ModTime, in milliseconds; 0: as exact as it looks
	Yearless           bool              // the year of ModTime is a guess
	Known              bool              // ModTime is the one that is known: what is shown, less exactly, is alike
	Attributes         map[string]string // what else it says, by name
	Centre             string            // what its name says, where the latest of each centre is asked for; else empty
	FileDate           string
	FileInc            int64
}

// StoreListing adds entries to the connection's listing and returns those that
// it held already, or that are twice among the given ones: the first counts.
func StoreListing(ctx context.Context, c pg.Querier, entries []Entry) (repeated []Entry, err error) {
	var files, actions, names, exceptions, messages []string
	var sizes []int64
	var times []*time.Time
	var precisions []int32
	var yearless, known []bool
	var attributes []*string
	var centres, dates []string // none, where no entry says one
	var incs []int64
	named := slices.ContainsFunc(entries, func(e Entry) bool { return e.Centre != "" })
	for _, e := range entries {
		files, actions, names, exceptions, messages = append(files, e.File), append(actions, e.Action), append(names, e.Name), append(exceptions, e.Invalid), append(messages, e.Message)
		sizes, times = append(sizes, e.Size), append(times, e.ModTime)
		precisions, yearless, known = append(precisions, e.Precision), append(yearless, e.Yearless), append(known, e.Known)
		said, err := attributesText(e.Attributes)
		if err != nil {
			return nil, err
		}
		attributes = append(attributes, said)
		if named {
			centres, dates, incs = append(centres, e.Centre), append(dates, e.FileDate), append(incs, e.FileInc)
		}
	}
	stored, err := pg.List(ctx, c, "store listing", pgx.RowTo[string], `INSERT INTO pg_temp.listed (file, action, name, size, mtime, exception, message, precision, yearless, known, attributes, centre, file_date, file_inc)
		SELECT file, action, name, size, mtime, exception, message, precision, yearless, known, attributes, nullif(centre, ''), nullif(file_date, '')::date, file_inc
		FROM unnest($1::text[]::uuid[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::text[], $7::text[], $8::int[], $9::boolean[], $10::boolean[], $11::text[]::jsonb[], $12::text[], $13::text[], $14::bigint[])
			AS r(file, action, name, size, mtime, exception, message, precision, yearless, known, attributes, centre, file_date, file_inc)
		ON CONFLICT DO NOTHING RETURNING file::text`, files, actions, names, sizes, times, exceptions, messages, precisions, yearless, known, attributes, centres, dates, incs)
	if err != nil {
		return nil, err
	}
	first := make(map[string]bool, len(stored))
	for _, file := range stored {
		first[file] = true
	}
	for _, e := range entries {
		if !first[e.File] {
			repeated = append(repeated, e)
		}
		first[e.File] = false
	}
	return repeated, nil
}

// attributesText writes attributes as JSON; nil: there are none.
func attributesText(attributes map[string]string) (*string, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(attributes)
	if err != nil {
		return nil, fmt.Errorf("write attributes of an entry: %w", err)
	}
	out := string(text)
	return &out, nil
}

// granted is the condition that a source with the given hosts may show a file: a
// name that can't be read is nobody's.
func granted(hosts, centre, action string) string {
	return fmt.Sprintf("(%[1]s IS NULL OR %[2]s IS NULL OR %[2]s = ANY(%[1]s) OR %[2]s || '/' || %[3]s = ANY(%[1]s))", hosts, centre, action)
}

// Compare returns the next entries, after the given file id, that differ from
// what is known of a source, or that it may not show any more: at most limit, in
// the order of their ids. Of those that show a new look, with chosen, only the ones
// whose turn it is. session is the number of the poll's, hosts is as in Source.
func Compare(ctx context.Context, q pg.Querier, source string, session int64, hosts []string, after string, limit int, chosen bool) ([]Listed, error) {
	return pg.List(ctx, q, "compare listing of "+source, pgx.RowToStructByName[Listed], `SELECT l.file::text, l.action, l.name, l.size, l.mtime AS mod_time, l.exception AS invalid, l.message, l.precision, l.attributes,
			f.id IS NOT NULL AS known, f.id IS NOT NULL AND f.centre IS NULL AS unread, coalesce(f.exception, '') AS exception,
			h.file IS NOT NULL AS hosted, coalesce(h.look, 0) AS look, coalesce(h.size, 0) AS hosted_size, h.mtime AS hosted_mod_time, h.listed_at,
			coalesce(h.settled, false) AS settled, coalesce(h.state, '') AS state
		FROM pg_temp.listed l
		LEFT JOIN LATERAL (SELECT * FROM control.hosting WHERE source = $1 AND file = l.file OFFSET 0) h ON true
		LEFT JOIN LATERAL (SELECT id, exception, centre FROM control.file WHERE id = l.file OFFSET 0) f ON true
		WHERE l.file > $2::uuid AND NOT `+takenSince("$6")+` AND CASE WHEN `+newLook+` THEN l.turn OR NOT $4 ELSE NOT h.settled OR f.exception <> '' OR NOT `+granted("$5::text[]", "f.centre", "l.action")+` END
		ORDER BY l.file LIMIT $3`, source, after, limit, chosen, hosts, session)
}
