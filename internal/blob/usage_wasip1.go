package blob

import (
	"errors"
	"fmt"
)

// UsageOf is not known on wasip1, which has no call for it.
func UsageOf(path string) (Usage, error) {
	return Usage{}, fmt.Errorf("ask how full the disk of %s is: %w", path, errors.ErrUnsupported)
}
