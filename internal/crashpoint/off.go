//go:build !crashpoints

package crashpoint

// At marks a step. The parts, joined by dots, are its label.
func At(...string) {}

// Caller returns what labels steps of the function that called the function
// that calls it; empty in the ordinary binary.
func Caller() string { return "" }
