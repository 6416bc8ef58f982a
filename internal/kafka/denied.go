package kafka

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Denied tells whether a broker refuses an error's request because a right is
// missing. Whoever administers the brokers gives it: until then no patience helps,
// and no record is to blame.
func Denied(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.GroupAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed)
}

// Lacking is the error of a request that needs a right on a topic, or to take part
// in a group: where it is missing, the error says which and what to do.
func Lacking(err error, operation, topic, group string) error {
	const todo = "grant what tributary topics acl prints"
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fmt.Errorf("the right to %s the topic %s is missing (%s): %w", operation, topic, todo, err)
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return fmt.Errorf("the right to Read the group %s is missing (%s): %w", group, todo, err)
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Errorf("the right to %s is missing on the cluster (%s): %w", operation, todo, err)
	}
	return err
}
