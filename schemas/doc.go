// Package schemas holds the events of Tributary: their Avro schemas, the Go
// types that are written with them, their identities and their wire form.
//
// Every event is an Avro record in Confluent framing (a zero byte, a schema id
// of four bytes, the body), so that Kafka UIs, ClickHouse and ksqlDB decode it
// once the schemas are registered; running needs no registry, because ids are
// pinned in the file names below avro/ and every version ever published stays
// there. The CloudEvents attributes travel as Kafka headers in binary mode.
//
// An event's id is a function of its cause (see ids.go): what is produced
// twice has the same id, and every reader that keeps state ignores what it has
// seen.
package schemas
