// Package e2e holds the tests of the whole program: the binary, its engines,
// real OpenSSH and vsftpd servers, and generated corpora whose oracle says what
// must have become of every file, document and row.
//
// The tests see what scripts see: exit codes, the commands' JSON, and rows. They are
// skipped where engines or servers are missing, and fail there instead if
// TRIBUTARY_REQUIRE_ENGINES is 1. Other variables: TRIBUTARY_BINARY, the program
// to test instead of a fresh build; TRIBUTARY_SEED, of corpora and of random
// moments; TRIBUTARY_KILLS, how often TestKill kills; TRIBUTARY_ORDERS, in how many
// orders TestOtherOrders inserts; TRIBUTARY_KEEP, if set,
// leaves the data of failed tests; TRIBUTARY_TEST_KAFKA, set by make test-kafka,
// the Apache Kafka to use in place of the embedded broker, by one test at a time
// (-parallel 1).
package e2e
