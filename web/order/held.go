package order

import (
	"context"
	"time"

	"tributary/internal/pg"
	"tributary/sql/control"
)

// mostHeld is how many held files are listed at most.
const mostHeld = 10_000

// HeldFile is a file that is held.
type HeldFile struct {
	File   string    `json:"file" doc:"action/name"`
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
}

// Held gives the files that control knows to be held, those held longest first, at most
// 10,000.
func Held(ctx context.Context, q pg.Querier, each func(HeldFile) error) error {
	held, err := control.HeldFiles(ctx, q, mostHeld)
	for _, h := range held {
		if err := each(HeldFile{h.Action + "/" + h.Name, h.HeldAt.UTC(), h.HeldBy, h.HeldWhy}); err != nil {
			return err
		}
	}
	return err
}
