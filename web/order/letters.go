package order

import (
	"context"
	"fmt"

	"tributary/recovery/deadletter"
	"tributary/web/access"
)

// maxDeaths is after how many retries that died of the same cause a letter is refused,
// as the command line has it where nothing else is said.
const maxDeaths = 3

// letters are the orders about dead letters.
func letters(d Deps) Table {
	one := func(give func(context.Context, *deadletter.Decider, []*deadletter.Standing, Asked) (refused, done string, err error)) func(context.Context, Asked) (Outcome, error) {
		return func(ctx context.Context, a Asked) (out Outcome, err error) {
			if d.Ledger == nil {
				return out, ErrNotHere
			}
			if _, _, _, err := deadletter.ParseID(a.Subject); err != nil {
				return out, bad("%v", err)
			}
			decider, done, err := d.Decider(ctx)
			if err != nil {
				return out, err
			}
			defer done()
			err = d.Ledger.EachChosen(ctx, []string{a.Subject}, nil, func(chunk []*deadletter.Standing) error {
				refused, detail, err := give(ctx, decider, chunk, a)
				out = Outcome{Subject: a.Subject, Done: refused == "", Detail: detail}
				if refused != "" {
					out.Detail = refused
				}
				return err
			})
			return out, err
		}
	}
	t := Table{
		{
			Name: "retry", Verb: "Retry", About: "A new attempt is requested, once. Remove the cause first. Where bytes had been accepted it begins with the stored ones, else the file is fetched; all documents of an archive are processed again.",
			Offered: func(state string) bool { return state == deadletter.Open }, Otherwise: "it does not wait for anybody",
			give: one(func(ctx context.Context, p *deadletter.Decider, chunk []*deadletter.Standing, a Asked) (string, string, error) {
				done, err := d.Ledger.Retry(ctx, p, chunk, deadletter.RetryOptions{By: a.By, Reason: a.Reason, DryRun: a.Dry, MaxDeaths: maxDeaths})
				if err != nil || len(done) == 0 {
					return "", "", err
				}
				detail := "a new attempt is requested"
				if n := done[0].Documents; n > 0 {
					detail += fmt.Sprintf("; of its documents %d are known", n)
				}
				return done[0].Refused, detail, nil
			}),
		},
		{
			Name: "drop", Verb: "Drop", Why: true, About: "The letter is hidden. Nothing is deleted: the list shows it among the dropped ones.",
			Offered: func(state string) bool { return state != "dropped" }, Otherwise: "it is dropped",
			give: one(func(ctx context.Context, p *deadletter.Decider, chunk []*deadletter.Standing, a Asked) (string, string, error) {
				if a.Dry {
					return "", "it is hidden", nil
				}
				done, err := d.Ledger.Drop(ctx, p, chunk, a.Decision)
				if err != nil || len(done) == 0 {
					return "", "", err
				}
				return done[0].Refused, "it is hidden", nil
			}),
		},
	}
	for i := range t {
		name := t[i].Name
		t[i].On, t[i].Least = DeadLetters, access.Wrangler
		t[i].Command = func(a Asked) string { return "tributary dlq " + name + " " + quoted(a.Subject) }
	}
	return t
}
