// Package kafka tells which operations of Kafka's own tools and clients work on
// the embedded broker's door and on Apache Kafka. A table has a cell for each
// (table_test.go); the test runs the tools of several versions of Kafka, kcat,
// and clients in Java, Python, C and Go, and compares. docs/reference/clients.md
// is written from the same table.
//
// TRIBUTARY_CLIENTS=short runs the newest tools on the door, TRIBUTARY_CLIENTS=all
// every cell; without it only the page is compared with the table.
package kafka
