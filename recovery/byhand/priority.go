package byhand

import (
	"context"
	"fmt"
	"strconv"

	"tributary/producers/plan"
	"tributary/sql/control"
)

// Priority gives a file that waits to be fetched another priority than its source's,
// from 0 to control.MostPriority, which comes first. It has it until it is fetched, or
// has ended for good.
func (o Orders) Priority(ctx context.Context, named string, priority int) (Outcome, error) {
	if priority < 0 || priority > control.MostPriority {
		return Outcome{}, fmt.Errorf("the priority %d: it is a number from 0 to %d, which comes first", priority, control.MostPriority)
	}
	return o.give(ctx, named, func(d *decision) { d.prioritise(priority) })
}

func (d *decision) prioritise(priority int) {
	waits := d.file.Waits()
	switch {
	case d.file.Held():
		d.refuse("it is held: %s; release it first: tributary files release %s", d.file.Said(), d.file.Subject())
		return
	case waits == plan.BytesCame:
		d.refuse("its bytes have come, and what follows waits for no session of a server; for what it waits: tributary why %s", d.file.Subject())
		return
	case waits == plan.NothingWaits && d.file.Placed(d.outstanding) != nil && !d.unloaded:
		d.refuse("its documents have their positions, whose order no priority changes; to have it processed again: tributary replay, after which the file waits")
		return
	case waits == plan.NothingWaits:
		d.refuse("nothing of it waits to be fetched: what there was has ended; how it stands: tributary why %s", d.file.Subject())
		return
	}
	d.file.Prioritise(control.Urgency{Priority: &priority, PriorityBy: d.By, PriorityWhy: d.Reason})
	d.do(plan.NotePriority, fmt.Sprintf("given the priority %d", priority), map[string]string{"priority": strconv.Itoa(priority)}, "%s", map[plan.Waiting]string{
		plan.LookWaits:  "it is requested by that priority once it is taken up: tributary why says for what it waits",
		plan.FetchWaits: "it is requested by that priority, in place of its source's",
		plan.JobWaits:   "a job asks for it already: the priority counts once it has to be requested again",
	}[waits])
}
