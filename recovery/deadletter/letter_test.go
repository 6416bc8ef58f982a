//go:build !race

package deadletter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/stage"
	"tributary/schemas"
	"tributary/schemas/schemastest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func codec(t testing.TB) *schemas.Codec { t.Helper(); return schemastest.Codec(t) }

// dead is a dead letter as a stage writes it.
func dead(t testing.TB, topic, stageName, class, text string, offset int64, body any) *kgo.Record {
	t.Helper()
	r := &kgo.Record{Key: []byte("k"), Value: []byte("line noise")}
	if body != nil {
		rec, err := codec(t).Encode(schemas.Message{ID: uuid.NewString(), Topic: topic, Key: "k", Stage: "test", Time: noon, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		r = kafka.ToKgo("test", rec)
	}
	r.Topic = kafka.DLQName("test", topic, stageName)
	for _, h := range [][2]string{
		{kafka.HeaderTopic, kafka.TopicName("test", topic)}, {kafka.HeaderPartition, "2"}, {kafka.HeaderOffset, fmt.Sprint(offset)},
		{kafka.HeaderTimestamp, noon.Format(time.RFC3339Nano)}, {kafka.HeaderErrorClass, class}, {kafka.HeaderError, text}, {kafka.HeaderAttempts, "3"},
		{kafka.HeaderFirstFailure, noon.Add(time.Minute).Format(time.RFC3339Nano)}, {kafka.HeaderLastFailure, noon.Add(time.Hour).Format(time.RFC3339Nano)},
	} {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
	}
	return r
}

func extracted(name, entry string) *schemas.DocumentExtracted {
	file := schemas.FileID("add", name)
	return &schemas.DocumentExtracted{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "h-sftp"}, FileRef: schemas.FileRef{File: file, FileName: name, Action: "add"},
		DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(file, entry), Entry: entry, Archive: "sha"}, Attempt: 4, Download: "sha", Unzip: "done"}
}

func requested(names ...string) *schemas.DownloadRequested {
	j := &schemas.DownloadRequested{Scope: schemas.Scope{Run: schemas.LiveRun, Source: "h-sftp"}, Job: uuid.NewString()}
	for _, n := range names {
		j.Files = append(j.Files, schemas.RequestFile{FileRef: schemas.FileRef{File: schemas.FileID("edit", n), FileName: n, Action: "edit"}, Centre: "H", Attempt: 2})
	}
	return j
}

func TestWhatALetterTells(t *testing.T) {
	r := dead(t, schemas.DocumentExtractedTopic, "validate", stage.ClassFailed, "the archive is damaged", 17, extracted("a.zip", "x.xml"))
	r.Partition, r.Offset, r.Timestamp = 1, 5, noon.Add(2*time.Hour)
	got := of(codec(t), "validate", schemas.DocumentExtractedTopic, r)
	file := schemas.FileID("add", "a.zip")
	want := &Letter{ID: "validate:1:5", Key: got.Key, Stage: "validate", Topic: schemas.DocumentExtractedTopic, Time: noon.Add(2 * time.Hour), Class: "failed", Error: "the archive is damaged",
		Attempts: 3, First: noon.Add(time.Minute), Last: noon.Add(time.Hour), OriginPartition: 2, OriginOffset: 17, OriginTime: noon,
		Run: schemas.LiveRun, Centre: "H", Source: "h-sftp", File: file, FileName: "a.zip", Action: "add", Document: schemas.DocumentID(file, "x.xml"), Entry: "x.xml",
		Archive: "sha", Attempt: 4, Download: "sha", Unzip: "done", Record: r}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *kgo.Record) bool { return a == b })); diff != "" {
		t.Errorf("letter (-want +got):\n%s", diff)
	}
	if got.Subject() != "add/a.zip/x.xml" {
		t.Errorf("it is about %q", got.Subject())
	}
	// Written twice, by members that died in between, it is one letter.
	r.Offset++
	if again := of(codec(t), "validate", schemas.DocumentExtractedTopic, r); again.Key != got.Key || again.ID == got.ID {
		t.Errorf("written twice it is %s %s and %s %s", got.ID, got.Key, again.ID, again.Key)
	}
	if other := of(codec(t), "validate", schemas.DocumentExtractedTopic, dead(t, schemas.DocumentExtractedTopic, "validate", "failed", "", 18, nil)); other.Key == got.Key {
		t.Error("letters of two records have one key")
	}
}

func TestLettersOfJobsAndOfNothing(t *testing.T) {
	one := of(codec(t), "download", schemas.DownloadRequestedTopic, dead(t, schemas.DownloadRequestedTopic, "download", "panic", "", 1, requested("a.zip")))
	if one.FileName != "a.zip" || one.File == "" || one.Attempt != 2 || one.Job != 0 {
		t.Errorf("a job of one file is %+v", one)
	}
	three := of(codec(t), "download", schemas.DownloadRequestedTopic, dead(t, schemas.DownloadRequestedTopic, "download", "panic", "", 1, requested("a.zip", "b.zip", "c.zip")))
	if three.File != "" || three.Job != 3 || three.Subject() != "edit/a.zip and 2 more" {
		t.Errorf("a job of three files is %+v", three)
	}
	if three.Trim(); three.Job != 3 || three.Subject() != "edit/a.zip and 2 more" || three.Record != nil {
		t.Errorf("trimmed it is %+v", three)
	}
	noise := dead(t, schemas.DocumentExtractedTopic, "validate", "undecodable", strings.Repeat("x", 5000), 1, nil)
	if l := of(codec(t), "validate", schemas.DocumentExtractedTopic, noise); l.Problem == "" || l.File != "" || len(l.Error) != maxText {
		t.Errorf("noise is %+v", l)
	}
	bad := extracted("a.zip", "x.xml")
	bad.File = "no id"
	if l := of(codec(t), "validate", schemas.DocumentExtractedTopic, dead(t, schemas.DocumentExtractedTopic, "validate", "panic", "", 1, bad)); l.File != "" {
		t.Errorf("a file that is none: %+v", l)
	}
}

func TestLineage(t *testing.T) {
	base := Letter{Stage: "validate", File: "f", Document: "d", Class: "panic", Error: "panic: index 17 out of range at 0xc000123456", Archive: "one"}
	same, cause, document, version := base, base, base, base
	same.Error, cause.Error, document.Document, version.Archive = "panic: index 3 out of range at 0xc0aa", "panic: nil map", "e", "two"
	if base.Lineage() != same.Lineage() || base.Lineage() != version.Lineage() {
		t.Error("the same cause has two lineages")
	}
	if base.Lineage() == cause.Lineage() || base.Lineage() == document.Lineage() {
		t.Error("two causes or documents have one lineage")
	}
}

func TestIDs(t *testing.T) {
	stageName, partition, offset, err := ParseID(ID("unzip", 3, 99))
	if err != nil || stageName != "unzip" || partition != 3 || offset != 99 {
		t.Errorf("read back: %s %d %d, %v", stageName, partition, offset, err)
	}
	for _, bad := range []string{"", "unzip", "unzip:1", "unzip:1:2:3", "unzip:x:1", "unzip:1:-1", "unzip:-1:1", "unzip:1:99999999999999999999"} {
		if _, _, _, err := ParseID(bad); err == nil {
			t.Errorf("%q is taken for an id", bad)
		}
	}
}

func TestFilter(t *testing.T) {
	l := &Letter{Class: "panic", Error: "Index out of Range", Centre: "H", Source: "h-sftp", Action: "add", FileName: "a.zip", Entry: "x.xml", Time: noon}
	job := &Letter{Class: "panic", Files: []string{"add/b.zip", "edit/c.zip"}, Job: 2, Time: noon}
	parse := func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }
	for _, tt := range []struct {
		where   string
		one, of bool // whether the letter is meant, and the job
	}{
		{"", true, true}, {"exception=panic", true, true}, {"exception=PANIC", true, true}, {"exception=stalled", false, false},
		{"error=out of range", true, false}, {"centre=h", true, false}, {"centre=J", false, false}, {"source=h-sftp", true, false},
		{"file=a.zip", true, false}, {"file=add/a.zip", true, false}, {"file=edit/a.zip", false, false}, {"file=*.zip", true, true}, {"file=c.zip", false, true}, {"file=edit/*", false, true},
		{"document=x.xml", true, false}, {"document=*.xml", true, false}, {"since=2026-03-01T12:00:00Z", true, true}, {"since=2026-03-01T12:00:01Z", false, false},
		{"until=2026-03-01T12:00:00Z", false, false}, {"until=2026-03-01T12:00:01Z", true, true}, {"exception=panic|centre=J", false, false}, {"exception=panic|centre=H", true, false},
	} {
		var f Filter
		if tt.where != "" {
			if err := f.Where(strings.Split(tt.where, "|"), parse); err != nil {
				t.Errorf("%s: %v", tt.where, err)
			}
		}
		if f.Match(l) != tt.one || f.Match(job) != tt.of {
			t.Errorf("%q means the letter: %v, the job: %v; want %v, %v", tt.where, f.Match(l), f.Match(job), tt.one, tt.of)
		}
	}
	for _, bad := range []string{"panic", "exception=", "colour=red", "since=yesterday", "file=[", "exception=panic|exception=stalled"} {
		if err := new(Filter).Where(strings.Split(bad, "|"), parse); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestNewest(t *testing.T) {
	n := newest{n: 3}
	for i := range 5000 {
		n.add(&Standing{Letter: &Letter{ID: fmt.Sprint(i), Time: noon.Add(time.Duration(i*7919%5000) * time.Second)}})
		if len(n.held) > 1000 {
			t.Fatalf("%d letters are held to find 3", len(n.held))
		}
	}
	var got []string
	for _, l := range n.list() {
		got = append(got, fmt.Sprint(int(l.Time.Sub(noon).Seconds())))
	}
	if diff := cmp.Diff([]string{"4999", "4998", "4997"}, got); diff != "" {
		t.Errorf("the newest (-want +got):\n%s", diff)
	}
}
