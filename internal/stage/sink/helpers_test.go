package sink

import (
	"testing"

	"go.uber.org/goleak"

	"tributary/test/members"
)

const (
	prefix  = members.Prefix
	inTopic = members.InTopic
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a broker and what the tests do with it.
type bench struct{ *members.Bench }

func newBench(t testing.TB, partitions int32) *bench {
	t.Helper()
	return &bench{members.New(t, partitions)}
}
