// Package pace holds tests that read in a server's own log at which pace it was asked.
package pace
