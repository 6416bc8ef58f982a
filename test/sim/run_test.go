//go:build synctests

package sim

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/broker"
	"tributary/internal/kafka"
	"tributary/internal/profile"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

const (
	prefix         = "sim"
	sessionTimeout = 6 * time.Second
	// drainLimit is the time in which all must be done once faults have
	// stopped (L8).
	drainLimit = 10 * time.Minute
)

// paced is how long something lasts that was drawn for virtual time.
func (s *sim) paced(d time.Duration) time.Duration { return d / s.pace }

// shared is what runs have in common, made once: none of it changes.
type shared struct {
	codec   *schemas.Codec
	profile *profile.Profile
	centres profile.CentreSet
}

// sim is one run.
type sim struct {
	seed      uint64
	shared    *shared
	scene     *scene
	faults    *faults
	network   *kfake.VirtualNetwork
	cluster   *kfake.Cluster
	servers   map[string]*server
	sources   map[string]config.Source
	blobs     *blobs
	control   *control
	warehouse *warehouse
	tracker   *tracker
	history   *history
	planes    planes
	deadDial  time.Duration     // how long a dead process waits for a connection
	pace      time.Duration     // how many times faster than drawn all goes
	instead   map[string]string // roles that are struck in the place of drawn ones
	begun     time.Time
	remains   sync.WaitGroup // of killed processes
	running   sync.WaitGroup // members
	ctx       context.Context
	noFaults  bool
	drawn     int // parts

	mu         sync.Mutex
	hosted     map[string][]byte // what was put on the servers, by server and path (L7)
	members    []*simulated
	trace      []string
	violations []string
}

// tracef notes what happens, for people.
func (s *sim) tracef(who, format string, args ...any) {
	line := fmt.Sprintf("%9.3fs  %-12s %s", time.Since(s.begun).Seconds(), who, fmt.Sprintf(format, args...))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, line)
	if os.Getenv("SIM_DEBUG") != "" {
		fmt.Fprintln(os.Stderr, line)
	}
}

// violate notes that a law does not hold.
func (s *sim) violate(law, format string, args ...any) {
	text := law + ": " + fmt.Sprintf(format, args...)
	s.tracef("LAW", "%s", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.violations, text) {
		s.violations = append(s.violations, text)
	}
}

// logger puts what a process warns of into the trace.
func (s *sim) logger(p *proc) *slog.Logger {
	return slog.New(&traceHandler{s: s, p: p})
}

type traceHandler struct {
	s *sim
	p *proc
}

func (h *traceHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (h *traceHandler) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h *traceHandler) WithGroup(string) slog.Handler                { return h }

func (h *traceHandler) Handle(_ context.Context, r slog.Record) error {
	if h.p.isDead() {
		return nil
	}
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "stack" {
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		}
		return true
	})
	h.s.tracef(h.p.name, "%s%s", r.Message, b.String())
	return nil
}

// run runs a seed in a bubble and returns what it found.
func run(t *testing.T, sh *shared, seed uint64, faultless bool) (out *sim) {
	synctest.Test(t, func(t *testing.T) {
		out = newSim(t, sh, seed, faultless, 1)
		out.planes = models{out}
		out.play()
		out.planes.laws()
		out.end()
	})
	return out
}

func newSim(t *testing.T, sh *shared, seed uint64, faultless bool, pace time.Duration) *sim {
	rng := rand.New(rand.NewPCG(seed, 0x7472696275746172))
	s := &sim{seed: seed, shared: sh, scene: drawScene(rng), network: &kfake.VirtualNetwork{}, servers: map[string]*server{}, sources: map[string]config.Source{},
		blobs: &blobs{data: map[string][]byte{}}, begun: time.Now(), noFaults: faultless, hosted: map[string][]byte{}, pace: pace, deadDial: dialTimeout}
	s.scene.early = drawEarly(seed)
	many := 3 + rng.IntN(15)
	if rng.IntN(10) == 0 || faultless {
		s.noFaults, many = true, 0
	}
	s.faults = drawFaults(rng, many)
	if !s.noFaults {
		s.faults.events = append(s.faults.events, drawIllnesses(rng)...)
	}
	if pace == 1 { // in real time they would take long
		s.scene.files = append(s.scene.files, drawDrips(seed)...)
	}
	s.drawn = s.parts()
	s.leaveOut(os.Getenv(envWithout))
	s.control, s.warehouse, s.tracker, s.history = newControl(s), newWarehouse(s), newTracker(s), newHistory(s)
	for source, at := range sceneSources() {
		s.sources[source] = config.Source{ID: source, URL: sourceURL(source)}
		if s.servers[at] == nil {
			s.servers[at] = &server{s: s, name: at, limit: s.scene.limits[at], files: map[string]*hosted{}, left: map[string]time.Time{}, open: map[*session]bool{}, ill: map[string]illness{}}
		}
	}
	full := func(topics ...string) []string {
		out := make([]string, len(topics))
		for i, topic := range topics {
			out[i] = kafka.TopicName(prefix, topic)
		}
		return out
	}
	many2 := slices.DeleteFunc(topicsOf(), func(topic string) bool { return topic == schemas.DocumentOrderedTopic })
	var err error
	s.cluster, err = kfake.NewCluster(kfake.NumBrokers(s.scene.brokers), kfake.Ports(ports(s.scene.brokers)...), kfake.ListenFn(s.network.Listen),
		kfake.GroupMinSessionTimeout(time.Second),
		kfake.BrokerConfigs(s.brokerConfigs()),
		kfake.SeedTopics(s.scene.partitions, full(many2...)...), kfake.SeedTopics(1, full(schemas.DocumentOrderedTopic)...),
		kfake.SeedTopics(1, kafka.DLQName(prefix, schemas.DownloadRequestedTopic, "download"), kafka.DLQName(prefix, schemas.DownloadFinishedTopic, "unzip"), kafka.DLQName(prefix, schemas.DocumentExtractedTopic, "validate")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// brokerConfigs shortens what the broker decides where groups are balanced by
// it: 45 s until a dead member is missed cost nothing in virtual time only.
func (s *sim) brokerConfigs() map[string]string {
	if s.pace == 1 {
		return nil
	}
	return map[string]string{
		"group.consumer.session.timeout.ms":    fmt.Sprint(s.paced(sessionTimeout).Milliseconds()),
		"group.consumer.heartbeat.interval.ms": fmt.Sprint(s.paced(sessionTimeout).Milliseconds() / 3),
	}
}

func ports(n int) (out []int) {
	for i := range n {
		out = append(out, 9092+i)
	}
	return out
}

// play lets everything run, first with faults, then without, until all is
// done or the limit has come.
func (s *sim) play() {
	ctx, cancel := context.WithCancel(context.Background())
	s.ctx = ctx
	// As the embedded broker does; Apache Kafka misses no dead member.
	guarded := broker.RemoveDeadMembers(ctx, s.cluster, slog.New(slog.DiscardHandler), kgo.Dialer(s.network.DialContext))
	for _, f := range s.scene.files {
		s.host(f)
	}
	for _, e := range s.faults.events {
		time.AfterFunc(s.paced(e.at), func() {
			if s.faults.isOver() {
				return
			}
			s.faults.strike()
			s.tracef("sim", "FAULT %s", e.what)
			e.run(s)
		})
	}
	for _, role := range s.planes.roles() {
		for range s.scene.members[role] {
			s.more(role)
		}
	}
	s.planes.schedule()
	tick := time.NewTicker(pollEvery)
	look := time.NewTicker(500 * time.Millisecond)
	stop := time.NewTimer(s.paced(faultPhase))
	if s.noFaults {
		stop.Reset(s.paced(s.scene.settled()))
	}
	limit := time.NewTimer(faultPhase + s.planes.drainLimit())
	var quiet bool
	for done := false; !done; {
		select {
		case <-tick.C:
			s.planes.schedule()
		case <-stop.C:
			quiet = true
			s.stopFaults()
		case <-look.C:
			if s.planes == (models{s}) { // else goroutines are those of all seeds played at once
				s.lawL9Running()
			}
			done = quiet && len(s.planes.pending()) == 0
		case <-limit.C:
			done = true
		}
	}
	tick.Stop()
	look.Stop()
	limit.Stop()
	s.tracef("sim", "done")
	if left := s.planes.pending(); len(left) > 0 {
		s.violate("L8", "%v after the faults stopped there is pending: %s", s.planes.drainLimit(), strings.Join(left, "; "))
	}
	s.planes.settle()
	cancel()
	s.running.Wait()
	s.remains.Wait()
	guarded()
}

// stopFaults ends all that goes wrong: who was stopped goes on, who died is
// started again anyway.
func (s *sim) stopFaults() {
	s.tracef("sim", "no more faults (%d struck)", s.faults.struck)
	s.faults.stop()
	for _, v := range s.servers {
		v.mu.Lock()
		clear(v.ill)
		for _, f := range v.files {
			f.lie = 0
		}
		v.mu.Unlock()
	}
	for _, m := range s.all() {
		if p, _ := m.now(); p != nil {
			p.resume(nil)
		}
	}
}

func (f *faults) isOver() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// end closes what is left, so that the bubble is empty.
func (s *sim) end() {
	s.cluster.Close()
	synctest.Wait()
}

func (s *sim) all() []*simulated {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.members)
}

func (s *sim) of(role string) (out []*simulated) {
	role = s.cast(role)
	for _, m := range s.all() {
		if m.role == role {
			out = append(out, m)
		}
	}
	return out
}

// cast is who plays a role.
func (s *sim) cast(role string) string { return cmp.Or(s.instead[role], role) }

// more starts one more member of a role.
func (s *sim) more(role string) {
	role = s.cast(role)
	s.mu.Lock()
	n := 1
	for _, m := range s.members {
		if m.role == role {
			n++
		}
	}
	m := &simulated{role: role, name: fmt.Sprintf("%s-%d", role, n), left: make(chan struct{})}
	s.members = append(s.members, m)
	s.mu.Unlock()
	s.running.Go(func() { s.supervise(s.ctx, m) })
}

// strike does something to one process of a role.
func (s *sim) strike(role string, pick int, deed func(*proc)) {
	all := s.of(role)
	if p, _ := all[pick%len(all)].now(); p != nil {
		deed(p)
	}
}

// restart ends one process of a role in good order.
func (s *sim) restart(role string, pick int) {
	all := s.of(role)
	if _, stop := all[pick%len(all)].now(); stop != nil {
		stop()
	}
}

// host puts a file on its servers, at its time.
func (s *sim) host(f *sceneFile) {
	put := func(n int) func() {
		return func() {
			mtime := s.begun.Add(-24*time.Hour + time.Duration(n)*time.Hour)
			for i, source := range f.sources {
				v := s.servers[sceneSources()[source]]
				v.mu.Lock()
				key := source + "/" + f.action + "/" + f.name
				h := v.files[key]
				if h == nil {
					h = &hosted{slow: f.slow, drip: f.class == classDrip}
					v.files[key] = h
				}
				if n > 0 && h.mtime.Equal(mtime) {
					v.mu.Unlock()
					continue // a transfer was faster
				}
				h.bytes, h.mtime, h.next = f.versions[n].bytes, mtime, nil
				if i == 0 && f.ownCorrupt {
					h.bytes = append([]byte("damaged"), h.bytes[:len(h.bytes)/2]...)
				}
				s.puts(v, key, h.bytes)
				if f.sum && !f.ownCorrupt || f.class == classBadSum {
					sum := refOf(h.bytes).MD5
					if f.class == classBadSum {
						sum = refOf([]byte("something else")).MD5
					}
					text := []byte(sum + "  " + f.name + "\n")
					v.files[key+".md5"] = &hosted{bytes: text, mtime: mtime}
					s.puts(v, key+".md5", text)
				}
				v.mu.Unlock()
			}
			s.tracef("sources", "%s/%s is there in version %d", f.action, f.name, n)
		}
	}
	time.AfterFunc(s.paced(f.appears), func() {
		put(0)()
		if len(f.versions) > 1 {
			v := s.servers[sceneSources()[f.sources[0]]]
			v.mu.Lock()
			v.files[f.sources[0]+"/"+f.action+"/"+f.name].next = put(1)
			v.mu.Unlock()
		}
	})
	if f.changes > 0 {
		time.AfterFunc(s.paced(f.changes), put(1))
	}
	if f.leaves > 0 {
		time.AfterFunc(s.paced(f.leaves), func() {
			for _, source := range f.sources {
				v := s.servers[sceneSources()[source]]
				v.mu.Lock()
				key := source + "/" + f.action + "/" + f.name
				delete(v.files, key)
				v.left[key] = time.Now()
				s.puts(v, key, nil)
				v.mu.Unlock()
			}
			s.tracef("sources", "%s/%s is gone", f.action, f.name)
		})
	}
}

// settled is when the sources change no more.
func (sc *scene) settled() time.Duration {
	last := time.Second
	for _, f := range sc.files {
		last = max(last, f.appears, f.changes, f.leaves)
	}
	return last + time.Second
}

// drawIllnesses are what servers suffer from, each for a while.
func drawIllnesses(rng *rand.Rand) (out []event) {
	kinds := []illness{stalls, truncates, drops, refuses, lies, replaces, partial}
	for range rng.IntN(4) {
		kind := kinds[rng.IntN(len(kinds))]
		name := []string{"one.example:22", "two.example:22"}[rng.IntN(2)]
		at := time.Duration(rng.Int64N(int64(faultPhase)))
		for_ := time.Duration(1+rng.IntN(15)) * time.Second
		out = append(out, event{at, fmt.Sprintf("%s %s for %v", name, kind, for_), func(s *sim) { s.servers[name].suffer(kind) }},
			event{at + for_, fmt.Sprintf("%s no longer %s", name, kind), func(s *sim) { s.servers[name].recover(kind) }})
	}
	return out
}

func (v *server) suffer(x illness) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ill[string(x)] = x
	if x == lies {
		for _, f := range v.files {
			f.lie = 7
		}
	}
}

func (v *server) recover(x illness) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.ill, string(x))
	if x == lies {
		for _, f := range v.files {
			f.lie = 0
		}
	}
}

var (
	_ net.Conn   = (*conn)(nil)
	_ sink.Store = (*feed)(nil)
)
