package remote

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
