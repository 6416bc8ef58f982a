// Package stage is the runtime of the Kafka-to-Kafka stages. What feeds a store
// runs on its neighbour, package sink; what both need is in package member.
//
// A [Runner] carries work from Kafka to Kafka: it reads, works, writes and
// commits. Records of different keys are worked on in parallel, those of one
// key in order; what a record leads to is acknowledged before its offset is
// committed, and the offset committed is that of the oldest unfinished record.
// So a crash repeats a bounded window and loses nothing.
package stage
