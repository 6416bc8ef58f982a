package client

import (
	"context"
	"slices"

	"tributary/recovery/deadletter"
	"tributary/web/order"
)

// LetterWish says how dead letters are retried, or why they are dropped.
type LetterWish struct {
	IDs       []string `json:"ids"`
	Reason    string   `json:"reason,omitempty"`
	DryRun    bool     `json:"dry_run,omitempty"`
	Fetch     bool     `json:"fetch,omitempty"`
	Force     bool     `json:"force,omitempty"`
	MaxDeaths int      `json:"max_deaths,omitempty"`
}

// RetryLetters has a server request new attempts for the dead letters of a wish, as many of
// them at once as it takes.
func (c *Client) RetryLetters(ctx context.Context, w LetterWish, each func(order.Decided) error) error {
	return c.decide(ctx, "retry", w, each)
}

// DropLetters has a server hide dead letters.
func (c *Client) DropLetters(ctx context.Context, w LetterWish, each func(order.Decided) error) error {
	return c.decide(ctx, "drop", w, each)
}

func (c *Client) decide(ctx context.Context, name string, w LetterWish, each func(order.Decided) error) error {
	for ids := range slices.Chunk(w.IDs, order.MostLetters) {
		var done []order.Decided
		w.IDs = ids
		if err := c.send(ctx, "/dead-letters/"+name+"-many", w, &done); err != nil {
			return err
		}
		for _, d := range done {
			if err := each(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// ChosenLetters are the ids of the dead letters that conditions mean and that are open
// unless these name a state, as Ledger.EachChosen has them: the newest MostLetters.
func (c *Client) ChosenLetters(ctx context.Context, conditions []string, topic, group, state string) (ids []string, err error) {
	err = c.Letters(ctx, conditions, topic, group, MostLetters, state == "dropped", func(r deadletter.Row) error {
		if state != "" || r.State == deadletter.Open {
			ids = append(ids, r.ID)
		}
		return nil
	})
	return ids, err
}
