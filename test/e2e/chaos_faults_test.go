package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tributary/internal/engine"
	"tributary/test/kafka"
	"tributary/test/wait"
)

// The kinds of fault. "all" mixes them.
const (
	faultKill       = "kill"       // kill -9 of a process
	faultPause      = "pause"      // SIGSTOP past the session time-out, then SIGCONT
	faultRoll       = "roll"       // processes stopped in order and started anew, one after another
	faultBroker     = "broker"     // kill -9 of the broker
	faultPostgres   = "postgres"   // kill -9 of Postgres alone
	faultClickHouse = "clickhouse" // kill -9 of ClickHouse alone
	faultDisk       = "disk"       // no space left below data_dir
	faultServers    = "servers"    // source servers cut off and back
)

// faultKinds are all kinds.
func faultKinds() []string {
	return []string{faultKill, faultPause, faultRoll, faultBroker, faultPostgres, faultClickHouse, faultDisk, faultServers}
}

// chaosSession is the session time-out of group members; a pause exceeds it.
const chaosSession = 6 * time.Second

// chaos makes faults, from a seed.
type chaos struct {
	f     *fleet
	rng   *rand.Rand
	kinds []string

	cut     map[string]time.Time // sources whose server is cut off until then
	full    time.Time            // the disk is full until then; zero: it is not
	held    map[string]int       // sessions that stopped processes held, by source
	limited bool                 // data_dir lies on a small filesystem
	replays *replaying           // nil: none are asked for
	orders  *ordering            // nil: nobody changes how sources stand

	cluster *kafka.Cluster // Apache Kafka in place of the embedded broker; nil: none
	down    int            // the broker of it that is down
	back    time.Time      // when it comes back; zero: none is down
}

// run makes faults for so long, and adds files meanwhile.
func (c *chaos) run(d time.Duration) {
	s := c.f.s
	over := time.Now().Add(d)
	pause := max(1500*time.Millisecond, d/100)
	added, fault := time.Now().Add(max(time.Second, d/30)), time.Now().Add(time.Second)
	c.f.wait(d, func() string {
		now := time.Now()
		c.tick(now)
		if c.replays != nil {
			c.tickReplay(now)
		}
		if c.orders != nil {
			c.tickOrder(now, false)
		}
		if now.After(over) {
			return ""
		}
		if now.After(added) {
			added = now.Add(max(time.Second, d/30))
			s.add(6)
		}
		if now.After(fault) {
			c.fault(now)
			fault = time.Now().Add(time.Duration(c.rng.ExpFloat64() * float64(pause)))
		}
		return "faults go on"
	})
	c.heal()
	if c.replays != nil {
		c.someReplay(s.t)
	}
	if c.orders != nil {
		c.ordered(s.t)
	}
}

// add brings more files while all run.
func (s *system) add(n int) {
	s.t.Helper()
	if err := s.corpus.Add(n); err != nil {
		s.t.Fatal(err)
	}
	if err := s.rig.Update(); err != nil {
		s.t.Fatal(err)
	}
}

// tick keeps up what lasts, and ends it when it is due.
func (c *chaos) tick(now time.Time) {
	for id, until := range c.cut {
		c.f.s.rig.Servers()[id].Drop()
		if now.After(until) {
			delete(c.cut, id)
		}
	}
	if !c.full.IsZero() && now.After(c.full) {
		c.emptyDisk()
	}
	if !c.back.IsZero() && now.After(c.back) {
		c.restartBroker()
	}
}

// heal ends all faults.
func (c *chaos) heal() {
	clear(c.cut)
	if !c.full.IsZero() {
		c.emptyDisk()
	}
	if !c.back.IsZero() {
		c.restartBroker()
	}
	c.f.heal()
	c.f.say("faults have stopped")
}

// fault makes one.
func (c *chaos) fault(now time.Time) {
	switch kind := c.kinds[c.rng.IntN(len(c.kinds))]; kind {
	case faultKill:
		c.kill(c.member())
	case faultPause:
		c.pause(now)
	case faultRoll:
		c.roll()
	case faultBroker:
		if c.cluster != nil {
			c.killBroker(now)
			return
		}
		c.kill(c.f.engines())
	case faultPostgres:
		c.killBelow("Postgres", func(pid int) bool { return processName(pid) == "postgres" })
	case faultClickHouse:
		c.killBelow("ClickHouse", func(pid int) bool { return slices.Contains(arguments(pid), engine.ChildCommand) })
	case faultDisk:
		c.fillDisk(now)
	case faultServers:
		c.cutServer(now)
	}
}

// member is any process but the engines.
func (c *chaos) member() *slot { return c.f.slots[1+c.rng.IntN(len(c.f.slots)-1)] }

func (c *chaos) kill(m *slot) {
	if m.p == nil || m.ended() {
		return
	}
	tree := m.name == enginesSlot && c.rng.IntN(2) == 0
	m.p.kill(tree)
	c.f.say("killed %s%s", m.name, map[bool]string{true: ", with all its engines"}[tree])
}

func (c *chaos) pause(now time.Time) {
	m, d := c.member(), chaosSession+time.Duration(c.rng.Int64N(int64(3*time.Second)))
	if c.rng.IntN(6) == 0 {
		m, d = c.f.engines(), time.Duration(c.rng.Int64N(int64(3*time.Second)))
	}
	if !m.runs() {
		return
	}
	m.p.pause()
	m.until = now.Add(d)
	for id, n := range c.sessions(m.p.cmd.Process.Pid) {
		c.held[id] += n
	}
	c.f.say("stopped %s for %s", m.name, d.Round(time.Millisecond))
}

// roll replaces three processes, one after another, as an upgrade does.
func (c *chaos) roll() {
	from := c.rng.IntN(len(c.f.slots) - 1)
	for i := range 3 {
		m := c.f.slots[1+(from+i)%(len(c.f.slots)-1)]
		if !m.runs() || !m.p.said(`"msg":"running"`) {
			continue
		}
		p := m.p
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		c.f.say("%s is replaced", m.name)
		if c.f.wait(wait.Patience(), func() string {
			select {
			case <-p.done:
				return ""
			default:
				return "it has not ended"
			}
		}) != "" {
			c.f.s.t.Errorf("%s has not ended %s after SIGTERM\n%s", m.name, wait.Patience(), p.tail())
			p.kill(false)
		} else if code := p.cmd.ProcessState.ExitCode(); code != 0 && len(c.kinds) == 1 {
			c.f.s.t.Errorf("%s: exit code %d after SIGTERM\n%s", m.name, code, p.tail())
		}
	}
}

// killBroker kills one of the brokers, once all have what the others have: of
// three that keep every record twice or more, one may be lost at a time.
func (c *chaos) killBroker(now time.Time) {
	if !c.back.IsZero() {
		return
	}
	for _, d := range c.f.s.listed() {
		for _, p := range d.Partitions {
			if len(p.ISR) < c.f.s.on.replicas {
				return
			}
		}
	}
	c.down = c.rng.IntN(c.f.s.on.replicas)
	d := time.Second + time.Duration(c.rng.Int64N(int64(3*time.Second)))
	c.back = now.Add(d)
	if err := c.cluster.Kill(c.down); err != nil {
		c.f.s.t.Fatal(err)
	}
	c.f.say("killed broker %d for %s", c.down, d.Round(time.Millisecond))
}

func (c *chaos) restartBroker() {
	c.back = time.Time{}
	if err := c.cluster.Restart(c.f.s.t.Context(), c.down); err != nil {
		c.f.s.t.Fatal(err)
	}
	c.f.say("broker %d is back", c.down)
}

// killBelow kills the topmost process below the engines that is the one.
func (c *chaos) killBelow(what string, is func(pid int) bool) {
	m := c.f.engines()
	if m.p == nil || m.ended() {
		return
	}
	for _, pid := range below(m.p.cmd.Process.Pid) {
		if is(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			c.f.say("killed %s", what)
			return
		}
	}
}

// cutServer cuts a source's server off.
func (c *chaos) cutServer(now time.Time) {
	ids := make([]string, 0, len(c.f.s.rig.Servers()))
	for id := range c.f.s.rig.Servers() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	id, d := ids[c.rng.IntN(len(ids))], time.Duration(c.rng.Int64N(int64(3*time.Second)))
	c.cut[id] = now.Add(d)
	c.f.say("cut the server of %s off for %s", id, d.Round(time.Millisecond))
}

// ballast is the file that fills the disk.
func (c *chaos) ballast() string { return filepath.Join(c.f.s.data(), "ballast") }

func (c *chaos) fillDisk(now time.Time) {
	if !c.limited || !c.full.IsZero() {
		return
	}
	f, err := os.Create(c.ballast())
	if err != nil {
		c.f.say("the disk can't be filled: %v", err)
		return
	}
	defer f.Close()
	// By halves of what is free, as others write too.
	for err = nil; err == nil || errors.Is(err, syscall.ENOSPC); {
		var has syscall.Statfs_t
		if err = syscall.Statfs(c.f.s.data(), &has); err != nil || has.Bavail == 0 {
			break
		}
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			err = syscall.Fallocate(int(f.Fd()), 0, info.Size(), int64(has.Bavail+1)/2*has.Bsize)
		}
	}
	if err != nil {
		c.f.s.t.Errorf("the disk does not get full: %v", err)
	}
	d := time.Second + time.Duration(c.rng.Int64N(int64(3*time.Second)))
	c.full = now.Add(d)
	c.f.say("the disk is full for %s", d.Round(time.Millisecond))
}

func (c *chaos) emptyDisk() {
	c.full = time.Time{}
	if err := os.Remove(c.ballast()); err != nil {
		c.f.s.t.Error(err)
	}
	c.f.say("the disk has room again")
}

// sessions are the connections that a process holds to the rig's servers.
func (c *chaos) sessions(pid int) map[string]int {
	mine := map[string]bool{} // inodes of sockets
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		c.f.s.t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
			mine[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		c.f.s.t.Fatal(err)
	}
	out := map[string]int{}
	for line := range bytes.Lines(table) {
		// number, local and remote address, state, …, inode.
		fields := strings.Fields(string(line))
		if len(fields) < 10 || !mine[fields[9]] {
			continue
		}
		for id, server := range c.f.s.rig.Servers() {
			var port int
			if _, err := fmt.Sscanf(server.Addr[strings.LastIndexByte(server.Addr, ':')+1:], "%d", &port); err != nil {
				c.f.s.t.Fatal(err)
			}
			if strings.HasSuffix(fields[2], fmt.Sprintf(":%04X", port)) {
				out[id]++
			}
		}
	}
	return out
}

// processName is the name of a process's program, arguments its command line.
func processName(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func arguments(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return strings.Split(string(b), "\x00")
}
