// Package sharedlib opens a shared library of C while the program runs. It is apart
// from who calls the library, since a C compiler, where there is one, links what imports
// it, and takes longer for that than Go's own linker: only a program that serves an
// engine imports it, and the many tests that talk to one don't.
package sharedlib

import (
	"errors"
	"fmt"

	"github.com/ebitengine/purego"
)

// Bind opens the library at path, which stays in the process for good, and sets each
// function, to which functions has a pointer by its name in C. A name that the library
// lacks is an error, after all others have been looked for.
func Bind(path string, functions map[string]any) error {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("load %s: %w", path, err)
	}
	var missing []error
	for name, fn := range functions {
		addr, err := purego.Dlsym(handle, name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		purego.RegisterFunc(fn, addr)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is not the pinned version: %w", path, errors.Join(missing...))
	}
	return nil
}
