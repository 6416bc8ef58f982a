// Package stage is the runtime under every consumer.
//
// A [Runner] carries work from Kafka to Kafka: it reads, works, writes and
// commits. Records of different keys are worked on in parallel, those of one
// key in order; what a record leads to is acknowledged before its offset is
// committed, and the offset committed is that of the oldest unfinished record.
// So a crash repeats a bounded window and loses nothing.
//
// An [Applier] carries events from Kafka into a store that keeps the offsets
// beside the results, and starts from there, not from the group's offset. So
// every result is applied once.
package stage
