// Package upgrade lets the program before make a data directory, as it may lie
// on a disk when it is stopped: with positions that were not published and a
// batch that is open. The program of today opens it, and runs beside members of
// the one before, one of which removes the sources that it does not know. It is
// run by make test-upgrade.
package upgrade
