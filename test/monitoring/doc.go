// Package monitoring holds what Prometheus and Grafana are given (compose/prometheus,
// compose/grafana) against Prometheus' own parser and engine: each rule and each query is
// executed on what a run of the program exposes, and each alert fires on a series that
// it is for. It is a module of its own, as it needs Prometheus.
//
// make test-monitoring runs it.
package monitoring
