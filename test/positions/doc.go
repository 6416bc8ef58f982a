// Package positions is a model of the life of a position, small enough to be read
// at once (docs/decisions/0025-the-life-of-a-position.md). Its readers judge by the
// program's own rule, package chain; everything around them is made of slices:
//
//   - a control that draws positions, and can be put back to an older state or be
//     restored from the log;
//   - a publisher that repeats, and sometimes loses what it should have written;
//   - a forger who writes records that fit, records that don't, and garbage;
//   - an insert that reads ahead of its warehouse, dies, and begins again where the
//     warehouse is;
//   - a person who decides about the record at which reading has stopped: well,
//     badly, or about the one that was applied before it;
//   - rebuild and restore, which judge the whole log from its first record.
//
// rapid chooses what they do, and the laws (laws_test.go) are checked after every
// step. In go test ./... it plays a hundred lives; make positions CHECKS=100000
// plays more.
package positions
