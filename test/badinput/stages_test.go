package badinput

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing/fstest"
	"time"

	"tributary/consumers/unzip"
	"tributary/consumers/validate"
	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/document"
	"tributary/internal/mapping"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/internal/xsdcheck"
	"tributary/schemas"
)

// maxEvent is the largest event that a broker takes by default, in bytes.
const maxEvent = 1 << 20

// maxJudged is how many documents of one archive are judged: a case with more
// is about the archive.
const maxJudged = 20

// told is an end that the stages told of the file, or of one of its documents.
type told struct {
	Entry     string // empty for the file
	Phase     string
	Exception string
	Message   string
	Last      string // message of the last error
	Total     int    // errors that there are
	Line      int
	Column    int
}

func (t told) end() end { return end{t.Phase, t.Exception} }

// member is what a member of the stages has for as long as it lives, with its default
// limits. It is made once in a process, since schemas take longer to compile than most
// cases to judge.
type member struct {
	blobs   *blobs
	profile *profile.Profile
	centres profile.CentreSet
	unzip   *unzip.Unzipper
	valid   *validate.Validator
	mapping *mapping.Mapping
	codec   *schemas.Codec
}

// blobs is the store of the case that is being done.
type blobs struct{ *blob.Dir }

func newMember() (*member, error) {
	m := &member{blobs: &blobs{}}
	var err error
	if m.profile, err = profile.Builtin("impc"); err != nil {
		return nil, err
	}
	if m.centres, err = profile.NewCentreSet(m.profile.Centres...); err != nil {
		return nil, err
	}
	if m.codec, err = schemas.NewCodec(); err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	m.unzip = unzip.New(limits(), unzip.Deps{Blobs: m.blobs, Rules: unzip.Rules{Profile: m.profile, Centres: m.centres}, Log: log, Now: time.Now})
	if m.valid, err = validate.New(config.Default().Validate, validate.Deps{Profile: m.profile, Blobs: m.blobs, Log: log, Now: time.Now}); err != nil {
		return nil, err
	}
	if m.mapping, err = mapping.Load(m.profile.FS()); err != nil {
		return nil, err
	}
	return m, nil
}

// stages are the stages at work on a case, and what they told.
type stages struct {
	*member

	told      []told
	fetched   *schemas.DownloadFinished
	documents []*schemas.DocumentExtracted
	announced int
}

// on opens the case's store for the member.
func (m *member) on(c bad) (*stages, error) {
	m.blobs.Dir = nil
	if c.file != nil {
		return &stages{member: m}, nil
	}
	var err error
	m.blobs.Dir, err = blob.NewDir("blobs")
	return &stages{member: m}, err
}

// close gives up what the case has open.
func (s *stages) close() error {
	if s.blobs.Dir == nil {
		return nil
	}
	return s.blobs.Close()
}

// do takes the case through the stages, as far as it gets.
func (s *stages) do(ctx context.Context, c bad, sha256 string) error {
	if c.file != nil {
		s.name(*c.file)
		return nil
	}
	fetched := &schemas.DownloadFinished{
		Scope:   schemas.Scope{Run: schemas.LiveRun, Session: "session", Centre: "H", Source: "src"},
		FileRef: schemas.FileRef{File: schemas.FileID("add", zipName), FileName: zipName, Action: "add"}, Attempt: 1, Look: 1,
		Result: schemas.Fetched, Outcome: sha256, SHA256: sha256,
	}
	if c.fetch != nil {
		var err error
		if fetched, err = s.download(ctx, c.fetch); err != nil || fetched.Result != schemas.Fetched {
			return err
		}
	}
	in := schemas.Message{ID: "fetched", Topic: schemas.DownloadFinishedTopic, Body: fetched}
	if err := s.work(ctx, s.unzip, in); err != nil {
		return fmt.Errorf("unzip: %w", err)
	}
	if c.schema != nil {
		return s.bySchema(ctx, c)
	}
	for i, d := range s.documents {
		in := schemas.Message{ID: fmt.Sprint("extracted ", i), Topic: schemas.DocumentExtractedTopic, Body: d}
		if err := s.work(ctx, s.valid, in); err != nil {
			return fmt.Errorf("validate: %w", err)
		}
		if s.told[len(s.told)-1].Exception == "" && d.Exception == "" {
			if err := s.load(ctx, d); err != nil {
				return fmt.Errorf("load: %w", err)
			}
		}
	}
	return nil
}

// bySchema judges the document by a schema of the case's own.
func (s *stages) bySchema(ctx context.Context, c bad) error {
	files := fstest.MapFS{}
	for name, text := range c.schema {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	t := told{Entry: s.documents[0].Entry, Phase: refused}
	schema, err := xsdcheck.Compile(files, "a.xsd")
	if err != nil {
		t.Exception, t.Message = "refused", err.Error()
		s.told = append(s.told, t)
		return nil //nolint:nilerr // that a schema is refused is what becomes of it
	}
	clear(files) // what is compiled asks for no file any more
	var result xsdcheck.Result
	err = document.Read(ctx, s.blobs, s.documents[0].DocumentRef, nil, func(r io.Reader) (err error) {
		result, err = schema.Validate(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	t.Phase = string(schemas.XSD)
	if !result.Valid {
		first := result.Errors[0]
		t.Exception, t.Message, t.Line, t.Column = first.Exception, first.Message, first.Line, first.Column
	}
	s.told = append(s.told, t)
	return nil
}

func (s *stages) name(name string) {
	t := told{Phase: string(schemas.ZipName)}
	if _, bad := s.profile.ParseZip(name, s.centres); bad != nil {
		t.Exception, t.Message = bad.Exception, bad.Message
	}
	s.told = append(s.told, t)
}

// worker is a stage's work.
type worker interface {
	Work(ctx context.Context, in stage.Input) error
}

// work does a stage's work on one event and keeps what it says.
func (s *stages) work(ctx context.Context, w worker, in schemas.Message) error {
	emit := func(_ context.Context, messages ...schemas.Message) error {
		for _, m := range messages {
			if err := s.hear(m); err != nil {
				return err
			}
		}
		return nil
	}
	return w.Work(ctx, stage.Input{Message: in, Progress: func() {}, Emit: emit, EmitAcknowledged: emit})
}

// hear keeps what an event says, once it is seen to be one that can travel.
func (s *stages) hear(m schemas.Message) error {
	r, err := s.codec.Encode(m)
	if err != nil {
		return err
	}
	if n := r.Size(); n > maxEvent {
		return fmt.Errorf("an event of %s has %d bytes, which no broker takes", m.Topic, n)
	}
	switch e := m.Body.(type) {
	case *schemas.DownloadFinished:
		s.fetched = e
	case *schemas.UnzipFinished:
		s.announced = int(e.Documents)
	case *schemas.DocumentExtracted:
		if len(s.documents) < maxJudged {
			s.documents = append(s.documents, e)
		}
	case *schemas.StatusChanged:
		if e.Status == string(schemas.Failed) || e.Phase == string(schemas.XSD) {
			s.tell(e)
		}
	}
	return nil
}

func (s *stages) tell(e *schemas.StatusChanged) {
	t := told{Entry: e.Entry, Phase: e.Phase, Exception: e.Exception, Message: e.Message, Total: int(e.ErrorsTotal)}
	if len(e.Errors) > 0 {
		t.Line, t.Column = int(e.Errors[0].Line), int(e.Errors[0].Column)
		t.Message, t.Last = e.Errors[0].Message, e.Errors[len(e.Errors)-1].Message
	}
	if len(s.told) < maxJudged {
		s.told = append(s.told, t)
	}
}

// load reads a valid document into rows, as insert does.
func (s *stages) load(ctx context.Context, d *schemas.DocumentExtracted) error {
	// What the schema allows says nothing any more: this end replaces it.
	t := told{Entry: d.Entry, Phase: string(schemas.Upload)}
	err := document.Read(ctx, s.blobs, d.DocumentRef, nil, func(r io.Reader) error { return s.rows(r, d) })
	var failure *mapping.DocumentError
	if errors.As(err, &failure) {
		t.Exception, t.Message, t.Line, t.Column, t.Total = failure.Exception, failure.Message, failure.Line, failure.Column, 1
		err = nil
	}
	s.told[len(s.told)-1] = t
	return err
}
