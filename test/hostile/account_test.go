package hostile

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A2: to another account of the machine no port answers without a password, no
// file of the data directory can be read and no socket reached, whatever it
// sends ends nothing, and all that goes on beside it.
func TestAnotherAccount(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]string{"default": "", "a port configured": "kafka: {listen_address: '127.0.0.1:0'}\n", "a door to Postgres": "postgres: {listen: '127.0.0.1:0'}\n"} {
		t.Run(name, func(t *testing.T) {
			w := setUp(t, 4, settings()+yaml)
			p := w.up()
			pids := append(below(p.cmd.Process.Pid), p.cmd.Process.Pid)
			ports, sockets := listening(t, pids)
			if yaml == "" && len(ports) > 0 {
				t.Errorf("ports %v are open though none was configured", ports)
			}
			w.must(func() string {
				if ports, sockets = listening(t, pids); yaml != "" && len(ports) == 0 {
					return "no port is open though one was configured"
				}
				return ""
			})
			for _, port := range ports {
				for _, wrong := range knock(port) {
					t.Error(wrong)
				}
			}
			if os.Getuid() == 0 {
				for _, wrong := range w.asNobody(sockets) {
					t.Error(wrong)
				}
			}
			w.must(w.goodInserted)
			if p.ended() {
				t.Errorf("the process has ended\n%s", p.tail())
			}
			if peak := p.peak(); peak > maxMemory {
				t.Errorf("the process took %d MiB", peak>>20)
			}
		})
	}
}

// listening are the TCP ports and the unix sockets that processes listen on.
func listening(t *testing.T, pids []int) (ports []string, sockets []string) {
	t.Helper()
	inodes := map[string]bool{}
	for _, pid := range pids {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
				inodes[strings.Trim(to[len("socket:"):], "[]")] = true
			}
		}
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6", "/proc/net/unix"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			switch {
			case strings.HasSuffix(table, "unix") && len(f) > 7 && inodes[f[6]] && f[5] == "01":
				sockets = append(sockets, f[7])
			case !strings.HasSuffix(table, "unix") && len(f) > 9 && inodes[f[9]] && f[3] == "0A":
				_, hex, _ := strings.Cut(f[1], ":")
				var port int
				_, _ = fmt.Sscanf(hex, "%X", &port)
				ports = append(ports, fmt.Sprintf("127.0.0.1:%d", port))
			}
		}
	}
	return ports, sockets
}

// knock sends to a port what nobody should be answered, and what should end
// nothing. It returns what was answered all the same.
func knock(port string) (wrong []string) {
	for _, req := range []kmsg.Request{
		kmsg.NewPtrMetadataRequest(), kmsg.NewPtrListGroupsRequest(), kmsg.NewPtrDescribeClusterRequest(), kmsg.NewPtrDeleteTopicsRequest(),
		kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrFetchRequest(), kmsg.NewPtrProduceRequest(), kmsg.NewPtrAlterUserSCRAMCredentialsRequest(),
		kmsg.NewPtrSASLAuthenticateRequest(), kmsg.NewPtrInitProducerIDRequest(),
	} {
		for version := range req.MaxVersion() + 1 {
			req.SetVersion(version)
			got := exchange(port, kmsg.NewRequestFormatter().AppendRequest(nil, req, 1))
			// Postgres' door says that it understands nothing, by its message E.
			if len(got) > 0 && got[0] != 'E' && req.Key() != int16(kmsg.SASLAuthenticate) {
				wrong = append(wrong, fmt.Sprintf("%s: %T of version %d gets an answer of %d bytes without a password", port, req, version, len(got)))
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 4))
	for i := range 300 {
		exchange(port, oddFrame(rng, i))
	}
	return wrong
}

// oddFrame is a frame that no client sends.
func oddFrame(rng *rand.Rand, i int) []byte {
	switch i {
	case 0: // the fourteen bytes: an unknown key
		return []byte("\x00\x00\x00\x0a\x27\x0f\x00\x00\x00\x00\x00\x01\xff\xff")
	case 1:
		return []byte("\xff\xff\xff\xff")
	case 2:
		return []byte("\x7f\xff\xff\xff" + strings.Repeat("A", 1<<20))
	case 3:
		return []byte("GET / HTTP/1.1\r\n\r\n")
	}
	body := make([]byte, 10+rng.IntN(60))
	for j := range body {
		body[j] = byte(rng.Uint32())
	}
	binary.BigEndian.PutUint16(body, uint16(rng.IntN(100))) // key
	binary.BigEndian.PutUint16(body[2:], uint16(rng.IntN(16)))
	if rng.IntN(2) == 0 {
		binary.BigEndian.PutUint16(body[8:], 0xffff)
	}
	size := len(body)
	if rng.IntN(4) == 0 {
		size += rng.IntN(10) - 5
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(size)), body...)
}

// exchange sends bytes to a port and returns what comes back within a moment.
func exchange(port string, b []byte) []byte {
	c, err := net.Dial("tcp", port)
	if err != nil {
		return nil
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
	_, _ = c.Write(b)
	_ = c.(*net.TCPConn).CloseWrite()
	got, _ := io.ReadAll(io.LimitReader(bufio.NewReader(c), 1<<20))
	return got
}

// probeEnv makes this test binary look at what an account can reach.
const probeEnv = "TRIBUTARY_HOSTILE_PROBE"

// asNobody looks at the data directory and at sockets as another account.
func (w *world) asNobody(sockets []string) (wrong []string) {
	w.t.Helper()
	const nobody = 65534
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		w.t.Fatal(err)
	}
	copied := filepath.Join(w.dir, "probe")
	if err := os.WriteFile(copied, b, 0o755); err != nil {
		w.t.Fatal(err)
	}
	at, _ := w.endpoints()
	asked, err := json.Marshal(append([]string{filepath.Join(w.dir, "data")}, append(sockets, at.Kafka...)...))
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(copied)
	cmd.Dir, cmd.Env = "/", []string{probeEnv + "=" + string(asked)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("look as another account: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		wrong = append(wrong, "another account "+strings.TrimSpace(line))
	}
	if len(wrong) > 12 {
		wrong = append(wrong[:12], fmt.Sprintf("and %d more", len(wrong)-12))
	}
	return wrong
}

// probe says what the account that runs it can read, write and reach.
func probe(asked string) {
	var of []string
	if err := json.Unmarshal([]byte(asked), &of); err != nil {
		panic(err)
	}
	_ = filepath.WalkDir(of[0], func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what it can't enter it can't read
		}
		switch {
		case d.IsDir():
			if names, err := os.ReadDir(path); err == nil {
				fmt.Println("can list", path, len(names))
			}
		case d.Type().IsRegular():
			for _, mode := range []int{os.O_RDONLY, os.O_WRONLY} {
				if f, err := os.OpenFile(path, mode, 0); err == nil {
					_ = f.Close()
					fmt.Println("can open", path)
				}
			}
		}
		return nil
	})
	// Paths that can be guessed need not be listed.
	for _, name := range []string{"engines.json", "lock", "kafka", "postgres/pg_hba.conf", "clickhouse/status", "blobs"} {
		if f, err := os.Open(filepath.Join(of[0], name)); err == nil {
			_ = f.Close()
			fmt.Println("can open", name)
		}
	}
	for _, at := range slices.Compact(of[1:]) {
		at = strings.TrimPrefix(at, "unix:")
		if !strings.HasPrefix(at, "/") && !strings.HasPrefix(at, "@") {
			continue
		}
		if c, err := net.Dial("unix", at); err == nil {
			_ = c.Close()
			fmt.Println("can connect to", at)
		}
	}
}
