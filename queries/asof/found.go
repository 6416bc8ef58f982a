package asof

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
)

// foundTable is what batch ends had told of findings that make no document fail. No tracker
// has it: only the last of each centre counts, and only of the past is it asked.
const foundTable = `CREATE TEMP TABLE found (
	centre text NOT NULL,
	level text NOT NULL,      -- warn or info; empty: the centre's last batch end doesn't tell
	test text NOT NULL,       -- the check
	findings bigint NOT NULL)`

// found makes the table of findings, as the last batch end of each centre up to a moment
// told of them.
func (p *past) found(ctx context.Context, moment time.Time) error {
	if err := pg.Exec(ctx, p.conn, "make the table of findings", foundTable); err != nil {
		return err
	}
	rows, err := p.History.Query(p.reading(ctx), `SELECT centre, argMax(attributes, position) FROM event
		WHERE entity = ? AND status = ? AND time <= `+microseconds+` GROUP BY centre`, schemas.EntityBatch, string(schemas.Done), moment.UnixMicro())
	if err != nil {
		return fmt.Errorf("read what batch ends told: %w", err)
	}
	defer rows.Close()
	var centres, levels, tests []string
	var numbers []int64
	add := func(centre, level, test string, n int64) {
		centres, levels, tests, numbers = append(centres, pg.Text(centre)), append(levels, pg.Text(level)), append(tests, pg.Text(test)), append(numbers, n)
	}
	for rows.Next() {
		var centre string
		var told map[string]string
		if err := rows.Scan(&centre, &told); err != nil {
			return fmt.Errorf("read what batch ends told: %w", err)
		}
		if _, tells := told[schemas.Findings]; !tells {
			add(centre, "", "", 0)
			continue
		}
		for name, text := range told {
			level, check, is := strings.Cut(name, schemas.FindingsOf)
			if n, err := strconv.ParseInt(text, 10, 64); is && err == nil {
				add(centre, level, check, n)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read what batch ends told: %w", err)
	}
	return pg.Exec(ctx, p.conn, "fill the table of findings", "INSERT INTO found SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[])", centres, levels, tests, numbers)
}
