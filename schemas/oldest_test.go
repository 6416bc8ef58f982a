package schemas

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
)

// TestTheOldestVersionThatSaysAllIsWritten compares what is written of many bodies with
// what comes back from each version: the oldest that brings everything back is right.
func TestTheOldestVersionThatSaysAllIsWritten(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	written := map[int]int{}
	for _, topic := range topicsInOrder() {
		for _, body := range bodies(topic) {
			value, err := c.EncodeBody(topic, body)
			if err != nil {
				t.Fatal(err)
			}
			id := int(binary.BigEndian.Uint32(value[1:5]))
			written[id]++
			if want := oldest(t, c, topic, body); id != want.ID {
				t.Errorf("%s is written with the id %d, not with %d, version %d: %+v", topic, id, want.ID, want.Version, body)
			}
			_, got, err := c.DecodeBody(value)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(as(t, c, versionsOf(c, topic)[0], body), got); d != "" {
				t.Errorf("%s written (-) and read (+):\n%s", topic, d)
			}
		}
	}
	for _, v := range c.Versions() {
		if written[v.ID] == 0 {
			t.Errorf("no body is written as version %d of %s", v.Version, v.Topic)
		}
	}
}

// TestOlderReadersStopOnlyAtWhatTheyWouldMiss reads what is written by codecs of programs
// that lack one version after another.
func TestOlderReadersStopOnlyAtWhatTheyWouldMiss(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	read, stopped := 0, 0
	for _, topic := range topicsInOrder() {
		versions := versionsOf(c, topic)
		for i, v := range versions[1:] {
			before, err := newCodec(slices.DeleteFunc(slices.Clone(c.Versions()), func(of Version) bool { return of.Topic == topic && of.Version > v.Version }))
			if err != nil {
				t.Fatal(err)
			}
			for _, body := range bodies(topic) {
				value, err := c.EncodeBody(topic, body)
				if err != nil {
					t.Fatal(err)
				}
				_, got, err := before.DecodeBody(value)
				if oldest(t, c, topic, body).Version > v.Version {
					stopped++
					if !errors.Is(err, ErrUnknownSchema) {
						t.Errorf("a reader of %s up to version %d reads %+v: %v", topic, v.Version, body, err)
					}
					continue
				}
				read++
				if err != nil {
					t.Errorf("a reader of %s up to version %d, %d behind, can't read %+v: %v", topic, v.Version, i+1, body, err)
					continue
				}
				if d := cmp.Diff(as(t, c, versions[0], body), got); d != "" {
					t.Errorf("%s written (-) and read by a program before (+):\n%s", topic, d)
				}
				if again, err := before.EncodeBody(topic, body); err != nil || !slices.Equal(value, again) {
					t.Errorf("a program before writes other bytes of %+v: %v", body, err)
				}
			}
		}
	}
	if read == 0 || stopped == 0 {
		t.Errorf("older readers read %d bodies and stopped at %d; some are expected of both", read, stopped)
	}
}

// TestWhatVersionsAdd is about schemas of all kinds of changes, the oldest first.
func TestWhatVersionsAdd(t *testing.T) {
	type item struct {
		A string `avro:"a"`
		B int32  `avro:"b"`
	}
	type body struct {
		Scope
		Name  string            `avro:"name"`
		More  map[string]string `avro:"more"`
		Of    item              `avro:"of"`
		Items []item            `avro:"items"`
	}
	record := func(name, fields string) string {
		return `{"type":"record","name":"` + name + `","fields":[` + fields + `]}`
	}
	const (
		name    = `{"name":"name","type":"string","default":""}`
		more    = `{"name":"more","type":{"type":"map","values":"string"},"default":{}}`
		a       = `{"name":"a","type":"string","default":""}`
		b       = `{"name":"b","type":"int","default":0}`
		session = `{"name":"session","type":"string","default":""}`
	)
	of := func(fields string) string { return `{"name":"of","type":` + record("item", fields) + `}` }
	items := func(fields string) string {
		return `{"name":"items","type":{"type":"array","items":` + record("item", fields) + `},"default":[]}`
	}
	for what, tc := range map[string]struct {
		schemas []string
		body    body
		want    int // the version that is written
	}{
		"one version":                       {[]string{name}, body{Name: "x"}, 1},
		"a text, empty":                     {[]string{name, name + "," + session}, body{Name: "x"}, 1},
		"a text":                            {[]string{name, name + "," + session}, body{Scope: Scope{Session: "x"}}, 2},
		"what no version has":               {[]string{name, name + "," + session}, body{Of: item{A: "x"}}, 1},
		"put before others":                 {[]string{name, session + "," + name}, body{Scope: Scope{Session: "x"}}, 2},
		"a map, empty":                      {[]string{name, name + "," + more}, body{More: map[string]string{}}, 1},
		"a map":                             {[]string{name, name + "," + more}, body{More: map[string]string{"x": ""}}, 2},
		"a list, empty":                     {[]string{name, name + "," + items(a)}, body{Items: []item{}}, 1},
		"a list":                            {[]string{name, name + "," + items(a)}, body{Items: []item{{}}}, 2},
		"within a record, nothing":          {[]string{of(a), of(a + "," + b)}, body{Of: item{A: "x"}}, 1},
		"within a record":                   {[]string{of(a), of(a + "," + b)}, body{Of: item{B: 1}}, 2},
		"within a list, nothing":            {[]string{items(a), items(a + "," + b)}, body{Items: []item{{A: "x"}, {}}}, 1},
		"within a list":                     {[]string{items(a), items(a + "," + b)}, body{Items: []item{{}, {B: 1}}}, 2},
		"three versions, nothing":           {[]string{name, name + "," + session, name + "," + session + "," + more}, body{Name: "x"}, 1},
		"three versions, of the second":     {[]string{name, name + "," + session, name + "," + session + "," + more}, body{Scope: Scope{Session: "x"}}, 2},
		"three versions, of the third":      {[]string{name, name + "," + session, name + "," + session + "," + more}, body{More: map[string]string{"x": ""}}, 3},
		"taken away":                        {[]string{name + "," + session, name}, body{}, 2},
		"taken away, and added since":       {[]string{name + "," + session, name, name + "," + more}, body{}, 2},
		"a default that Go doesn't have":    {[]string{name, name + `,{"name":"session","type":"string","default":"?"}`}, body{}, 2},
		"within a map":                      {[]string{`{"name":"more","type":{"type":"map","values":` + record("x", a) + `}}`, `{"name":"more","type":{"type":"map","values":` + record("x", a+","+b) + `}}`}, body{}, 2},
		"of another type":                   {[]string{`{"name":"of","type":"int","default":0}`, `{"name":"of","type":"long","default":0}`}, body{}, 2},
		"only words that people read there": {[]string{name, `{"name":"name","type":"string","default":"","doc":"what it is called"}`}, body{}, 2},
	} {
		t.Run(what, func(t *testing.T) {
			var versions []Version
			for i, s := range tc.schemas {
				versions = append(versions, Version{Topic: "t", Version: i + 1, Schema: avro.MustParse(record("body", s))})
			}
			got, err := newWriter(event[body](), versions).version(&tc.body)
			if err != nil || got.Version != tc.want {
				t.Errorf("written as version %d, want %d: %v", got.Version, tc.want, err)
			}
		})
	}
}

func TestABodyOfAnotherTopicIsRefused(t *testing.T) {
	c, err := NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []any{nil, UnzipFinished{}, &FileDiscovered{}} {
		_, err := c.EncodeBody(UnzipFinishedTopic, body)
		if err == nil {
			t.Errorf("a %T was written", body)
			continue
		}
		t.Log(err)
	}
}

// versionsOf lists a topic's versions, the newest first.
func versionsOf(c *Codec, topic string) []Version {
	of := slices.DeleteFunc(slices.Clone(c.Versions()), func(v Version) bool { return v.Topic != topic })
	slices.Reverse(of)
	return of
}

// oldest is the oldest version from which a body comes back as from the newest.
func oldest(t *testing.T, c *Codec, topic string, body any) Version {
	t.Helper()
	versions := versionsOf(c, topic)
	at := versions[0]
	for _, v := range versions[1:] {
		if !cmp.Equal(as(t, c, v, body), as(t, c, versions[0], body)) {
			break
		}
		at = v
	}
	return at
}

// as is what comes back of a body that is written as a version.
func as(t *testing.T, c *Codec, v Version, body any) any {
	t.Helper()
	value := binary.BigEndian.AppendUint32([]byte{0}, uint32(v.ID))
	value, err := v.Schema.AppendEncode(value, body)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := c.DecodeBody(value)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// bodies are an empty one, a full one, one of each field alone, and many of some fields.
func bodies(topic string) (all []any) {
	e, _ := typeOf(topic)
	some := func(says func() bool) {
		body := e.make()
		scattered(reflect.ValueOf(body).Elem(), says)
		all = append(all, body)
	}
	all = append(all, e.make())
	some(func() bool { return false })
	fields := 0
	some(func() bool { fields++; return true })
	for i := range fields {
		n := -1
		some(func() bool { n++; return n == i })
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		one := 1 + r.IntN(20)
		some(func() bool { return r.IntN(one) == 0 })
	}
	return all
}

// scattered fills a body's fields as says tells of one after another. Lists have two
// items, which may be empty.
func scattered(v reflect.Value, says func() bool) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			scattered(v.Field(i), says)
		}
	case v.Kind() == reflect.Slice:
		items := reflect.MakeSlice(v.Type(), 2, 2)
		v.Set(items)
		for i := range 2 {
			scattered(items.Index(i), says)
		}
	case says():
		filled(v, 0)
	}
}
