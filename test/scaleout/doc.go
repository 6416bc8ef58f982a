// Package scaleout executes docs/how-to/scale-out.md as it stands: its lines of
// shell and its configuration, on an Apache Kafka of three brokers with TLS, SASL
// and access control lists, and a Postgres with TLS and passwords.
package scaleout
