package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"tributary/schemas"
	"tributary/schemas/registry"
)

func items(t *testing.T) []registry.Item {
	t.Helper()
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	first := slices.DeleteFunc(slices.Clone(codec.Versions()), func(v schemas.Version) bool { return v.Version > 1 }) // of newer ones see TestNewVersion
	return registry.Items(first, func(topic string) string { return "lab." + topic + ".v1" })
}

func open(t *testing.T, o registry.Options) *registry.Registry {
	t.Helper()
	r, err := registry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func apply(t *testing.T, r *registry.Registry, items []registry.Item) []registry.Change {
	t.Helper()
	var changes []registry.Change
	if err := r.Apply(t.Context(), items, func(c registry.Change) { changes = append(changes, c) }); err != nil {
		t.Fatal(err)
	}
	return changes
}

// Every schema is registered with its own id below its topic's subject, in a
// stretch of IMPORT, and what was done is what was planned. Once more changes
// nothing.
func TestApply(t *testing.T) {
	f := newFake(t)
	r := open(t, registry.Options{URL: f.URL()})
	all := items(t)
	plan, err := r.Plan(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan) != 2*len(all) {
		t.Fatalf("%d changes planned for %d schemas, want one to register and one to set the compatibility each", len(plan), len(all))
	}
	if f.SubjectExists(all[0].Subject) {
		t.Fatal("Plan has changed the registry")
	}
	if diff := cmp.Diff(plan, apply(t, r, all)); diff != "" {
		t.Errorf("planned (-) and done (+):\n%s", diff)
	}
	client, err := sr.NewClient(sr.URLs(f.URL()))
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range all {
		got, err := client.SchemaByVersion(t.Context(), item.Subject, item.Version)
		if err != nil || got.ID != item.ID {
			t.Errorf("%s version %d has the id %d (%v), want %d", item.Subject, item.Version, got.ID, err, item.ID)
		}
		want := []string{"IMPORT " + item.Subject, "register " + item.Subject, "READWRITE " + item.Subject}
		if got := f.log[3*i : 3*i+3]; !slices.Equal(got, want) {
			t.Errorf("order of requests %v, want %v", got, want)
		}
		if level := client.Compatibility(t.Context(), item.Subject)[0]; level.Level != registry.Compatibility {
			t.Errorf("compatibility of %s is %s (%v)", item.Subject, level.Level, level.Err)
		}
	}
	if again := apply(t, r, all); len(again) != 0 {
		t.Errorf("a second time does %v", again)
	}
}

// A newer version of a schema joins the ones that are there.
func TestNewVersion(t *testing.T) {
	f := newFake(t)
	r := open(t, registry.Options{URL: f.URL()})
	old := parse(t, `{"type":"record","name":"E","fields":[]}`)
	grown := parse(t, `{"type":"record","name":"E","fields":[{"name":"a","type":"int","default":0}]}`)
	first := registry.Item{Subject: "s-value", Version: 1, ID: 7, Schema: old}
	second := registry.Item{Subject: "s-value", Version: 2, ID: 9, Schema: grown}
	apply(t, r, []registry.Item{first})
	want := []registry.Change{{Kind: registry.Register, Subject: "s-value", Version: 2, ID: 9}}
	if diff := cmp.Diff(want, apply(t, r, []registry.Item{first, second})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	// An older program finds more than it knows, and leaves it.
	if left := apply(t, r, []registry.Item{first}); len(left) != 0 {
		t.Errorf("an older program does %v", left)
	}
}

// Registries may write a schema's attributes in another order.
func TestSameSchemaWrittenOtherwise(t *testing.T) {
	f := newFake(t)
	r := open(t, registry.Options{URL: f.URL()})
	f.SeedSchema("s-value", 1, 7, sr.Schema{Type: sr.TypeAvro, Schema: `{"name":"E", "fields":[{"type":"int","name":"a"}], "type":"record"}`})
	if err := f.SetCompat("s-value", registry.Compatibility); err != nil {
		t.Fatal(err)
	}
	item := registry.Item{Subject: "s-value", Version: 1, ID: 7, Schema: parse(t, `{"type":"record","name":"E","fields":[{"name":"a","type":"int"}]}`)}
	if changes := apply(t, r, []registry.Item{item}); len(changes) != 0 {
		t.Errorf("changes %v, want none", changes)
	}
}

func parse(t *testing.T, text string) *avro.Schema {
	t.Helper()
	s, err := avro.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An id or a version that something else has is said, all of them, and nothing
// is changed.
func TestConflicts(t *testing.T) {
	other := sr.Schema{Type: sr.TypeAvro, Schema: `"string"`}
	f := newFake(t)
	all := items(t)
	f.SeedSchema("elsewhere-value", 1, all[0].ID, other)
	f.SeedSchema(all[1].Subject, all[1].Version, 5, sr.Schema{Type: sr.TypeAvro, Schema: all[1].Schema.String()})
	f.SeedSchema(all[2].Subject, all[2].Version, all[2].ID, sr.Schema{Type: sr.TypeAvro, Schema: `"long"`})
	err := open(t, registry.Options{URL: f.URL()}).Apply(t.Context(), all, func(c registry.Change) { t.Errorf("did %s", c) })
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"the id 1005 of lab.document.extracted.v1-value version 1", "another id (5, ours is 1007)", "version 1 of lab.document.validated.v1-value is another schema"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	var conflict *registry.Conflict
	if !errors.As(err, &conflict) {
		t.Errorf("no Conflict in %v", err)
	}
	if len(f.log) > 0 {
		t.Errorf("requests that change something: %v", f.log)
	}
}

// A registration that fails leaves its subject in READWRITE, not in IMPORT.
func TestFailureRestoresMode(t *testing.T) {
	f := newFake(t)
	all := items(t)
	f.broken = all[0].Subject
	r := open(t, registry.Options{URL: f.URL()})
	err := r.Apply(t.Context(), all, func(registry.Change) {})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("error %v, want the registry's", err)
	}
	if got := f.mode[all[0].Subject]; got != "READWRITE" {
		t.Errorf("mode %q after a failure, want READWRITE", got)
	}
	f.broken = ""
	apply(t, r, all)
}

// A subject that a killed process left in IMPORT is brought back.
func TestModeLeftBehind(t *testing.T) {
	f := newFake(t)
	all := items(t)
	r := open(t, registry.Options{URL: f.URL()})
	apply(t, r, all)
	if err := f.SetMode(all[3].Subject, sr.ModeImport); err != nil {
		t.Fatal(err)
	}
	want := []registry.Change{{Kind: registry.SetMode, Subject: all[3].Subject, From: "IMPORT", To: "READWRITE"}}
	if diff := cmp.Diff(want, apply(t, r, all)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A registry that knows the mode but ignores ids is found out at the first
// schema, which is removed again.
func TestIgnoredIDs(t *testing.T) {
	f := srfake.New()
	t.Cleanup(f.Close)
	f.Intercept(func(w http.ResponseWriter, q *http.Request) bool {
		if q.Method != http.MethodPost || !strings.HasSuffix(q.URL.Path, "/versions") {
			return false
		}
		var s sr.SubjectSchema
		if err := json.NewDecoder(q.Body).Decode(&s); err != nil {
			t.Error(err)
		}
		id, _, err := f.RegisterSchema(strings.Split(q.URL.Path, "/")[2], s.Schema)
		return err == nil && json.NewEncoder(w).Encode(map[string]int{"id": id}) == nil
	})
	all := items(t)
	err := open(t, registry.Options{URL: f.URL()}).Apply(t.Context(), all, func(c registry.Change) { t.Errorf("did %s", c) })
	var wrong *registry.WrongID
	if !errors.As(err, &wrong) || wrong.Got == wrong.Item.ID {
		t.Fatalf("error %v, want a WrongID", err)
	}
	if f.SubjectExists(all[0].Subject) {
		if _, there := f.GetSchema(all[0].Subject, 1); there {
			t.Error("the schema with the wrong id is still there")
		}
	}
}

// What keeps a registry from taking schemas is said with its remedy.
func TestRefusals(t *testing.T) {
	all := items(t)
	tests := []struct {
		name, want string
		answer     srfake.Interceptor
		url        string
	}{
		{name: "unreachable", url: "http://127.0.0.1:1", want: "check schema_registry.url"},
		{name: "no registry", want: "no schema registry at this address (404)", answer: func(w http.ResponseWriter, q *http.Request) bool {
			http.NotFound(w, q)
			return true
		}},
		{name: "read-only", want: "takes no schemas for lab.document.extracted.v1-value: its mode is READONLY_OVERRIDE", answer: func(w http.ResponseWriter, q *http.Request) bool {
			if q.URL.Path != "/mode" {
				return false
			}
			_, _ = io.WriteString(w, `{"mode":"READONLY_OVERRIDE"}`)
			return true
		}},
		{name: "modes can't be changed", want: "mode.mutability=true", answer: func(w http.ResponseWriter, q *http.Request) bool {
			return q.Method == http.MethodPut && refuse(w, http.StatusUnprocessableEntity, 42205, "Mode changes are not allowed")
		}},
		{name: "not allowed", want: "refused (403): check schema_registry.username", answer: func(w http.ResponseWriter, _ *http.Request) bool {
			return refuse(w, http.StatusForbidden, 40301, "User is denied")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t)
			o := registry.Options{URL: f.URL()}
			if test.url != "" {
				o.URL = test.url
			}
			if test.answer != nil {
				f.Intercept(test.answer)
			}
			err := open(t, o).Apply(t.Context(), all, func(c registry.Change) { t.Errorf("did %s", c) })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// The user and the password go along, and no error tells them.
func TestAuthentication(t *testing.T) {
	f := newFake(t, srfake.WithAuth("Basic YW5uOnMzY3JldA==")) // ann:s3cret
	apply(t, open(t, registry.Options{URL: f.URL(), Username: "ann", Password: "s3cret"}), items(t))
	_, err := open(t, registry.Options{URL: f.URL(), Username: "ann", Password: "wr0ng"}).Plan(t.Context(), items(t))
	if err == nil || !strings.Contains(err.Error(), "refused (403)") || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("error %v, want a refusal that does not tell the password", err)
	}
	if _, err := registry.New(registry.Options{URL: "http://ann:s3cret@host"}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v, want one that does not tell the password", err)
	}
}

// A consumer that knows nothing but the registry decodes our records.
func TestConsumerDecodes(t *testing.T) {
	f := newFake(t)
	apply(t, open(t, registry.Options{URL: f.URL()}), items(t))
	client, err := sr.NewClient(sr.URLs(f.URL()))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	value, err := codec.EncodeBody(schemas.FileDiscoveredTopic, &schemas.FileDiscovered{Scope: schemas.Scope{Source: "harwell"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := decode(t, t.Context(), client, value)["source"]; got != "harwell" {
		t.Errorf("source = %v, want harwell", got)
	}
}

// decode reads a value with what the registry has below the id in it.
func decode(t *testing.T, ctx context.Context, client *sr.Client, value []byte) map[string]any {
	t.Helper()
	id, body, err := new(sr.ConfluentHeader).DecodeID(value)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := client.SchemaByID(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := avro.Parse(schema.Schema)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if _, err := parsed.Decode(body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
