package warehouse

import (
	"errors"
	"fmt"
	"strings"

	"tributary/internal/mapping"
)

// Fit checks that the checks judge record tables of a mapping and need its
// reference tables. Errors name the file; all are reported together.
func (s *Statements) Fit(m *mapping.Mapping) error {
	var records, references []string
	for _, t := range m.Records() {
		records = append(records, t.Name)
	}
	for _, r := range m.References {
		references = append(references, r.Name)
	}
	var errs []error
	for _, c := range s.Checks {
		if t := m.Table(c.On); t == nil || !t.Record {
			errs = append(errs, fmt.Errorf("%s:1: %q is no table of records; the profile has %s", c.File, c.On, strings.Join(records, ", ")))
		}
		for _, name := range c.Needs {
			if m.Reference(name) == nil {
				errs = append(errs, fmt.Errorf("%s:1: %q is no reference table; the profile has %s", c.File, name, strings.Join(references, ", ")))
			}
		}
	}
	return errors.Join(errs...)
}
