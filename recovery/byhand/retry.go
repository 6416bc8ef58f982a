package byhand

import (
	"context"

	"tributary/producers/plan"
)

// Retry has a file tried again at once that has failed and is tried again later, or that
// waits for its next attempt.
func (o Orders) Retry(ctx context.Context, named string) (Outcome, error) {
	return o.give(ctx, named, (*decision).retry)
}

func (d *decision) retry() {
	if d.file.Held() {
		d.refuse("it is held: %s; release it: tributary files release %s", d.file.Said(), d.file.Subject())
		return
	}
	detail := "it is requested as soon as its turn at a server comes"
	switch d.world.Retry(d.file) {
	case plan.Nothing:
		d.refuseRetry()
		return
	case plan.Later:
		detail = "it is tried again once a source of it is available"
	case plan.Gone:
		d.refuse("no source shows it any more, so nothing can be fetched")
		return
	}
	d.do(plan.NoteRetried, "tried again", nil, "%s", detail)
}

// refuseRetry says why there is nothing to try again.
func (d *decision) refuseRetry() {
	switch d.file.Waits() {
	case plan.NothingWaits:
		d.refuse("nothing of it waits to be tried again; what was fetched is processed anew by tributary replay; how it stands: tributary why %s", d.file.Subject())
	case plan.FetchWaits:
		d.refuse("it waits for its turn at a server already; to have it sooner: tributary files priority %s 9", d.file.Subject())
	default:
		d.refuse("it is under way: for what it waits says tributary why %s", d.file.Subject())
	}
}
