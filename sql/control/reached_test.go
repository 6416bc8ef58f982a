package control_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
)

// The keys of a source's definition, by whether they say how it is reached. A new key
// must be named in one of the lists, and in the statement if in the second.
var (
	reached = []string{"url", "password", "identity_file", "identity_passphrase", "known_hosts", "host_key", "jump", "disable_epsv", "token", "cookie", "headers", "proxy", "proxy_password", "feed", "webdav", "ca_file", "robots", "identity_agent", "certificate_pin", "connect_timeout", "idle_timeout", "endpoint", "region", "virtual_hosted"}
	alike   = []string{
		"centre", "hosts", "interval", "max_interval", "complete_every", "cron", "time_zone", "windows", "max_sessions", "priority", "preference", "server", "filters", "done_file", "min_size", "max_size", "min_age", "max_age", "latest_only", "may_be_empty", "throttle", "done_with",
		"max_entries", "max_new", "max_new_bytes", "max_files_per_day", "max_bytes_per_day", "description",
	}
)

// A suspended source is available again once it is defined to be reached in another
// way, and stays suspended whatever else is defined otherwise: each key that the
// configuration knows is one or the other.
func TestEachKeySaysWhetherASourceIsReachedOtherwise(t *testing.T) {
	t.Parallel()
	pool := database(t)
	known := map[string]bool{}
	fields := reflect.TypeFor[config.Source]()
	for i := range fields.NumField() {
		key, _, _ := strings.Cut(fields.Field(i).Tag.Get("yaml"), ",")
		if key == "id" || key == "state" {
			continue // by the one it is found, and the other is no part of the definition
		}
		known[key] = true
		others := slices.Contains(reached, key)
		if others == slices.Contains(alike, key) {
			t.Errorf("%s must say whether it changes how a source is reached: name it in one of the lists of this test", key)
			continue
		}
		for _, before := range []map[string]any{{"id": "a"}, {"id": "a", key: "before"}} {
			define := func(keys map[string]any) {
				text, err := json.Marshal(keys)
				if err != nil {
					t.Fatal(err)
				}
				inTx(t, pool, func(tx pgx.Tx) error {
					_, err := controltest.PutSource(t.Context(), tx, control.Source{ID: "a", Centre: "H", Server: "a:22", Protocol: "sftp", State: "available", MaxSessions: 1, Definition: string(text)})
					return err
				})
			}
			define(before)
			exec(t, pool, "UPDATE control.source SET state = 'suspended', declared_state = 'available'")
			define(map[string]any{"id": "a", key: "after"})
			if got := text(t, pool, "SELECT state FROM control.source") == "(available)"; got != others {
				t.Errorf("another %s than %v ends a suspension: %v, want %v", key, before[key], got, others)
			}
		}
	}
	for _, key := range slices.Concat(reached, alike) {
		if !known[key] {
			t.Errorf("a source has no key %s: take it out of the list", key)
		}
	}
}
