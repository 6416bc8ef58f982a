// Package crashpoint lets tests kill the program at a chosen step. Steps where
// a crash could matter call At with a label; before and after every commit,
// every acknowledgement and every offset commit among them.
//
// In the ordinary binary the functions are empty, and a call costs nothing. A
// binary built with the tag crashpoints obeys environment variables:
//
//   - TRIBUTARY_CRASH=label:n kills the process, as kill -9 does, when it comes
//     to the label for the n-th time;
//   - TRIBUTARY_PAUSE=label:n stops it there instead, as SIGSTOP does;
//   - TRIBUTARY_CRASH_LOG=path appends every label that is passed to a file, a
//     line each, so that the occurrences can be counted.
//
// Never deploy such a binary.
package crashpoint
