//go:build !crashpoints

package crashpoint

import "github.com/jackc/pgx/v5"

// At marks a step. The parts, joined by dots, are its label.
func At(...string) {}

// Caller returns what labels steps of the function that called the function
// that calls it; empty in the ordinary binary.
func Caller() string { return "" }

// Tracer labels the statements of a connection that commit themselves; nil in
// the ordinary binary.
func Tracer() pgx.QueryTracer { return nil }
