package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Names of what is wrong with a blob, as events, logs and commands say them.
const (
	// DamagedName is a blob whose bytes are not those that it is named after, or
	// that is gone. It is being fetched again.
	DamagedName = "blob_damaged"
	// LostName is a damaged blob that no source shows any more.
	LostName = "blob_lost"
)

// ErrDamaged is matched by errors that mean that a blob's bytes are no longer
// those that it is named after.
var ErrDamaged = errors.New("the stored bytes are damaged")

// Unusable tells whether an error means that a blob's bytes must be had anew:
// they are damaged, or gone.
func Unusable(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist) }

// Report tells control that a blob can't be used, and why, so that it is fetched
// again. Lost says that it can't be had from anywhere, and what to do; empty:
// who needs the blob tries again later, or is told to.
type Report func(ctx context.Context, sha256 string, why error) (lost string, err error)

// Verify reads a whole blob and compares its bytes with its name. What differs
// is ErrDamaged; a missing blob matches fs.ErrNotExist.
func Verify(ctx context.Context, s Store, name string) error {
	return VerifyAt(ctx, s, name, func(int) error { return nil })
}

// VerifyAt is Verify that tells of every piece, of at most a megabyte, how many
// bytes were read, and ends with the error that it gets.
func VerifyAt(ctx context.Context, s Store, name string, read func(n int) error) error {
	b, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer b.Close()
	return verify(ctx, b, name, read)
}

func verify(ctx context.Context, b Blob, name string, read func(n int) error) error {
	sum := sha256.New()
	buf := make([]byte, min(1<<20, b.Size())) // most are small, and as many are read as documents
	for off := int64(0); off < b.Size(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := b.ReadAt(buf[:min(int64(len(buf)), b.Size()-off)], off)
		sum.Write(buf[:n])
		off += int64(n)
		if n == 0 && errors.Is(err, io.EOF) {
			return fmt.Errorf("blob %s: %w: it became shorter while it was read", name, ErrDamaged)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read blob %s: %w", name, err)
		}
		if err := read(n); err != nil {
			return err
		}
	}
	if is := hex.EncodeToString(sum.Sum(nil)); is != name {
		return fmt.Errorf("blob %s: %w: its %d bytes are those of %s", name, ErrDamaged, b.Size(), is)
	}
	return nil
}
