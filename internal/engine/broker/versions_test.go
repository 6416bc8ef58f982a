package broker

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What the encoder makes fits its shape, to the last byte; what counts more
// tagged fields than it has is refused before the decoder sees it.
func TestShapesAreThoseOfTheProtocol(t *testing.T) {
	b := open(t, Options{DataDir: t.TempDir(), Addr: "127.0.0.1:0"})
	keys := b.door.users[Reader].keys
	flexible := 0
	for key, v := range keys {
		for version := v.least; version <= v.most; version++ {
			req := kmsg.RequestForKey(key)
			req.SetVersion(version)
			if !req.IsFlexible() || key == int16(kmsg.ApiVersions) {
				continue
			}
			flexible++
			shape, known := shapeOf(kmsg.Key(key), version)
			if !known {
				t.Errorf("%s %d is served and its shape is not known", kmsg.NameForKey(key), version)
			}
			r := &requests{rng: rand.New(rand.NewPCG(1, uint64(version))), b: b, format: kmsg.NewRequestFormatter()}
			for range 50 {
				r.fill(reflect.ValueOf(req).Elem())
				req.SetVersion(version)
				body := req.AppendTo(nil)
				if !fits(shape, body) {
					t.Fatalf("%s %d: a request does not fit: %x", kmsg.NameForKey(key), version, body)
				}
				if fits(shape, body[:len(body)-1]) {
					t.Fatalf("%s %d: one that is cut off fits: %x", kmsg.NameForKey(key), version, body)
				}
				many := binary.AppendUvarint(body[:len(body)-1], math.MaxUint32)
				raw := binary.BigEndian.AppendUint32(nil, uint32(11+len(many)))
				raw = binary.BigEndian.AppendUint16(raw, uint16(key))
				raw = binary.BigEndian.AppendUint16(raw, uint16(version))
				raw = append(append(raw, 0, 0, 0, 1, 0xff, 0xff, 0), many...)
				if _, err := decode(raw, keys); err == nil {
					t.Fatalf("%s %d: four thousand million tagged fields are read", kmsg.NameForKey(key), version)
				}
			}
		}
	}
	if flexible < 10 {
		t.Errorf("%d versions with tagged fields are served", flexible)
	}
}

// Clients before 3.8.1 end at a feature whose least version is 0; and no client
// is told of what is not served.
func TestFeaturesAreThoseThatAreServed(t *testing.T) {
	b := open(t, Options{DataDir: t.TempDir(), Addr: "127.0.0.1:0"})
	for version, want := range map[int16][]string{3: {"metadata.version"}, 4: {"group.version", "metadata.version"}} {
		resp := b.door.versions(&kmsg.ApiVersionsRequest{Version: version}, b.door.users[Reader]).(*kmsg.ApiVersionsResponse)
		var got []string
		for _, f := range resp.SupportedFeatures {
			if got = append(got, f.Name); version < 4 && f.MinVersion < 1 {
				t.Errorf("%s from %d in version %d", f.Name, f.MinVersion, version)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d: %s", version, diff)
		}
	}
}

// Clients take the older way, which works: AdminClient ends at the answer to
// DescribeTopicPartitions, and newer versions of DescribeLogDirs tell of a volume
// that there isn't.
func TestWhatIsAnsweredWronglyIsNotServed(t *testing.T) {
	b := open(t, Options{DataDir: t.TempDir(), Addr: "127.0.0.1:0"})
	for name, r := range b.door.users {
		if _, ok := r.keys[int16(kmsg.DescribeTopicPartitions)]; ok {
			t.Errorf("%s may ask for partitions of topics", name)
		}
		if v := r.keys[int16(kmsg.DescribeLogDirs)]; v.most != 1 {
			t.Errorf("%s may ask for sizes of logs up to version %d, want 1", name, v.most)
		}
	}
}
