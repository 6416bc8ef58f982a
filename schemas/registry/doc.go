// Package registry publishes Tributary's event schemas to a schema registry
// that speaks the usual (Confluent) API, with the ids that are pinned in
// package schemas.
//
// Running needs no registry. One lets others (Kafka UIs, ClickHouse, ksqlDB,
// consumers in any language) decode the events, because every value begins
// with its schema's id. A registry gives ids itself, unless a subject is in
// the mode IMPORT: so a subject is put into that mode, what it lacks is
// registered with its own id and version, and the subject goes back to
// READWRITE, also when something went wrong in between.
package registry
