package kafka

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/internal/storeversion"
)

// ServerVersion asks every broker which requests it knows, as none tells its
// version, and returns the version that is guessed from that. It refuses brokers
// that lack what Tributary needs with a *storeversion.TooOldError.
func ServerVersion(ctx context.Context, admin *kadm.Client, groupProtocol string) (string, error) {
	brokers, err := admin.ApiVersions(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the brokers for their versions: %w", err)
	}
	version := ""
	for _, b := range brokers.Sorted() {
		if b.Err != nil {
			continue // it is away, or just going; the others answer for the cluster
		}
		version = strings.TrimPrefix(b.VersionGuess(), "v")
		if !knows(b, groupProtocol) {
			return version, storeversion.Kafka(groupProtocol).TooOld(fmt.Sprintf("broker %d", b.NodeID), version)
		}
	}
	if version == "" {
		return "", fmt.Errorf("ask the brokers for their versions: none of %d answers", len(brokers))
	}
	return version, nil
}

// knows tells whether a broker knows the requests by which
// storeversion.Kafka sets its least version.
func knows(b kadm.BrokerApiVersions, groupProtocol string) bool {
	needed := map[kmsg.Key]int16{kmsg.JoinGroup: 5, kmsg.IncrementalAlterConfigs: 0, kmsg.InitProducerID: 0}
	if groupProtocol == "consumer" {
		needed[kmsg.ConsumerGroupHeartbeat] = 1 // 3.7 to 3.9 know version 0, a preview
	}
	for key, least := range needed {
		if most, has := b.KeyMaxVersion(int16(key)); !has || most < least {
			return false
		}
	}
	return true
}
