// Package storeversion knows the least versions of Postgres, ClickHouse and
// Kafka that Tributary works with, and refuses older ones by name. Who connects
// asks for the version; this package talks to nobody.
package storeversion

import (
	"fmt"
	"strconv"
	"strings"
)

// Code is the stable name of the refusal.
const Code = "server_too_old"

// Requirement is what a server must be at least.
type Requirement struct {
	Server string // as people call it
	Least  string // version, such as 15 or 2.3
	Remedy string // what to do about an older one
}

// Postgres is the least Postgres: 15 is the oldest on which the tests run, and
// all SQL stays within what it knows.
func Postgres() Requirement {
	return Requirement{Server: "Postgres", Least: "15", Remedy: "upgrade it (pg_upgrade keeps what is in it), or name another in postgres.url"}
}

// ClickHouse is the least ClickHouse: 25 is the oldest major version that is
// still maintained and that compose/ pins; inserts rely on its deduplication by
// token in plain MergeTree tables, and statements on the ids of tables.
func ClickHouse() Requirement {
	return Requirement{Server: "ClickHouse", Least: "25", Remedy: "upgrade it, or name another in clickhouse.url"}
}

// Kafka is the least Kafka: with 2.3 came static members (KIP-345) and settings
// that are changed one by one (KIP-339). A member of the protocol consumer
// needs 4.0 (KIP-848).
func Kafka(groupProtocol string) Requirement {
	r := Requirement{Server: "Kafka", Least: "2.3", Remedy: "upgrade the brokers, or name others in kafka.bootstrap_servers"}
	if groupProtocol == "consumer" {
		r.Least, r.Remedy = "4.0", r.Remedy+", or set kafka.group_protocol to classic"
	}
	return r
}

// TooOldError refuses a server. It will not pass by itself.
type TooOldError struct {
	Requirement Requirement
	Address     string // without secrets; empty: not known
	Version     string // as the server says it
}

func (e *TooOldError) Error() string {
	at := ""
	if e.Address != "" {
		at = " at " + e.Address
	}
	return fmt.Sprintf("%s: %s%s is version %s and must be %s or newer: %s", Code, e.Requirement.Server, at, e.Version, e.Requirement.Least, e.Requirement.Remedy)
}

// Check refuses a version that is below the least with a *TooOldError. What
// can't be read as a version is refused too: nobody has tested it.
func (r Requirement) Check(address, version string) error {
	is, readable := numbers(version)
	least, _ := numbers(r.Least)
	if readable && !less(is, least) {
		return nil
	}
	return r.TooOld(address, version)
}

// TooOld is the refusal of a server of which who asked knows that it is too old.
func (r Requirement) TooOld(address, version string) error {
	return &TooOldError{Requirement: r, Address: address, Version: version}
}

// numbers reads the numbers with which a version begins, such as those of 15.18
// (Debian 15.18-0), 26.7.2.1, 17beta1 or v4.0.
func numbers(version string) (out []int, readable bool) {
	rest := strings.TrimPrefix(strings.TrimSpace(version), "v")
	for {
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(rest[:end])
		if err != nil {
			return out, len(out) > 0
		}
		out = append(out, n)
		if end == len(rest) || rest[end] != '.' {
			return out, true
		}
		rest = rest[end+1:]
	}
}

// less compares number by number; what is missing counts as 0.
func less(a, b []int) bool {
	at := func(all []int, i int) int {
		if i < len(all) {
			return all[i]
		}
		return 0
	}
	for i := range max(len(a), len(b)) {
		if at(a, i) != at(b, i) {
			return at(a, i) < at(b, i)
		}
	}
	return false
}
