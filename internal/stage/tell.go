package stage

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/schemas"
)

// errTooLate is what becomes of what is told after the attempt has ended.
var errTooLate = errors.New("tell after the attempt has ended")

// tell is Input.Tell. What it produces is none of the attempt's outputs: it is not
// waited for, and its failure is none of the work's. Its context is that of all
// work, and none that ends before: the client fails whatever waits for a partition
// together with a record whose context has ended.
func (o *output) tell(m schemas.Message, settled func(error)) {
	if o.isClosed() {
		settled(errTooLate)
		return
	}
	rec, err := o.r.encode(o.it, m)
	if err != nil {
		settled(err)
		return
	}
	o.r.client.TryProduce(o.r.work, rec, func(rec *kgo.Record, err error) {
		if err == nil {
			o.r.metrics.Outputs.WithLabelValues(o.r.cfg.Name, rec.Topic).Inc()
		}
		settled(err)
	})
}
