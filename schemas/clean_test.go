package schemas_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/schemas"
	"tributary/test/texts"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"plain, é and ж":               "plain, é and ж",
		"tab\tand\nlines":              "tab\tand\nlines",
		"joined \u200d and \u200c":     "joined \u200d and \u200c",
		"nul\x00":                      "nul\uFFFD",
		"\xff\xfe bad":                 "\uFFFD bad",
		"cr\r\n":                       "cr \n",
		"\x1b[31m\u009b31m\x7f":        "\uFFFD[31m\uFFFD31m\uFFFD",
		"\u202egnp.exe\u2066\u200f":    "\uFFFDgnp.exe\uFFFD\uFFFD",
		"\u2028\u2029\ufeff\u00ad":     "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\U000E0041 hidden tag letter": "\uFFFD hidden tag letter",
	} {
		if got := schemas.Clean(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func bodies() map[string]func() any {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return map[string]func() any{
		schemas.FileDiscoveredTopic:    func() any { return &schemas.FileDiscovered{ModTime: &at} },
		schemas.DownloadRequestedTopic: func() any { return &schemas.DownloadRequested{Files: make([]schemas.RequestFile, 2)} },
		schemas.DownloadFinishedTopic:  func() any { return &schemas.DownloadFinished{} },
		schemas.UnzipFinishedTopic:     func() any { return &schemas.UnzipFinished{} },
		schemas.DocumentExtractedTopic: func() any { return &schemas.DocumentExtracted{} },
		schemas.DocumentValidatedTopic: func() any { return &schemas.DocumentValidated{} },
		schemas.DocumentOrderedTopic:   func() any { return &schemas.DocumentOrdered{} },
		schemas.RecordPassedOverTopic:  func() any { return &schemas.RecordPassedOver{} },
		schemas.StatusChangedTopic: func() any {
			return &schemas.StatusChanged{Passed: make([]schemas.PassedPhase, 1), Errors: make([]schemas.ErrorDetail, 2), Attributes: map[string]string{"word": "text"}}
		},
	}
}

// TestDecodedTextsAreClean puts hostile texts into every field of every topic's
// events, and into their headers: what is decoded is clean and bounded, is the same
// each time, and stays the same when it is written and read again.
func TestDecodedTextsAreClean(t *testing.T) {
	c, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	all := bodies()
	for _, v := range c.Versions() {
		if all[v.Topic] == nil {
			t.Fatalf("no body of %s is tried", v.Topic)
		}
	}
	// Short enough as they come, too long when they are clean: of words, and of actions.
	growing := []string{strings.Repeat("\x00", 700), strings.Repeat("\x00", 1500)}
	for topic, newBody := range all {
		for _, hostile := range append(texts.Hostile(), growing...) {
			cases := texts.Spoiled(newBody, hostile)
			if len(cases) < 5 {
				t.Fatalf("%s has %d texts", topic, len(cases))
			}
			for _, tc := range cases {
				value, err := c.EncodeBody(topic, tc.Body)
				if err != nil {
					t.Fatal(err)
				}
				r := schemas.Record{Value: value, Headers: []schemas.Header{
					{Key: "ce_id", Value: []byte(hostile)}, {Key: "ce_source", Value: []byte(hostile)}, {Key: "ce_subject", Value: []byte(hostile)}, {Key: "traceparent", Value: []byte(hostile)},
				}}
				m, err := c.Decode(r)
				if err != nil {
					t.Fatalf("%s with %.20q in %s: %v", topic, hostile, tc.Field, err)
				}
				for _, text := range append(leaves(reflect.ValueOf(m.Body)), m.ID, m.Stage, m.Subject, m.Traceparent) {
					if wrong := texts.Wrong(text); wrong != "" {
						t.Errorf("%s with %.20q in %s is decoded with %s", topic, hostile, tc.Field, wrong)
					}
				}
				again, err := c.Decode(r)
				if d := cmp.Diff(m, again); err != nil || d != "" {
					t.Errorf("%s with %.20q in %s is decoded differently: %v\n%s", topic, hostile, tc.Field, err, d)
				}
				if value, err = c.EncodeBody(topic, m.Body); err != nil {
					t.Fatal(err)
				}
				_, body, err := c.DecodeBody(value)
				if d := cmp.Diff(m.Body, body); err != nil || d != "" {
					t.Errorf("%s with %.20q in %s is not the same when it is read again: %v\n%s", topic, hostile, tc.Field, err, d)
				}
			}
		}
	}
}

// TestDecodedMomentsCanBeHeld puts the earliest and the latest moment that an event can hold
// into each of its fields: what is decoded is of a year that JSON and all stores take, and is
// the same when it is written and read again.
func TestDecodedMomentsCanBeHeld(t *testing.T) {
	c, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	for topic, newBody := range bodies() {
		for _, tc := range texts.Extreme(newBody) {
			value, err := c.EncodeBody(topic, tc.Body)
			if err != nil {
				t.Fatal(err)
			}
			_, body, err := c.DecodeBody(value)
			if err != nil {
				t.Fatalf("%s with an extreme %s: %v", topic, tc.Field, err)
			}
			if _, err := json.Marshal(body); err != nil {
				t.Errorf("%s with an extreme %s can't be held: %v", topic, tc.Field, err)
			}
			if value, err = c.EncodeBody(topic, body); err != nil {
				t.Fatal(err)
			}
			_, again, err := c.DecodeBody(value)
			if d := cmp.Diff(body, again); err != nil || d != "" {
				t.Errorf("%s with an extreme %s is not the same when it is read again: %v\n%s", topic, tc.Field, err, d)
			}
		}
	}
}

// leaves are all texts of a value.
func leaves(v reflect.Value) (out []string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Time]() {
			out = leaves(v.Elem())
		}
	case reflect.String:
		out = []string{v.String()}
	case reflect.Struct:
		for i := range v.NumField() {
			out = append(out, leaves(v.Field(i))...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, leaves(v.Index(i))...)
		}
	case reflect.Map:
		for iter := v.MapRange(); iter.Next(); {
			out = append(out, iter.Key().String(), iter.Value().String())
		}
	}
	return out
}

// TestDifferentNamesStayDifferent holds what identity needs: names and ids that
// are too long are told apart by all of their bytes, and ids by every byte.
func TestDifferentNamesStayDifferent(t *testing.T) {
	c, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	decoded := func(id, name string) (string, string) {
		value, err := c.EncodeBody(schemas.UnzipFinishedTopic, &schemas.UnzipFinished{FileRef: schemas.FileRef{FileName: name}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Decode(schemas.Record{Value: value, Headers: []schemas.Header{{Key: "ce_id", Value: []byte(id)}}})
		if err != nil {
			t.Fatal(err)
		}
		return m.ID, m.Body.(*schemas.UnzipFinished).FileName
	}
	long := strings.Repeat("n", 5000)
	id1, name1 := decoded("x\x00", long+"1")
	id2, name2 := decoded("x\x01", long+"2")
	if id1 == id2 || name1 == name2 {
		t.Errorf("ids %q and %q, names %q and %q are the same", id1, id2, name1, name2)
	}
	if id, name := decoded("as it is", "a name\tof letters.zip"); id != "as it is" || name != "a name\tof letters.zip" {
		t.Errorf("what is clean became %q and %q", id, name)
	}
	if id, _ := decoded("zzz\x00", ""); id != schemas.ID("event_id", "zzz\x00") {
		t.Errorf("the id became %q", id)
	}
}

// TestCleanOnceIsClean holds that what is clean stays as it is.
func TestCleanOnceIsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		once := schemas.Clean(text)
		if twice := schemas.Clean(once); twice != once || texts.Wrong(once) != "" {
			t.Fatalf("%q becomes %q, then %q", text, once, twice)
		}
	})
}
