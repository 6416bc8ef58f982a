package enginetest

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Transact writes a record in a transaction of its own, as other programs do, and
// waits for the marker behind it, which has an offset and is no record: Apache
// Kafka writes it a little after it has said that the transaction is over.
func Transact(t testing.TB, addrs []string, record *kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.TransactionalID("another program"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	err = client.BeginTransaction()
	if err == nil {
		err = client.ProduceSync(t.Context(), record).FirstErr()
	}
	if err = errors.Join(err, client.EndTransaction(t.Context(), kgo.TryCommit)); err != nil {
		t.Fatalf("write %s in a transaction: %v", record.Topic, err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), record.Topic)
		if err != nil {
			t.Fatal(err)
		}
		if end, ok := ends.Lookup(record.Topic, record.Partition); ok && end.Offset > record.Offset+1 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the marker was never written")
		case <-tick.C:
		}
	}
}
