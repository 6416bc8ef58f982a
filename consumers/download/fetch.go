package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"tributary/consumers/stage"
	"tributary/internal/blob"
	"tributary/internal/crashpoint"
	"tributary/internal/remote"
	"tributary/schemas"
)

// result is how the fetch of one file ended.
type result struct {
	kind      string // Fetched, FailedEnd, NotTried or Quarantined
	phase     schemas.Phase
	exception string
	message   string
	ref       blob.Ref
	checksum  string
	started   time.Time
}

func failed(phase schemas.Phase, exception, message string) result {
	return result{kind: schemas.FailedEnd, phase: phase, exception: exception, message: message}
}

// one fetches a file and produces its outcome. The error is one of ours, such
// as a full disk: then the whole job is tried again.
func (r *run) one(ctx context.Context, f schemas.RequestFile) (sessionLost bool, err error) {
	started := r.d.Now()
	if err := r.in.Emit(ctx, r.running(f, started)); err != nil {
		return false, err
	}
	crashpoint.At("download", "fetch", "before")
	res, lost, err := r.fetch(ctx, f)
	crashpoint.At("download", "fetch", "after")
	if err != nil {
		return lost, err
	}
	if ctx.Err() != nil {
		return lost, ctx.Err()
	}
	res.started = started
	r.finish(ctx, r.outcome(f, res))
	return lost, nil
}

// fetch gets the bytes. If the file is not what was listed it is fetched once
// more, as it is now; if it changes meanwhile, that is the outcome.
func (r *run) fetch(ctx context.Context, f schemas.RequestFile) (result, bool, error) {
	before := remote.Entry{Size: f.Size}
	if f.ModTime != nil {
		before.ModTime = *f.ModTime
	}
	var last result
	for range 2 {
		limit := int64(r.d.Config.MaxFileSize)
		if before.Size > limit {
			return failed(schemas.Download, "file_too_large", fmt.Sprintf("%d bytes are more than download.max_file_size allows (%d)", before.Size, limit)), false, nil
		}
		res, changed, lost, err := r.fetchOnce(ctx, f, before)
		if changed == nil || err != nil {
			return res, lost, err
		}
		before, last = *changed, res
	}
	return last, false, nil
}

// fetchOnce gets the bytes of a file that was listed as before. They stay in
// the store only if they are the whole file, and are what the checksum beside
// it says. changed is the file as it is now, if it is not what was listed.
func (r *run) fetchOnce(ctx context.Context, f schemas.RequestFile, before remote.Entry) (res result, changed *remote.Entry, lost bool, err error) {
	w, err := r.d.Blobs.Create(ctx)
	if err != nil {
		return res, nil, false, stage.Transient(err)
	}
	defer w.Abort() //nolint:errcheck // after Commit there is nothing to delete, and what is left of a failed fetch is swept away later
	rerr, err := r.transfer(ctx, f.Path, before.Size, w)
	if errors.Is(err, errTooLarge) {
		return failed(schemas.Download, "file_too_large", fmt.Sprintf("more bytes arrive than download.max_file_size allows (%d)", int64(r.d.Config.MaxFileSize))), nil, false, nil
	}
	if err != nil {
		return res, nil, false, err
	}
	if rerr != nil {
		return failed(schemas.Download, remote.Exception(rerr), rerr.Error()), nil, remote.SessionLost(rerr), nil
	}
	after, serr := r.session.Stat(ctx, f.Path)
	if serr != nil {
		return failed(schemas.Download, remote.Exception(serr), serr.Error()), nil, remote.SessionLost(serr), nil
	}
	ref := w.Ref()
	switch {
	case !same(before, after):
		return failed(schemas.Download, "file_changed", fmt.Sprintf("the file changes while it is fetched: now %d bytes, of %s", after.Size, after.ModTime.Format(time.RFC3339))), &after, false, nil
	case after.Size >= 0 && ref.Size < after.Size:
		return failed(schemas.Download, "transfer_truncated", fmt.Sprintf("%d of %d bytes arrived, and the server reported no error", ref.Size, after.Size)), nil, false, nil
	case after.Size >= 0 && ref.Size > after.Size:
		return failed(schemas.Download, "file_changed", fmt.Sprintf("%d bytes arrived of a file of %d", ref.Size, after.Size)), nil, false, nil
	}
	if res, lost = r.verify(ctx, f, ref); res.kind == schemas.Fetched {
		if _, err := w.Commit(); err != nil {
			return result{}, nil, lost, stage.Transient(err)
		}
	}
	return res, nil, lost, nil
}

// transfer streams a file into a blob. rerr is the source's error, err our own.
func (r *run) transfer(ctx context.Context, path string, size int64, w io.Writer) (rerr, err error) {
	body, rerr := r.session.Open(ctx, path, size)
	if rerr != nil {
		return rerr, nil
	}
	sink := &progressWriter{w: w, progress: r.in.Progress, left: int64(r.d.Config.MaxFileSize), space: r.d.Space}
	_, cerr := io.Copy(sink, body)
	cerr = errors.Join(cerr, body.Close())
	if sink.err != nil {
		return nil, stage.Transient(sink.err)
	}
	return cerr, nil
}

// errTooLarge ends a transfer that brings more than is allowed, whatever the
// listing said.
var errTooLarge = errors.New("the file is larger than download.max_file_size")

// progressWriter tells the watchdog of every write, and remembers an error of
// the store so that it is not taken for one of the source.
type progressWriter struct {
	w        io.Writer
	progress func()
	left     int64 // bytes that may still come
	space    *blob.Space
	err      error
}

func (p *progressWriter) Write(b []byte) (int, error) {
	if p.left -= int64(len(b)); p.left < 0 {
		p.err = errTooLarge
		return 0, p.err
	}
	if p.err = p.space.Low(); p.err != nil {
		return 0, p.err
	}
	n, err := p.w.Write(b)
	if err != nil {
		p.err = err
	}
	p.progress()
	return n, err
}

// same compares what was listed with what is there now. A listing without
// seconds is compared to the minute.
func same(a, b remote.Entry) bool {
	if a.Size >= 0 && b.Size >= 0 && a.Size != b.Size {
		return false
	}
	if a.ModTime.IsZero() || b.ModTime.IsZero() || a.ModTime.Equal(b.ModTime) {
		return true
	}
	unit := max(a.Precision, b.Precision, time.Second)
	if a.ModTime.Second() == 0 || b.ModTime.Second() == 0 {
		unit = max(unit, time.Minute)
	}
	return a.ModTime.Truncate(unit).Equal(b.ModTime.Truncate(unit))
}

// verify compares the file with a checksum beside it, if there is one.
func (r *run) verify(ctx context.Context, f schemas.RequestFile, ref blob.Ref) (result, bool) {
	done := result{kind: schemas.Fetched, phase: schemas.ZipMD5, ref: ref, checksum: "no_checksum"}
	if !r.d.Config.Checksums {
		return done, false
	}
	body, err := r.session.Open(ctx, f.Path+".md5", maxChecksum)
	if err == nil {
		var text []byte
		text, err = io.ReadAll(io.LimitReader(body, maxChecksum))
		err = errors.Join(err, body.Close())
		if err == nil {
			want, ok := parseChecksum(text)
			switch {
			case !ok:
				return failed(schemas.ZipMD5, "checksum_unreadable", "the file beside it, "+f.FileName+".md5, holds no md5 of 32 hexadecimal digits"), false
			case want != ref.MD5:
				return failed(schemas.ZipMD5, "checksum_mismatch", "md5 is "+ref.MD5+", but the file beside it says "+want), false
			}
			done.checksum = "matched"
			return done, false
		}
	}
	if remote.ClassOf(err) == remote.NotExist {
		return done, false
	}
	return failed(schemas.ZipMD5, remote.Exception(err), "the checksum beside the file cannot be read: "+err.Error()), remote.SessionLost(err)
}

// maxChecksum is how much of a .md5 file is read.
const maxChecksum = 4096

// parseChecksum finds the digest in the forms that md5sum and others write.
func parseChecksum(text []byte) (string, bool) {
	m := regexp.MustCompile(`(?i)(?:^|[^0-9a-f])([0-9a-f]{32})(?:[^0-9a-f]|$)`).FindSubmatch(text)
	if m == nil {
		return "", false
	}
	return strings.ToLower(string(m[1])), true
}
