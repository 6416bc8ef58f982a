package storeversion_test

import (
	"errors"
	"strings"
	"testing"

	"tributary/internal/storeversion"
)

// What servers answer, and which of them are refused.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		server  storeversion.Requirement
		version string
		good    bool
	}{
		{storeversion.Postgres(), "15.18 (Debian 15.18-0+deb12u1)", true},
		{storeversion.Postgres(), "18beta1", true},
		{storeversion.Postgres(), "14.19", false},
		{storeversion.Postgres(), "9.6.24", false},
		{storeversion.ClickHouse(), "26.7.2.1", true},
		{storeversion.ClickHouse(), "25.1.1", true},
		{storeversion.ClickHouse(), "24.12.9", false},
		{storeversion.ClickHouse(), "18.16.1", false},
		{storeversion.Kafka("classic"), "v2.3", true},
		{storeversion.Kafka("classic"), "v4.3", true},
		{storeversion.Kafka("classic"), "v2.2", false},
		{storeversion.Kafka("classic"), "v0.10.2", false},
		{storeversion.Kafka("consumer"), "v3.9", false},
		{storeversion.Kafka("consumer"), "v4.0", true},
		{storeversion.Postgres(), "", false},
		{storeversion.Postgres(), "unknown", false},
		{storeversion.Postgres(), "99999999999999999999", false},
	} {
		err := c.server.Check("db:1", c.version)
		if (err == nil) != c.good {
			t.Errorf("%s %q: %v, good %v", c.server.Server, c.version, err, c.good)
		}
	}
}

// The refusal says which server it is about, its version, what it must be, and
// what to do.
func TestRefusalSaysWhatToDo(t *testing.T) {
	err := storeversion.ClickHouse().Check("ch:9000", "18.16.1")
	var old *storeversion.TooOldError
	if !errors.As(err, &old) {
		t.Fatalf("%T: %v", err, err)
	}
	for _, want := range []string{"server_too_old", "ClickHouse at ch:9000", "18.16.1", "25 or newer", "clickhouse.url"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}
