package lineage

import (
	"context"

	"tributary/internal/blob"
)

// Trace finds out what is meant by a table and a key, or by a row's place, with or
// without its table, and tells where it comes from.
func (r *Reader) Trace(ctx context.Context, args []string) (*Lineage, error) {
	table := ""
	if len(args) > 1 {
		table = args[0]
	}
	if position, ordinal, ok := ParsePlace(args[len(args)-1]); ok && len(args) <= 2 {
		return r.Row(ctx, table, position, ordinal)
	}
	return r.Key(ctx, table, args[1:])
}

// VerifyAll verifies every claim that is listed, and tells whether something
// differs.
func (r *Reader) VerifyAll(ctx context.Context, blobs blob.Store, l *Lineage) (differs bool, err error) {
	for i := range l.Claims {
		v, err := r.Verify(ctx, blobs, &l.Claims[i])
		if err != nil {
			return false, err
		}
		l.Claims[i].Verification = v
		differs = differs || !v.OK
	}
	if l.Document != nil {
		if l.Verification, err = VerifyDocument(ctx, blobs, l.Document); err != nil {
			return false, err
		}
		differs = !l.Verification.OK
	}
	return differs, nil
}
