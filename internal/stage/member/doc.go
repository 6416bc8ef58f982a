// Package member is what a member of a consumer group needs whatever it does
// with the records: the metrics of the runtime, where its logs end, which topic
// an offset belongs to, and how to leave a group.
package member
