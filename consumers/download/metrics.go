package download

import "github.com/prometheus/client_golang/prometheus"

// newReceived registers what transfers have brought; without a registry nobody
// reads it.
func newReceived(reg prometheus.Registerer) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_download_received_bytes_total",
		Help: "Bytes that transfers have brought to this member so far, those of running and of failed ones included."}, []string{"source"})
	if reg != nil {
		reg.MustRegister(c)
	}
	return c
}
