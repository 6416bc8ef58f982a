package broker

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"reflect"
	"strconv"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tributary/schemas"
)

// Whoever sends bytes to the broker: the kinds of connections that there are.
const (
	asStranger = iota
	asReader
	asAnnouncer
	asOperator
	asOwner
	kindsOfClients
)

const announced = "tributary." + schemas.FileDiscoveredTopic + ".v1"

// attacked is a broker with a log that must stay as it is.
type attacked struct {
	t testing.TB
	b *Broker
}

func underAttack(t testing.TB) *attacked {
	a := &attacked{t: t, b: open(t, Options{DataDir: t.TempDir(), Addr: "127.0.0.1:0", NoSync: true, Logger: slog.New(slog.DiscardHandler)})}
	addr := a.b.Addrs()[0]
	createTopic(t, addr, "kept", nil)
	createTopic(t, addr, announced, nil)
	produce(t, addr, "kept", "a", "b", "c")
	return a
}

// send sends bytes as a client of a kind and hangs up. It returns when the door
// has taken all that it takes.
func (a *attacked) send(kind int, data []byte) {
	a.t.Helper()
	if kind == asStranger {
		c, err := net.Dial("tcp", a.b.TCP())
		if err != nil {
			a.t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(data) // the door may hang up before all is written
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		return
	}
	d := a.b.door
	r := map[int]*role{asReader: d.users[Reader], asAnnouncer: d.users[Announcer], asOperator: d.users[Operator], asOwner: d.owner}[kind]
	ours, theirs := pair(a.t)
	ended := make(chan struct{})
	d.ready <- d.guard(&peeked{theirs, bufio.NewReader(theirs)}, r, "the fuzzer", func() { close(ended) })
	_, _ = ours.Write(data)
	_ = ours.Close()
	<-ended
}

// pair is a connection, both ends.
func pair(t testing.TB) (ours, theirs net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		_ = f.Close() // it was duplicated
	}
	return ends[0], ends[1]
}

// stands fails unless the broker answers and has its log.
func (a *attacked) stands() {
	a.t.Helper()
	if s, e := end(a.t, a.b.Addrs()[0], "kept"); s != 0 || e != 3 {
		a.t.Fatalf("the log reaches from %d to %d, want 0 to 3", s, e)
	}
}

// requests makes requests that are well formed and full of anything.
type requests struct {
	rng    *rand.Rand
	owner  bool // the log's owner may delete it: not in this test
	b      *Broker
	format *kmsg.RequestFormatter
}

func (r *requests) pick(of ...any) any { return of[r.rng.IntN(len(of))] }

// frame is a request of a key with everything in it drawn.
func (r *requests) frame(key, version int16) []byte {
	req := kmsg.RequestForKey(key)
	if req == nil {
		return r.raw(key, version, []byte{0xff, 0xff})
	}
	req.SetVersion(version)
	r.fill(reflect.ValueOf(req).Elem())
	req.SetVersion(version)
	if r.owner {
		spare(req)
	}
	return r.format.AppendRequest(nil, req, 7)
}

func (r *requests) raw(key, version int16, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	out = binary.BigEndian.AppendUint16(out, uint16(key))
	out = binary.BigEndian.AppendUint16(out, uint16(version))
	return append(binary.BigEndian.AppendUint32(out, 7), body...)
}

// spare keeps the owner from what the owner may do to the log that is compared.
func spare(req kmsg.Request) {
	switch req := req.(type) {
	case *kmsg.DeleteTopicsRequest:
		req.Topics, req.TopicNames = nil, []string{"other"}
	case *kmsg.DeleteRecordsRequest:
		for i := range req.Topics {
			req.Topics[i].Topic = "other"
		}
	case *kmsg.ProduceRequest:
		for i := range req.Topics {
			req.Topics[i].Topic, req.Topics[i].TopicID = announced, [16]byte{}
		}
	}
}

func (r *requests) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			switch name := v.Type().Field(i).Name; {
			case name == "Version" || name == "UnknownTags":
			case name == "MemberID" || name == "Generation" || name == "MemberEpoch":
				r.fillMember(v.Field(i))
			case name == "SessionTimeoutMillis" || name == "RebalanceTimeoutMillis":
				v.Field(i).SetInt(int64(r.pick(6000, 6000, 300_000, -1, math.MaxInt32).(int)))
			case name == "Records" && v.Field(i).Kind() == reflect.Slice:
				v.Field(i).SetBytes(r.batch())
			default:
				r.fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(r.pick("", "\x00\x01", string(make([]byte, 300))).(string)))
			return
		}
		n := r.rng.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			r.fill(v.Index(i))
		}
	case reflect.Pointer:
		if r.rng.IntN(3) == 0 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem())
	case reflect.String:
		v.SetString(r.pick("kept", announced, "g", "g", "g", "tributary.download", "", "other", "retention.ms", "consumer", "range", string(make([]byte, 1000))).(string))
	case reflect.Bool:
		v.SetBool(r.rng.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.number(v.Type().Bits()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(r.rng.IntN(3)))
	case reflect.Float64:
		v.SetFloat(r.pick(0.0, -1.0, math.Inf(1), math.NaN()).(float64))
	case reflect.Array:
		if r.rng.IntN(2) == 0 {
			v.Index(0).SetUint(uint64(r.rng.IntN(256)))
		}
	}
}

// fillMember names a member that there is, or its generation: most of what a
// group does is for those alone.
func (r *requests) fillMember(v reflect.Value) {
	info := r.b.cluster.GroupInfo("g")
	switch {
	case v.Kind() == reflect.Pointer || info == nil || len(info.Members) == 0 || r.rng.IntN(4) == 0:
		r.fill(v)
	case v.Kind() == reflect.String:
		v.SetString(info.Members[r.rng.IntN(len(info.Members))].MemberID)
	default:
		v.SetInt(int64(info.Epoch))
	}
}

func (r *requests) number(bits int) int64 {
	most := int64(1)<<(bits-1) - 1
	return r.pick(int64(0), int64(0), int64(1), int64(2), int64(-1), int64(-2), int64(100), min(most, 6000), most, -most-1).(int64)
}

// batch is a batch of records whose header may say anything.
func (r *requests) batch() []byte {
	record := kmsg.Record{Value: []byte("v")}
	record.Length = int32(len(record.AppendTo(nil)) - 1)
	b := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, NumRecords: 1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, Records: record.AppendTo(nil)}
	if r.rng.IntN(2) == 0 {
		field := reflect.ValueOf(&b).Elem()
		one := field.Field(r.rng.IntN(field.NumField()))
		r.fill(one)
	}
	if b.Length == 0 {
		b.Length = int32(49 + len(b.Records))
	}
	raw := b.AppendTo(nil)
	if r.rng.IntN(4) > 0 && len(raw) > 21 {
		binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	}
	return raw
}

// spoil changes bytes, cuts, and lies about sizes.
func (r *requests) spoil(frame []byte) []byte {
	out := append([]byte(nil), frame...)
	switch r.rng.IntN(5) {
	case 0:
		out = out[:r.rng.IntN(len(out))]
	case 1: // cut off, and it says so
		out = out[:min(len(out), 12+r.rng.IntN(len(out)))]
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	case 2: // a length or count
		at := 4 + r.rng.IntN(len(out)-7)
		binary.BigEndian.PutUint32(out[at:], uint32(r.number(32)))
	case 3:
		binary.BigEndian.PutUint32(out, uint32(r.pick(0, 7, 1<<20+1, 4<<20+1, 100<<20, math.MaxInt32, math.MaxUint32).(int)))
	default:
		for range 1 + r.rng.IntN(4) {
			out[4+r.rng.IntN(len(out)-4)] = byte(r.rng.IntN(256))
		}
	}
	return out
}

// Whatever comes through a door, in whatever version, whole or spoilt: the
// process lives, the broker answers, and the log is as it was.
func TestNoRequestEndsTheBroker(t *testing.T) {
	a := underAttack(t)
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	// For whoever has more time.
	if n, err := strconv.Atoi(os.Getenv("TRIBUTARY_DOOR_ROUNDS")); err == nil {
		rounds = n
	}
	seed, _ := strconv.ParseUint(os.Getenv("TRIBUTARY_SEED"), 10, 64)
	for kind := range kindsOfClients {
		r := &requests{rng: rand.New(rand.NewPCG(seed, uint64(kind))), owner: kind == asOwner, b: a.b, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("x"))}
		for range rounds {
			for key := int16(-1); key < kmsg.MaxKey+3; key++ {
				for _, data := range a.draw(r, kind, key) {
					a.send(kind, data)
				}
			}
		}
		a.stands()
	}
}

// draw makes one request or two for a key. What is spoilt has no tagged fields
// but where the door knows its shape: the library's decoder counts on for as many
// as a frame says, which is long.
func (a *attacked) draw(r *requests, kind int, key int16) [][]byte {
	most := int16(20)
	if req := kmsg.RequestForKey(key); req != nil {
		most = req.MaxVersion()
	}
	if plain, ok := a.b.door.users[Reader].keys[key]; ok && (kind != asOwner || r.rng.IntN(2) == 0) {
		version := plain.least + int16(r.rng.IntN(int(plain.most-plain.least)+1))
		return [][]byte{r.frame(key, version), r.spoil(r.frame(key, version))}
	}
	return [][]byte{r.frame(key, int16(r.rng.IntN(int(most)+2)))}
}

// What was found in the program before: fourteen bytes.
func TestAnUnknownKeyEndsOnlyItsConnection(t *testing.T) {
	a := underAttack(t)
	for kind := range kindsOfClients {
		a.send(kind, []byte("\x00\x00\x00\x0a\x27\x0f\x00\x00\x00\x00\x00\x01\xff\xff"))
		a.stands()
	}
}

func FuzzDoor(f *testing.F) {
	a := underAttack(f)
	for kind := range kindsOfClients {
		r := &requests{rng: rand.New(rand.NewPCG(2, uint64(kind))), owner: kind == asOwner, b: a.b, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("x"))}
		for key := range int16(3) {
			for _, data := range a.draw(r, kind, key) {
				f.Add(kind, data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		// The owner may do anything to the log, and is covered above.
		if kind < asStranger || kind >= asOwner {
			t.Skip()
		}
		one := &attacked{t, a.b}
		one.send(kind, data)
		one.stands()
	})
}
