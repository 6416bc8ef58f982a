package insert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/kafka"
	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/test/corpus"
)

// ordered is a corpus as sequence would order it, in a real topic.
type ordered struct {
	t      testing.TB
	blobs  *blob.Dir
	events []*schemas.DocumentOrdered
	codec  *schemas.Codec
}

// order puts the corpus' files into a blob store and orders its documents,
// centre by centre, as the oracle says.
func order(t testing.TB, c *corpus.Corpus, codec *schemas.Codec) *ordered {
	t.Helper()
	dir := t.TempDir()
	if err := c.Write(filepath.Join(dir, "sources")); err != nil {
		t.Fatal(err)
	}
	store, err := blob.NewDir(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	p, err := profile.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	centres, err := profile.NewCentreSet(p.Centres...)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]map[string]archive.Member{} // by action/name
	shas := map[string]string{}
	for _, f := range c.Oracle.Files {
		shas[f.Action+"/"+f.File] = f.SHA256
	}
	err = filepath.WalkDir(filepath.Join(dir, "sources"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		id := filepath.Base(filepath.Dir(path)) + "/" + e.Name()
		found, err := storeFile(t.Context(), store, path, shas[id])
		if found != nil {
			members[id] = found
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &ordered{t: t, blobs: store, codec: codec}
	last := ""
	var versions []*schemas.DocumentOrdered
	end := func() {
		o.events = append(o.events, versions...)
		versions = nil
		if last != "" {
			o.events = append(o.events, &schemas.DocumentOrdered{Scope: schemas.Scope{Centre: last}, What: schemas.PositionBatchEnd, Batch: "batch-" + last, Domain: last, Number: 1})
		}
	}
	seen := map[string]bool{}
	for _, at := range c.Oracle.Order {
		if at.Centre != last {
			end()
			last = at.Centre
		}
		id := at.Action + "/" + at.File
		m, ok := members[id][at.Document]
		if !ok {
			t.Fatalf("%s has no document %s", id, at.Document)
		}
		z, bad := p.ParseZip(at.File, centres)
		if bad != nil {
			t.Fatal(bad)
		}
		d, bad := p.ParseDocument(at.Document, centres)
		if bad != nil {
			t.Fatal(bad)
		}
		file := schemas.FileID(at.Action, at.File)
		look := epoch0
		ev := &schemas.DocumentOrdered{
			Scope: schemas.Scope{Run: schemas.LiveRun, Session: "session", Centre: at.Centre}, FileRef: schemas.FileRef{File: file, FileName: at.File, Action: at.Action},
			DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(file, at.Document), Entry: at.Document, Ordinal: int32(m.Ordinal), Archive: shas[id],
				Offset: m.Offset, Packed: m.CompressedSize, Size: m.Size, Method: int32(m.Method), CRC32: int64(m.CRC32), SHA256: m.SHA256, MD5: m.MD5},
			DocumentName: schemas.DocumentName{Kind: d.Kind, DocCentre: d.Centre, DocDate: d.Date.Format(time.DateOnly), DocInc: d.Increment},
			What:         schemas.PositionDocument, Batch: "batch-" + at.Centre, Domain: at.Centre, Number: 1, Attempt: 1, Download: shas[id], Unzip: "done",
			FileDate: z.Date.Format(time.DateOnly), FileInc: z.Increment, RankOwn: true, RankTime: &look, RankOrdinal: 1, Result: schemas.Valid,
		}
		o.events = append(o.events, ev)
		if !seen[id] {
			seen[id] = true
			v := *ev
			v.What, v.DocumentRef, v.DocumentName = schemas.PositionVersion, schemas.DocumentRef{Archive: shas[id]}, schemas.DocumentName{}
			versions = append(versions, &v)
		}
	}
	end()
	o.events = append(o.events, &schemas.DocumentOrdered{Scope: schemas.Scope{Session: "session"}, What: schemas.PositionSession})
	for i, ev := range o.events {
		ev.Position = int64(i) + 1
	}
	return o
}

// storeFile stores a file whose bytes are the expected ones, and lists its members.
func storeFile(ctx context.Context, store *blob.Dir, path, sha string) (map[string]archive.Member, error) {
	w, err := store.Create(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if err := copyFile(w, path); err != nil {
		return nil, err
	}
	ref, err := w.Commit()
	if err != nil || ref.SHA256 != sha {
		return nil, err
	}
	b, err := store.Open(ctx, sha)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	a, err := archive.Open(b, b.Size(), archive.DefaultLimits())
	if refused := (*archive.RefusedError)(nil); errors.As(err, &refused) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	err = a.Verify(ctx)
	if refused := (*archive.RefusedError)(nil); errors.As(err, &refused) {
		return nil, nil
	}
	out := map[string]archive.Member{}
	for _, m := range a.Members() {
		if m.Document {
			out[m.Name] = m
		}
	}
	return out, err
}

// produce writes the order to a new topic.
// record is a position as it is published.
func (o *ordered) record(ev *schemas.DocumentOrdered) *kgo.Record {
	o.t.Helper()
	r, err := o.codec.Encode(schemas.Message{ID: fmt.Sprint("ordered-", ev.Position), Topic: schemas.DocumentOrderedTopic, Key: ev.Domain, Stage: "sequence", Time: epoch0, Body: ev})
	if err != nil {
		o.t.Fatal(err)
	}
	return kafka.ToKgo("t", r)
}

func (o *ordered) produce(bootstrap []string, events ...*schemas.DocumentOrdered) {
	o.t.Helper()
	client, err := kgo.NewClient(append(kafka.Bootstrap(bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		o.t.Fatal(err)
	}
	defer client.Close()
	topic := kafka.TopicName("t", schemas.DocumentOrderedTopic)
	if _, err := kadm.NewClient(client).CreateTopic(o.t.Context(), 1, 1, nil, topic); err != nil && !strings.Contains(err.Error(), "EXISTS") {
		o.t.Fatal(err)
	}
	var records []*kgo.Record
	for _, ev := range events {
		records = append(records, o.record(ev))
	}
	if err := client.ProduceSync(o.t.Context(), records...).FirstErr(); err != nil {
		o.t.Fatal(err)
	}
}
