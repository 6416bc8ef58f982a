package stage

import (
	"testing"

	"tributary/test/members"
)

// The group protocols that the runtime promises to work with. Tests run with
// the first unless TestProtocols runs them.
// TestProtocols runs what the runtime promises about members with every
// protocol. Each name's test ran with the classic one before.
func TestProtocols(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: skipped with -short")
	}
	for _, protocol := range []string{members.Consumer, members.Static} {
		for name, test := range map[string]func(*testing.T){
			"order":     TestRunnerKeepsOrderPerKey,
			"window":    TestFullWindowPausesThePartition,
			"revoked":   TestRevokedWorkIsCancelled,
			"crash":     TestCrashRepeatsABoundedWindow,
			"killer":    TestKillerIsFoundAmongItsNeighbours,
			"cleanstop": TestCleanStopClearsTheMark,
			"poison":    TestPoisonIsAcknowledgedFirst,
			"stop":      TestStopLetsWorkEnd,
			"slow":      TestASlowRecordDelaysNobodyInRebalances,
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				t.Parallel() // they wait for sessions to end, mostly
				test(t)
			})
		}
	}
}
