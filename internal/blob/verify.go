package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// ErrDamaged is matched by errors that mean that a blob's bytes are no longer
// those that it is named after.
var ErrDamaged = errors.New("the stored bytes are damaged")

// Verify reads a whole blob and compares its bytes with its name. What differs
// is ErrDamaged; a missing blob matches fs.ErrNotExist.
func Verify(ctx context.Context, s Store, name string) error {
	b, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer b.Close()
	sum := sha256.New()
	buf := make([]byte, 1<<20)
	for off := int64(0); off < b.Size(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := b.ReadAt(buf[:min(int64(len(buf)), b.Size()-off)], off)
		sum.Write(buf[:n])
		off += int64(n)
		if err != nil && (n == 0 || !errors.Is(err, io.EOF)) {
			return fmt.Errorf("read blob %s: %w", name, err)
		}
	}
	if is := hex.EncodeToString(sum.Sum(nil)); is != name {
		return fmt.Errorf("blob %s: %w: they are those of %s", name, ErrDamaged, is)
	}
	return nil
}
