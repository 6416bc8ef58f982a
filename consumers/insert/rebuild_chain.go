package insert

import (
	"context"
	"fmt"

	"tributary/internal/chain"
	"tributary/sql/warehouse"
)

// ChainReport is what the order of positions proves of itself.
type ChainReport struct {
	Positions int64 `json:"positions"` // that document.ordered holds
	Begin     int64 `json:"begin"`     // from which on each names the one before; 0: none does
	Compared  int64 `json:"compared"`  // with what the live warehouse noted when it applied them
	// Unproven is how many records repeat a position with another content before
	// the chain begins.
	Unproven int64 `json:"unproven"`
}

// String is the report on a line.
func (c ChainReport) String() string {
	if c.Begin == 0 {
		return fmt.Sprintf("chain: %d positions, none of which names the one before it", c.Positions)
	}
	return fmt.Sprintf("chain: %d positions, each from %d on names the one before it; %d are as they were applied", c.Positions, c.Begin, c.Compared)
}

// agreement is how far a live warehouse and the order agree that holds a record
// of which it was decided later that it never was.
type agreement struct {
	upTo, before int64 // the position applied before such a record; before that is known: the one met last
	passed       int64 // the position that was applied with it; 0: there is none
}

// agree takes what the live warehouse has noted, in order.
func (r *Rebuild) agree(l chain.Link) {
	a := &r.agreement
	if a.passed == 0 && r.In.deps.Decided.Foreign(l.Digest) {
		if a.upTo, a.passed = a.before, l.Position; a.before == 0 {
			a.upTo = l.Position - 1 // what older programs have applied was not noted
		}
	}
	a.before = l.Position
}

// within is a position of the live warehouse, as far as it agrees with the order.
// What is behind is applied again by the live insertion, which then tells of it.
func (a agreement) within(position int64) int64 {
	if a.passed == 0 {
		return position
	}
	return min(position, a.upTo)
}

// judge reads the whole order before anything is built: whoever wrote to the
// topic may have done so behind what is applied. What the live warehouse noted
// is compared, as far as it noted anything.
func (r *Rebuild) judge(ctx context.Context) error {
	in := r.In
	if err := in.learn(ctx); err != nil {
		return err
	}
	log, last, err := in.readLog(ctx)
	if err != nil {
		return err
	}
	r.last = last
	noted, err := warehouse.HasChain(ctx, in.deps.Pool)
	if err != nil {
		return err
	}
	if noted {
		begin, err := in.chainBegin(ctx)
		if err != nil {
			return err
		}
		err = in.allLinks(ctx, func(l chain.Link) {
			log.Applied(l, begin)
			r.report.Chain.Compared++
			r.agree(l)
		})
		if err != nil {
			return err
		}
	}
	c := &r.report.Chain
	c.Positions, c.Begin, c.Unproven = log.Head().Last.Position, log.Head().Begin, log.Unproven()
	if err := log.Err(); err != nil {
		return fmt.Errorf("the order contradicts itself, or what was applied, and nothing tells by itself which record is genuine: nothing was rebuilt, and nothing is changed. %w", err)
	}
	if c.Unproven > 0 {
		r.log().Warn("positions come again with another content before the chain begins; the first one counts", "records", c.Unproven)
	}
	return nil
}
