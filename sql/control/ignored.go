package control

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Ignored is an entry of a listing that is no file of ours.
type Ignored struct {
	Directory string `json:"directory"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`         // directory, not_a_regular_file, line_unreadable, not_zip, filtered, no_done_file or repeated
	Rule      string `json:"rule,omitempty"` // the filter that excludes it, or the name of the done-file that it waits for
}

// NoDoneFile is the reason of an entry whose done-file the listing doesn't show.
const NoDoneFile = "no_done_file"

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
	for _, e := range first {
		directories, names, reasons, rules = append(directories, e.Directory), append(names, e.Name), append(reasons, e.Reason), append(rules, e.Rule)
	}
	b := &pgx.Batch{}
	b.Queue("DELETE FROM control.ignored WHERE source=$1", source)
	if len(first) > 0 {
		b.Queue(`INSERT INTO control.ignored (source, ordinal, directory, name, reason, rule)
		SELECT $1, n, directory, name, reason, rule FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS r(directory, name, reason, rule, n)`, source, directories, names, reasons, rules)
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

// EachShown calls each with every entry that a source shows as far as is known, by
// directory and name: what it hosts, and of what its filters exclude the names that
// are kept.
func EachShown(ctx context.Context, q pg.Querier, source string, each func(directory, name string)) error {
	var directory, name string
	for err := range pg.Each(ctx, q, "read what "+source+" shows", []any{&directory, &name}, `SELECT action, name FROM control.hosting WHERE source=$1 AND state='present'
		UNION SELECT directory, name FROM control.ignored WHERE source=$1 AND reason='filtered' ORDER BY 1, 2`, source) {
		if err != nil {
			return err
		}
		each(directory, name)
	}
	return nil
}
