// Package validate judges documents by the profile's schemas, streaming, and
// keeps every error with its line and column up to a cap. Documents of shadow
// runs may be judged by another profile than those that are live.
package validate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/document"
	"tributary/internal/profile"
	"tributary/internal/stage"
	"tributary/internal/xsdcheck"
	"tributary/schemas"
)

// Name of the stage.
const Name = "validate"

// maxErrorBytes bounds the errors that travel in one event, so that it stays
// below what brokers take.
const maxErrorBytes = 256 << 10

// Validator is the stage.
type Validator struct {
	deps   Deps
	live   *judge
	shadow *judge // of shadow runs; may be the same
}

// Deps are what the stage works with.
type Deps struct {
	Profile *profile.Profile // by which all that is live is judged
	Shadow  *profile.Profile // by which shadow runs are; nil: the same
	Blobs   blob.Store
	// Damaged tells control that stored bytes can't be used. Nil: nobody can have
	// them anew, and the work is tried again until they are there.
	Damaged blob.Report
	Log     *slog.Logger
	Now     func() time.Time
}

// judge is what documents are judged by.
type judge struct {
	kinds   map[string]*xsdcheck.Schema
	profile string
	version profile.Versions
}

// New compiles the schemas of the profiles; it fails if one of them cannot be.
func New(cfg config.Validate, d Deps) (_ *Validator, err error) {
	v := &Validator{deps: d}
	if v.live, err = newJudge(d.Profile, cfg); err != nil {
		return nil, err
	}
	if v.shadow = v.live; d.Shadow != nil && d.Shadow != d.Profile {
		v.shadow, err = newJudge(d.Shadow, cfg)
	}
	return v, err
}

func newJudge(p *profile.Profile, cfg config.Validate) (*judge, error) {
	j := &judge{kinds: map[string]*xsdcheck.Schema{}, profile: p.Name + "@" + p.Version, version: p.Versions()}
	opts := xsdcheck.Options{MaxErrors: cfg.MaxErrors, MaxBytes: int64(cfg.MaxBytes), MaxDepth: cfg.MaxDepth, MaxAttributes: cfg.MaxAttributes}
	for _, k := range p.Kinds {
		fsys, entry, err := p.SchemaFS(k.Name)
		if err != nil {
			return nil, fmt.Errorf("schema of kind %s: %w", k.Name, err)
		}
		schema, err := xsdcheck.Compile(fsys, entry)
		if err != nil {
			return nil, fmt.Errorf("schema of kind %s: %w", k.Name, err)
		}
		if j.kinds[k.Name], err = schema.WithOptions(opts); err != nil {
			return nil, fmt.Errorf("limits of validation: %w", err)
		}
	}
	return j, nil
}

// by is what the documents of a run are judged by.
func (v *Validator) by(run string) *judge {
	if schemas.IsShadow(run) {
		return v.shadow
	}
	return v.live
}

// Work judges one document.
func (v *Validator) Work(ctx context.Context, in stage.Input) error {
	d, ok := in.Message.Body.(*schemas.DocumentExtracted)
	if !ok {
		return nil
	}
	if d.Exception != "" {
		// Its name was refused, which ended it; its file waits for that too.
		return in.Emit(ctx, v.verdict(in.Message, d, schemas.FailedEnd, schemas.XMLName, d.Exception, nil, 1, v.deps.Now())[0])
	}
	started := v.deps.Now()
	res, err := v.check(ctx, d, in.Progress)
	if blob.Unusable(err) && v.deps.Damaged != nil {
		// Nothing is said of the document: control has the bytes of its archive
		// fetched again and has it announced anew, or ends who waits for it.
		_, err = v.deps.Damaged(ctx, d.Archive, err)
		return stage.Transient(err)
	}
	if err != nil {
		return err
	}
	if res.Valid {
		return in.Emit(ctx, v.verdict(in.Message, d, schemas.Valid, schemas.XSD, "", nil, 0, started)...)
	}
	return in.Emit(ctx, v.verdict(in.Message, d, schemas.FailedEnd, schemas.XSD, res.Errors[0].Exception, details(res), res.Total, started)...)
}

func (v *Validator) check(ctx context.Context, d *schemas.DocumentExtracted, progress func()) (xsdcheck.Result, error) {
	j := v.by(d.Run)
	schema := j.kinds[d.Kind]
	if schema == nil {
		return xsdcheck.Result{}, fmt.Errorf("the profile %s has no kind %q of document; all members need the same profile", j.profile, d.Kind)
	}
	var res xsdcheck.Result
	err := document.Read(ctx, v.deps.Blobs, d.DocumentRef, progress, func(r io.Reader) (err error) {
		res, err = schema.Validate(ctx, r)
		return err
	})
	if errors.Is(err, archive.ErrDamaged) {
		return res, fmt.Errorf("the reference to the document does not fit its archive %s, whose bytes are the right ones: %w", d.Archive, err)
	}
	if err != nil {
		return res, stage.Transient(err)
	}
	return res, nil
}

// details are the errors that an event tells. Where looking for errors ended
// early the last one says so: nobody may think that these are all.
func details(res xsdcheck.Result) []schemas.ErrorDetail {
	var out []schemas.ErrorDetail
	size := 0
	for _, e := range res.Errors {
		if size += len(e.Message) + len(e.Exception) + 16; size > maxErrorBytes {
			break
		}
		out = append(out, schemas.ErrorDetail{Line: int32(e.Line), Column: int32(e.Column), Exception: e.Exception, Message: strings.Map(visible, e.Message)})
	}
	if n := len(out); res.Truncated && n > 0 {
		more := out[n-1]
		more.Message = fmt.Sprintf("there are more errors, or may be: these are the first %d, and looking for them ended here", n)
		out = append(out, more)
	}
	return out
}

// visible replaces what turns the direction of text: messages quote what the
// document says, and it must not rearrange what stands around it.
func visible(r rune) rune {
	if unicode.Is(unicode.Bidi_Control, r) {
		return utf8.RuneError
	}
	return r
}

// Fail is the failed end of a document that is poison.
func (v *Validator) Fail(in schemas.Message, cause error) []schemas.Message {
	d, ok := in.Body.(*schemas.DocumentExtracted)
	if !ok {
		return nil
	}
	errs := []schemas.ErrorDetail{{Exception: schemas.Quarantined, Message: cause.Error()}}
	return v.verdict(in, d, schemas.Quarantined, schemas.XSD, schemas.Quarantined, errs, 1, v.deps.Now())
}

// verdict tells the judgement: to sequence, and to the log.
func (v *Validator) verdict(in schemas.Message, d *schemas.DocumentExtracted, result string, phase schemas.Phase, exception string, errs []schemas.ErrorDetail, total int, started time.Time) []schemas.Message {
	now := v.deps.Now()
	outcome := exception
	if result == schemas.Valid {
		outcome = schemas.Valid
	}
	end := &schemas.DocumentValidated{
		Scope: d.Scope, FileRef: d.FileRef, DocumentRef: d.DocumentRef, DocumentName: d.DocumentName, Attempt: d.Attempt,
		Download: d.Download, Unzip: d.Unzip, Result: result, Outcome: outcome, Phase: string(phase), Exception: exception,
		ErrorsTotal: int32(total), Profile: v.by(d.Run).profile, UnzipVersion: d.UnzipVersion,
	}
	st := &schemas.StatusChanged{
		Scope: d.Scope, FileRef: d.FileRef, DocumentRef: d.Named(), DocumentName: d.DocumentName, Entity: schemas.EntityDocument,
		Attempt: d.Attempt, Outcome: d.Download + "/" + d.Unzip, Phase: string(phase), Status: string(schemas.Done),
		Exception: exception, Errors: errs, ErrorsTotal: int32(total), Bytes: d.Size, StartedAt: &started, FinishedAt: &now,
	}
	if phase == schemas.XSD {
		end.XSDVersion = v.by(d.Run).version.Of(string(schemas.XSD), d.Kind)
		st.VersionOf = end.XSDVersion
	} else {
		st.VersionOf = d.UnzipVersion
	}
	if result != schemas.Valid {
		st.Status = string(schemas.Failed)
		if len(errs) > 0 {
			st.Message = errs[0].Message
		}
	}
	id := func(kind string, ordinal ...string) string {
		return schemas.EventID(Name, d.Run, in.ID, kind, ordinal...)
	}
	message := func(id, topic, key string, body any) schemas.Message {
		return schemas.Message{ID: id, Topic: topic, Key: key, Stage: Name,
			Subject: d.Action + "/" + d.FileName + "/" + d.Entry, Time: now, Traceparent: in.Traceparent, Body: body}
	}
	return []schemas.Message{
		message(id(schemas.DocumentValidatedTopic, outcome), schemas.DocumentValidatedTopic, d.Document, end),
		// A record that is read again may be judged otherwise by then: what is told of
		// it then is a repeat, of which the first counts.
		message(id("status"), schemas.StatusChangedTopic, d.File, st),
	}
}
