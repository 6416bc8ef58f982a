//go:build synctests

package sim

import "runtime"

// What a run may use at most (L9). A client has a connection each for
// producing, fetching, its group and the rest, others while one is replaced,
// and two goroutines for each; the runtime has a few for every record in hand.
const (
	maxConns      = 8  // of a process to the broker
	maxGoroutines = 50 // of a process, its part of the broker included
)

// lawL9Running checks what processes use while they run: connections, records
// in hand, goroutines.
func (s *sim) lawL9Running() {
	procs := 0
	for _, m := range s.all() {
		p, _ := m.now()
		if p == nil {
			continue
		}
		procs++
		p.mu.Lock()
		conns := len(p.conns)
		p.mu.Unlock()
		if conns > maxConns {
			s.violate("L9", "%s has %d connections to the broker", p.name, conns)
		}
		if n, most := p.inHand(), window(p.role)*int(s.scene.partitions); n > most {
			s.violate("L9", "%s has %d records in hand, and is allowed %d", p.name, n, most)
		}
	}
	if n := runtime.NumGoroutine(); n > maxGoroutines*max(procs, 1) {
		s.violate("L9", "%d goroutines run for %d processes", n, procs)
	}
}

// inHand is what the runtime itself says that it has in hand.
func (p *proc) inHand() (n int) {
	families, err := p.metrics.Gather()
	if err != nil {
		p.s.violate("sim", "%v", err)
	}
	for _, f := range families {
		if f.GetName() != "tributary_stage_in_flight" {
			continue
		}
		for _, m := range f.GetMetric() {
			n += int(m.GetGauge().GetValue())
		}
	}
	return n
}
