package insert

import (
	"tributary/internal/chain"
	"tributary/schemas"
)

// chained lets events name the one before them, from the given position on.
func (r *rebuilt) chained(events []*schemas.DocumentOrdered, from int64) []*schemas.DocumentOrdered {
	r.t.Helper()
	previous := chain.Start
	for i, ev := range events {
		ev.Position = int64(i) + 1
		if ev.Position < from {
			continue
		}
		ev.Previous = previous
		previous = r.digest(ev)
	}
	return events
}

// digest is that of a position's record.
func (r *rebuilt) digest(ev *schemas.DocumentOrdered) string {
	r.t.Helper()
	value, err := r.codec.EncodeBody(schemas.DocumentOrderedTopic, ev)
	if err != nil {
		r.t.Fatal(err)
	}
	return chain.Of(value).String()
}

// forged is a position with another content, which names what it is told to.
func forged(ev *schemas.DocumentOrdered, position int64, previous string) *schemas.DocumentOrdered {
	f := *ev
	f.Position, f.Previous, f.Result, f.Phase, f.Exception, f.What = position, previous, schemas.FailedEnd, string(schemas.XSD), "xsd_invalid", schemas.PositionDocument
	return &f
}

func (r *rebuilt) exec(sql string) {
	r.t.Helper()
	if _, err := r.pool.Exec(r.t.Context(), sql); err != nil {
		r.t.Fatal(err)
	}
}

// chainBroken is what whoever asks is told.
func (r *rebuilt) chainBroken() string {
	r.t.Helper()
	text, err := Stopped(r.t.Context(), r.pool)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}
