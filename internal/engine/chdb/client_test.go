package chdb

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
)

func TestDialOptions(t *testing.T) {
	type parts struct {
		Protocol                 clickhouse.Protocol
		Addr                     []string
		Username, Password, Base string
		TLS                      bool
	}
	for endpoint, want := range map[string]parts{
		"unix:/run/x/s":                 {Protocol: clickhouse.HTTP, Addr: []string{"localhost"}},
		"clickhouse://u:p@host:9000/db": {Protocol: clickhouse.Native, Addr: []string{"host:9000"}, Username: "u", Password: "p", Base: "db"},
		"http://u:p@host:8123":          {Protocol: clickhouse.HTTP, Addr: []string{"host:8123"}, Username: "u", Password: "p"},
		"https://u:p@host:8443/db":      {Protocol: clickhouse.HTTP, Addr: []string{"host:8443"}, Username: "u", Password: "p", Base: "db", TLS: true},
		"clickhouse://a:9000,b:9000/db": {Protocol: clickhouse.Native, Addr: []string{"a:9000", "b:9000"}, Base: "db"},
	} {
		o, err := dialOptions(endpoint)
		if err != nil {
			t.Errorf("%s: %v", endpoint, err)
			continue
		}
		got := parts{o.Protocol, o.Addr, o.Auth.Username, o.Auth.Password, o.Auth.Database, o.TLS != nil}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", endpoint, diff)
		}
	}
}

func TestDialOptionsRefusesOtherSchemes(t *testing.T) {
	for _, endpoint := range []string{"", "host:9000", "ftp://host", "postgres://u:secret@host/db"} {
		if _, err := dialOptions(endpoint); err == nil {
			t.Errorf("%q was accepted", endpoint)
		}
	}
}

func TestRedact(t *testing.T) {
	for endpoint, want := range map[string]string{
		"clickhouse://u:secret@host:9000/db": "clickhouse://host:9000",
		"u:secret@host":                      "(given)",
		"http://u:secret@%%":                 "(given)",
	} {
		if got := redact(endpoint); got != want {
			t.Errorf("%s is shown as %s", endpoint, got)
		}
	}
}
