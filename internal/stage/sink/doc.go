// Package sink is the runtime of what feeds a store from Kafka.
//
// An [Applier] carries events into a [Store], a store that keeps the offsets
// beside the results, and starts from there, not from the group's offset. So
// every result is applied once.
package sink
