// Package check loads compose.yaml with Compose's own loader, which validates
// it against the specification, and looks at what an operator relies on. It is
// a module of its own, so that the program is not built with what it needs.
package check
