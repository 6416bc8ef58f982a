// Package sim runs the whole pipeline in one process and in virtual time, with
// faults drawn from a seed, and checks the laws of the design.
//
// What is real: the runtime of package stage with its clients and groups, the
// stages download, unzip and validate, the embedded broker (kfake) on a network
// in memory. What is modelled, behind the interfaces that the real parts use:
// source servers, the blob store, and the databases with what decides in them
// (poll, plan, sequence, insert, tracker, history), which read the log through
// the real sink.Applier. Every member is a process of its own to the rest: it
// can be killed, stopped and cut off at any step.
//
// Outside of virtual time the same seeds are played with the product's own roles
// on a real Postgres (real_test.go), behind the same interface as the models
// (planes_test.go).
//
// A seed draws a corpus, members and faults. After a while the faults stop, and
// everything must drain. Then the laws are checked, each by a function with its
// name (laws_test.go). See mk/proof.mk for how to run many seeds.
//
// Compiled for wasip1 and run by the command in wasm, a seed gives the same trace
// each time: what follows from a seed must depend on nothing but it there.
package sim
