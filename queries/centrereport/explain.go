package centrereport

import (
	"tributary/schemas/exception"
	"tributary/sql/warehouse"
)

// Explain says what the names of exceptions and findings mean, the checks of a
// profile's SQL included.
func Explain(statements *warehouse.Statements) func(name string) Advice {
	advice := map[string]Advice{}
	for _, e := range exception.All() {
		advice[e.Name] = Advice{Meaning: e.Happened, Remedy: e.Do}
	}
	for _, f := range warehouse.ClaimFindings() {
		advice[f.Name] = Advice{Meaning: f.Describes + " For example, " + f.Example}
	}
	for _, check := range statements.Checks {
		advice[check.Name] = Advice{Meaning: check.Describes + " For example, " + check.Example}
	}
	return func(name string) Advice { return advice[name] }
}
