package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Ignored is an entry of a listing that is no file of ours.
type Ignored struct {
	Directory string `json:"directory"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`         // directory, not_a_regular_file, line_unreadable, not_zip, filtered, repeated, or that of a LeftOut
	Rule      string `json:"rule,omitempty"` // the filter or the bound that excludes it, the done-file that it waits for, or the later file that counts
	Shown     Seen   `json:"-" db:"-"`       // where filters or other keys leave it: as it was shown
}

// Seen is what a listing shows of a file beside its name.
type Seen struct {
	Size      int64      // in bytes; -1: not known
	ChangedBy *time.Time // when it was changed at the latest, by the server's clock, as exactly as that is shown; nil: not known
}

// LeftOut tells whether the entry is a file that its source leaves: nothing is recorded
// of what was shown, and of a known file the version that is known stays.
func (i Ignored) LeftOut() bool {
	switch i.Reason {
	case NoDoneFile, TooSmall, TooLarge, TooYoung, TooOld, NotLatest:
		return true
	}
	return false
}

// Words is why nobody takes the entry up, for people; of reasons that this program
// doesn't know, the reason.
func (i Ignored) Words() string {
	words := map[string]string{
		"directory":          "it is a directory",
		"not_a_regular_file": "it is no regular file but a link or a device",
		"line_unreadable":    "it is a line of the listing that can't be read",
		"not_zip":            "its name does not end in .zip",
		"filtered":           "a filter of the source excludes it",
		NoDoneFile:           "the file that says that it is whole (done_file) is not beside it yet",
		TooSmall:             "it is smaller than the files are that are taken of the source",
		TooLarge:             "it is larger than the files are that are taken of the source",
		TooYoung:             "it was changed more lately than the files were that are taken of the source, and is taken once that is longer ago",
		TooOld:               "it was changed longer ago than the files were that are taken of the source",
		NotLatest:            "of a centre's files in a directory of the source only the latest is taken (latest_only), and there is a later one",
		"repeated":           "the listing showed the name before, and the first entry counts",
	}[i.Reason]
	switch {
	case words == "":
		return i.Reason
	case i.Rule != "":
		return words + ": " + i.Rule
	}
	return words
}

// PutIgnored replaces what is kept of the entries that a source's last complete
// listing showed and nobody takes up: how many there were, and the first of them.
func PutIgnored(ctx context.Context, tx pgx.Tx, source string, total int, first []Ignored) error {
	var directories, names, reasons, rules []string
	var sizes []int64
	var changed []*time.Time
	for _, e := range first {
		directories, names, reasons, rules = append(directories, e.Directory), append(names, e.Name), append(reasons, e.Reason), append(rules, e.Rule)
		sizes, changed = append(sizes, e.Shown.Size), append(changed, e.Shown.ChangedBy)
	}
	b := &pgx.Batch{}
	b.Queue("DELETE FROM control.ignored WHERE source=$1", source)
	if len(first) > 0 {
		b.Queue(`INSERT INTO control.ignored (source, ordinal, directory, name, reason, rule, size, changed_by)
		SELECT $1, n, directory, name, reason, rule, size, changed_by FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[]) WITH ORDINALITY AS r(directory, name, reason, rule, size, changed_by, n)`,
			source, directories, names, reasons, rules, sizes, changed)
	}
	b.Queue("UPDATE control.source SET ignored=$2 WHERE id=$1 AND ignored <> $2", source, total)
	return pg.Send(ctx, tx, "keep what "+source+" shows and nobody takes up", b)
}

// IgnoredOf returns how many entries a source's last complete listing showed that
// nobody takes up, and those that are kept of them as the server listed them: at most
// limit, behind the first so many; 0: all.
func IgnoredOf(ctx context.Context, q pg.Querier, source string, behind, limit int) (total int64, kept []Ignored, err error) {
	if err := q.QueryRow(ctx, "SELECT coalesce((SELECT ignored FROM control.source WHERE id=$1), 0)", source).Scan(&total); err != nil {
		return 0, nil, fmt.Errorf("read what %s shows and nobody takes up: %w", source, err)
	}
	if kept, err = pg.List(ctx, q, "read what "+source+" shows and nobody takes up", pgx.RowToStructByName[Ignored],
		"SELECT directory, name, reason, rule FROM control.ignored WHERE source=$1 AND ordinal > $2 ORDER BY ordinal LIMIT nullif($3::int, 0)", source, behind, limit); err != nil {
		return 0, nil, err
	}
	return total, kept, nil
}
