package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"tributary/internal/kafka"
)

// A refusal for want of a right names the right; any other error stays as it is.
func TestAMissingRightIsNamed(t *testing.T) {
	for cause, want := range map[error]string{
		kerr.TopicAuthorizationFailed:                             "the right to Read the topic p.t is missing (grant what tributary topics acl prints): TOPIC_AUTHORIZATION_FAILED",
		fmt.Errorf("join: %w", kerr.GroupAuthorizationFailed):     "the right to Read the group p.g is missing (grant what tributary topics acl prints): join: GROUP_AUTHORIZATION_FAILED",
		kerr.ClusterAuthorizationFailed:                           "the right to Read is missing on the cluster (grant what tributary topics acl prints): CLUSTER_AUTHORIZATION_FAILED",
		kerr.NotEnoughReplicas:                                    "NOT_ENOUGH_REPLICAS",
		kerr.SaslAuthenticationFailed:                             "SASL_AUTHENTICATION_FAILED",
		fmt.Errorf("fetch: %w", errors.New("connection refused")): "fetch: connection refused",
	} {
		got := kafka.Lacking(cause, "Read", "p.t", "p.g")
		if !strings.HasPrefix(got.Error(), want) || !errors.Is(got, cause) {
			t.Errorf("%v is told as %v", cause, got)
		}
		if denied := strings.Contains(got.Error(), "the right"); denied != kafka.Denied(cause) || denied != kafka.Denied(got) {
			t.Errorf("%v: denied %t, which is told otherwise", cause, kafka.Denied(cause))
		}
	}
	if kafka.Lacking(nil, "Read", "t", "g") != nil || kafka.Denied(nil) {
		t.Error("no error is one")
	}
}
