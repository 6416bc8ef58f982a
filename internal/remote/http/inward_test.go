package http

import (
	"net/netip"
	"testing"
)

func TestServersOutsideLeadNobodyInside(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"192.0.2.1", "127.0.0.1", true}, {"192.0.2.1", "::1", true}, {"192.0.2.1", "10.0.0.1", true}, {"192.0.2.1", "169.254.169.254", true}, {"2001:db8::1", "fd00::1", true}, {"2001:db8::1", "fe80::1", true},
		{"192.0.2.1", "192.0.2.2", false}, {"127.0.0.1", "10.0.0.1", false}, {"10.0.0.1", "192.0.2.1", false},
	} {
		if got := inward(netip.MustParseAddr(tt.from), netip.MustParseAddr(tt.to)); got != tt.want {
			t.Errorf("from %s to %s: %v", tt.from, tt.to, got)
		}
	}
}

// Through a proxy only names are seen.
func TestNamesOutsideLeadNobodyInside(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"files.example.org", "localhost", true}, {"files.example.org", "LOCALHOST.", true}, {"files.example.org", "x.localhost", true}, {"files.example.org", "metadata", true},
		{"files.example.org", "169.254.169.254", true}, {"files.example.org", "::1", true}, {"files.example.org", "::ffff:10.0.0.1", true},
		{"files.example.org", "mirror.example.net", false}, {"files.example.org", "192.0.2.1", false}, {"nas", "other", false}, {"10.0.0.1", "nas", false},
	} {
		if got := inwardByName(tt.from, tt.to); got != tt.want {
			t.Errorf("from %s to %s: %v", tt.from, tt.to, got)
		}
	}
}
