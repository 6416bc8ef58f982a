package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Directories are what minimal polls of a source go by.
type Directories struct {
	// Of says which definition of the source, and which centres, the listings were
	// judged by: where these are others, nothing is known.
	Of string `json:"of,omitempty"`
	// Complete is when the last complete poll began; zero: the next one is complete.
	Complete time.Time `json:"complete,omitzero"`
	// Minimal counts the minimal polls since.
	Minimal int `json:"minimal,omitempty"`
	// By has the directories whose time the server shows, by action.
	By map[string]Directory `json:"by,omitempty"`
}

// Directory is what is known of a directory of a source.
type Directory struct {
	// Time is when it was changed last, as the server's clock has it.
	Time time.Time `json:"time"`
	// Since is when it was first seen to have that time, by our clock.
	Since time.Time `json:"since"`
	// Listed is when a listing of it began by our clock, while it had that time, of
	// which all was taken up and nothing may still grow; zero: there was none.
	Listed time.Time `json:"listed,omitzero"`
	// Came says that the last listing showed new files though the time was that of
	// the listing before: they may have come since it was asked for.
	Came bool `json:"came,omitempty"`
	// Mute says that its time, or its version, stays as it is when files come.
	Mute bool `json:"mute,omitempty"`
	// Version is how an HTTP server named the last listing, of which all was taken up and
	// nothing may still grow; empty: it didn't.
	Version string `json:"version,omitempty"`
}

// judgedBySQL says by what listings of the source d are judged.
const judgedBySQL = `md5(d.definition::text) || (SELECT ' ' || count(*) || ' ' || coalesce(max(revision), 0) FROM control.centre)`

// known reads what is stored, as far as it was judged by the same as now.
func (d *Directories) known(stored []byte, of string) error {
	if err := json.Unmarshal(stored, d); err != nil {
		return fmt.Errorf("read what minimal polls go by: %w", err)
	}
	if d.Of != of {
		*d = Directories{Of: of}
	}
	return nil
}

// PutDirectories stores what the next polls of a source go by.
func PutDirectories(ctx context.Context, tx pgx.Tx, source string, d Directories) error {
	return pg.Exec(ctx, tx, "source "+source+": store what minimal polls go by", "UPDATE control.source SET directories = $2 WHERE id = $1", source, d)
}

// ForgetDirectories has the next poll of a source be complete.
func ForgetDirectories(ctx context.Context, q pg.Querier, source string) error {
	return pg.Exec(ctx, q, "source "+source+": have it polled completely", "UPDATE control.source SET directories = '{}' WHERE id = $1", source)
}
