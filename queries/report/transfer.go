package report

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tributary/internal/pg"
	"tributary/internal/screen"
)

// Transfer is a download that is under way and takes long, as far as it was when
// that was told last.
type Transfer struct {
	File     string     `json:"file"`
	Action   string     `json:"action"`
	Centre   *string    `json:"centre"`
	Source   *string    `json:"source"`
	Attempt  int32      `json:"attempt"`
	Size     *int64     `json:"size"`     // bytes as listed; nil where the server does not tell
	Received int64      `json:"received"` // bytes
	Rate     int64      `json:"bytes_per_second"`
	Started  *time.Time `json:"started"` // the attempt; nil while that was not heard of
	Told     time.Time  `json:"told"`    // nothing is told while no bytes come
}

// Transfers lists downloads that take long, at most limit of them, those that began
// first. With the id of a file it is that file's alone.
func Transfers(ctx context.Context, q pg.Querier, file string, limit int) ([]Transfer, error) {
	return list[Transfer](ctx, q, "running downloads", `SELECT file, action, centre, source, attempt, size_bytes, received_bytes, bytes_per_second, started, told
		FROM tracker.transfer WHERE $1 = '' OR file_id = nullif($1, '')::uuid ORDER BY started NULLS LAST, told, file COLLATE "C", action LIMIT $2`, file, limit)
}

// Progress says for people how far it is, seen from now.
func (t Transfer) Progress(now time.Time) string {
	return fmt.Sprintf("%s%s, %s/s, told %s ago", size(t.Received), t.of(), size(t.Rate), age(now.Sub(t.Told)))
}

func (t Transfer) of() string {
	if t.Size == nil {
		return ""
	}
	return " of " + size(*t.Size)
}

// size is a number of bytes as people say it, to two or three digits.
func size(n int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	v, u := float64(n), 0
	for v >= 999.5 && u < len(units)-1 {
		v, u = v/1000, u+1
	}
	digits := 0
	if u > 0 && v < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + units[u]
}

// transfers says how far downloads are that take long.
func (p *printer) transfers(all []Transfer, now time.Time) {
	if len(all) == 0 {
		return
	}
	p.printf("\ndownloads under way that take long, those begun first:\n")
	rows := make([][]string, len(all))
	for i, t := range all {
		since := ""
		if t.Started != nil {
			since = age(now.Sub(*t.Started))
		}
		rows[i] = []string{t.Action + "/" + t.File, screen.Line(text(t.Source)), size(t.Received) + t.of(), size(t.Rate) + "/s", since, age(now.Sub(t.Told)) + " ago"}
	}
	p.table([]string{"file", "source", "received", "rate", "for", "told"}, rows)
}
