package sequence

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// release looks for batches to release and sessions to end or close, while the
// lease is held: at every interval, once between two of them when files have ended
// here, and when what ends has gathered for a part.
func (s *Sequencer) release(ctx context.Context, epoch int64) error {
	tick := time.NewTicker(s.cfg.Interval.D())
	defer tick.Stop()
	wake := s.wake
	for {
		looked := s.deps.Now()
		more, err := s.turn(ctx, epoch)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if more {
			continue
		}
		var parts <-chan time.Time
		if s.nextParts.After(looked) {
			parts = time.After(s.nextParts.Sub(s.deps.Now()))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-parts:
		case <-tick.C:
			wake = s.wake
		case <-wake:
			wake = nil // however many files end, until the next tick
		}
	}
}

// turn releases what is complete now; more says that something was done, so
// that looking again at once is worth while.
func (s *Sequencer) turn(ctx context.Context, epoch int64) (more bool, err error) {
	now := s.deps.Now()
	limits := s.limits(now)
	is, err := control.FindToRelease(ctx, s.Pool)
	if err != nil {
		return false, err
	}
	for _, step := range []struct {
		is bool
		do func() (bool, error)
	}{
		{is.Batches, func() (bool, error) { return s.releaseBatches(ctx, epoch, limits, now) }},
		{is.Operations, func() (bool, error) { return s.releaseOperations(ctx, epoch, now) }},
		{is.Sessions, func() (bool, error) { return s.endSessions(ctx, epoch, limits, now) }},
		{is.Ended, func() (bool, error) { return s.closeSessions(ctx, epoch, now) }},
	} {
		if !step.is {
			continue
		}
		done, err := step.do()
		if err != nil {
			return false, err
		}
		more = more || done
	}
	if is.Batches && s.deps.Early && !more && !now.Before(s.nextParts) {
		return false, s.releaseParts(ctx, epoch, now)
	}
	return more, nil
}

// partsPause is how long what has ended of a batch gathers for the next part, however
// often sequence looks for batches: each part costs its transactions. Together with what
// loading one takes it stays below the second that people wait between two.
const partsPause = 800 * time.Millisecond

// releaseBatches releases the batches that are complete.
func (s *Sequencer) releaseBatches(ctx context.Context, epoch int64, limits control.Limits, now time.Time) (released bool, err error) {
	ready, err := control.ReadyBatches(ctx, s.Pool, limits)
	if err != nil {
		return false, err
	}
	for _, id := range ready {
		if err := s.releaseBatch(ctx, epoch, id, limits, now); err != nil {
			return false, err
		}
	}
	return len(ready) > 0, nil
}

func (s *Sequencer) limits(now time.Time) control.Limits {
	return control.Limits{PollCutoff: now.Add(-s.cfg.PollCutoff.D()), ReleaseLimit: now.Add(-s.cfg.ReleaseLimit.D()), LateLimit: now.Add(-s.cfg.LateLimit.D())}
}

// releaseBatch gives every document of a batch that has none yet its position: then
// what each version withdraws, then the batch's end.
func (s *Sequencer) releaseBatch(ctx context.Context, epoch int64, id string, limits control.Limits, now time.Time) error {
	return pg.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := s.deps.Lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		next, b, err := control.TakeBatch(ctx, tx, id, limits)
		if err != nil || b == nil {
			return err
		}
		versions, out, err := s.positions(ctx, tx, *b, next.Next, now)
		if err != nil {
			return err
		}
		documents := int(b.Documents) + len(out) - len(versions)
		var last *int64
		if documents+len(out) > 0 { // else no version is complete in it, and it has no positions
			end := next.Next + int64(len(out))
			last = &end
			out = append(out, positionMessage(batchEnd(*b, b.Session == nil, documents, end), now), batchEvent(*b, b.Session == nil, documents, end, now))
		}
		if err := control.ReleaseBatch(ctx, tx, *b, last, now); err != nil {
			return err
		}
		s.deps.Log.Info("batch released", "domain", b.Domain, "number", b.Number, "documents", documents, "late", b.Session == nil)
		return control.AppendPositions(ctx, tx, s.deps.Outbox, next, out...)
	})
}

// releaseParts releases what is complete of batches that are not; where nothing is,
// the next file that ends needn't gather company first.
func (s *Sequencer) releaseParts(ctx context.Context, epoch int64, now time.Time) error {
	ready, err := control.ReadyParts(ctx, s.Pool)
	if err != nil {
		return err
	}
	if len(ready) > 0 {
		s.nextParts = now.Add(partsPause)
	}
	for _, id := range ready {
		if err := s.releasePart(ctx, epoch, id, now); err != nil {
			return err
		}
	}
	return nil
}

// releasePart gives the documents of the versions of a batch that are complete their
// positions, then what each withdraws. The batch's end comes with the rest of it.
func (s *Sequencer) releasePart(ctx context.Context, epoch int64, id string, now time.Time) error {
	return pg.InTx(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := s.deps.Lease.Check(ctx, tx, epoch); err != nil {
			return err
		}
		next, b, err := control.TakePart(ctx, tx, id)
		if err != nil || b == nil {
			return err
		}
		versions, out, err := s.positions(ctx, tx, *b, next.Next, now)
		if err != nil {
			return err
		}
		documents := len(out) - len(versions)
		if err := control.ReleasePart(ctx, tx, *b, versions, documents); err != nil {
			return err
		}
		s.deps.Log.Debug("part of a batch released", "domain", b.Domain, "number", b.Number, "documents", documents)
		return control.AppendPositions(ctx, tx, s.deps.Outbox, next, out...)
	})
}

// positions are the messages of a batch's documents that are complete and have no
// positions yet, from the given position on, and behind them one for each of their
// versions, with what it withdraws. It names the versions by their acquisitions.
func (s *Sequencer) positions(ctx context.Context, tx pgx.Tx, b control.Batch, next int64, now time.Time) (acquisitions []int64, out []schemas.Message, err error) {
	docs, err := control.BatchDocuments(ctx, tx, b.ID, s.deps.Kinds)
	if err != nil {
		return nil, nil, err
	}
	var versions []*schemas.DocumentOrdered
	counts := map[int64]*schemas.DocumentOrdered{}
	for _, d := range docs {
		_, body, err := s.deps.Outbox.Codec.DecodeBody(d.Body)
		if err != nil {
			return nil, nil, fmt.Errorf("document of batch %s: %w", b.ID, err)
		}
		v, ok := body.(*schemas.DocumentValidated)
		if !ok {
			return nil, nil, fmt.Errorf("document of batch %s is a %T", b.ID, body)
		}
		if !d.Before {
			o := ordered(b, d, v)
			o.Position = next + int64(len(out))
			out = append(out, positionMessage(o, now))
		}
		version := counts[d.Acquisition]
		if version == nil {
			version = ordered(b, d, v)
			version.What, version.DocumentRef, version.DocumentName = schemas.PositionVersion, schemas.DocumentRef{Archive: v.Archive}, schemas.DocumentName{}
			version.Result, version.Phase, version.Exception = "", "", ""
			counts[d.Acquisition] = version
			acquisitions, versions = append(acquisitions, d.Acquisition), append(versions, version)
		}
		version.Documents++
	}
	for _, v := range versions {
		v.Position = next + int64(len(out))
		out = append(out, positionMessage(v, now))
	}
	return acquisitions, out, nil
}

func batchEnd(b control.Batch, late bool, documents int, position int64) *schemas.DocumentOrdered {
	return &schemas.DocumentOrdered{
		Scope: schemas.Scope{Run: b.Run, Session: pg.Value(b.Session), Centre: b.Domain}, Position: position, What: schemas.PositionBatchEnd,
		Batch: b.ID, Domain: b.Domain, Number: b.Number, Late: late, Documents: int32(documents),
	}
}

// ordered is a document's position, still without its number.
func ordered(b control.Batch, d control.Ordered, v *schemas.DocumentValidated) *schemas.DocumentOrdered {
	return &schemas.DocumentOrdered{
		Scope:   schemas.Scope{Run: v.Run, Session: pg.Value(d.Session), Centre: d.Centre, Source: d.Source},
		FileRef: v.FileRef, DocumentRef: v.DocumentRef, DocumentName: v.DocumentName,
		What: schemas.PositionDocument, Batch: b.ID, Domain: b.Domain, Number: b.Number, Late: b.Session == nil,
		Attempt: v.Attempt, Download: v.Download, Unzip: v.Unzip, FileDate: d.FileDate, FileInc: d.FileInc,
		RankOwn: d.RankOwn, RankTime: d.RankTime, RankOrdinal: d.RankOrdinal, RunNumber: d.RunNumber,
		Result: v.Result, Phase: v.Phase, Exception: v.Exception, Profile: v.Profile,
	}
}

// positionMessage keys every position by its domain; the topic has one
// partition, and ids follow from the position.
func positionMessage(o *schemas.DocumentOrdered, now time.Time) schemas.Message {
	subject := o.What + " " + o.Domain
	switch o.What {
	case schemas.PositionDocument:
		subject = o.Action + "/" + o.FileName + "/" + o.Entry
	case schemas.PositionUnload:
		subject = o.What + " " + o.Action + "/" + o.FileName
	case schemas.PositionReference:
		subject = o.What + " " + o.Entry
	}
	return schemas.Message{
		ID:    schemas.EventID(stageName, schemas.LiveRun, strconv.FormatInt(o.Position, 10), schemas.DocumentOrderedTopic),
		Topic: schemas.DocumentOrderedTopic, Key: o.Domain, Stage: stageName, Subject: subject, Time: now, Body: o,
	}
}

// batchEvent tells that a batch is out. Domains share the batch of an operation,
// so its id alone would not tell them apart.
func batchEvent(b control.Batch, late bool, documents int, last int64, now time.Time) schemas.Message {
	return schemas.Message{
		ID: schemas.EventID(stageName, schemas.LiveRun, b.ID, "batch_released", b.Domain), Topic: schemas.StatusChangedTopic,
		Key: b.Domain, Stage: stageName, Subject: "batch " + b.Domain + " " + strconv.FormatInt(b.Number, 10), Time: now,
		Body: &schemas.StatusChanged{
			Scope: schemas.Scope{Run: b.Run, Session: pg.Value(b.Session), Centre: b.Domain}, Entity: schemas.EntityBatch,
			Status: string(schemas.Running), Number: b.Number, Rows: int64(documents), Position: last, StartedAt: &now,
			Attributes: map[string]string{"batch": b.ID, "late": strconv.FormatBool(late)},
		},
	}
}
