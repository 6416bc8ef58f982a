package sink

import (
	"testing"

	"tributary/test/members"
)

// TestProtocols runs what the runtime promises about members with every
// protocol. Each name's test ran with the classic one before.
func TestProtocols(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: skipped with -short")
	}
	for _, protocol := range []string{members.Consumer, members.Static} {
		for name, test := range map[string]func(*testing.T){
			"share": TestAppliersShareTheWork,
			"moved": TestApplierFollowsAMovedPosition,
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				t.Parallel() // they wait for sessions to end, mostly
				test(t)
			})
		}
	}
}
