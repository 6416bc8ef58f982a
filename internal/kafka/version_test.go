package kafka

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"tributary/internal/config"
	"tributary/internal/storeversion"
)

// Brokers are refused for the requests that they don't know.
func TestServerVersion(t *testing.T) {
	for _, c := range []struct {
		name, protocol string
		most           *kversion.Versions // what the broker knows; nil: everything
		refused        string             // part of the refusal
	}{
		{"new", "classic", nil, ""},
		{"new", "consumer", nil, ""},
		{"2.4", "classic", kversion.V2_4_0(), ""},
		{"3.9", "consumer", kversion.V3_9_0(), "must be 4.0 or newer"},
		{"2.2", "classic", kversion.V2_2_0(), "must be 2.3 or newer"},
	} {
		t.Run(c.name+" "+c.protocol, func(t *testing.T) {
			opts := []kfake.Opt{kfake.NumBrokers(1)}
			if c.most != nil {
				opts = append(opts, kfake.MaxVersions(c.most))
			}
			cluster, err := kfake.NewCluster(opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			client, err := NewClient(config.Kafka{}, cluster.ListenAddrs(), quietLog())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			version, err := ServerVersion(t.Context(), kadm.NewClient(client), c.protocol)
			var old *storeversion.TooOldError
			switch {
			case version == "":
				t.Errorf("no version: %v", err)
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && (!errors.As(err, &old) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("%s: %v, want %q", version, err, c.refused)
			}
		})
	}
}
