package download

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"tributary/internal/blob"
	"tributary/internal/crashpoint"
	"tributary/internal/remote"
	"tributary/internal/stage"
	"tributary/schemas"
)

// result is how the fetch of one file ended.
type result struct {
	kind      string // Fetched, FailedEnd, NotTried or Quarantined
	phase     schemas.Phase
	exception string
	message   string
	ref       blob.Ref
	from      int64 // bytes of an attempt before, behind which this one went on
	arrived   int64 // bytes that came
	heads     remote.Heads
	checksum  string
	started   time.Time
	after     time.Duration // for which the server asks to be left alone
}

func failed(phase schemas.Phase, exception, message string) result {
	return result{kind: schemas.FailedEnd, phase: phase, exception: exception, message: message}
}

// one fetches a file and produces its outcome. came is called once nothing more of the
// file is asked of the server, or never. The error is one of ours, such as a full disk:
// then the whole job is tried again.
func (r *run) one(ctx context.Context, f schemas.RequestFile, came func()) (sessionLost bool, err error) {
	started := r.d.deps.Now()
	if err := r.in.Emit(ctx, r.running(f, started)); err != nil {
		return false, err
	}
	crashpoint.At("download", "fetch", "before")
	file, cancel := context.WithTimeoutCause(r.transfers, r.d.cfg.FileBudget.D(), errFileOver)
	res, lost, err := r.fetch(file, f, came)
	cancel()
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
// more, as it is now; if it changes meanwhile, that is the outcome. What was
// resumed and is no whole file in the end is fetched once more, from its beginning.
func (r *run) fetch(ctx context.Context, f schemas.RequestFile, came func()) (result, bool, error) {
	before := remote.Entry{Size: f.Size}
	if f.ModTime != nil {
		before.ModTime = *f.ModTime
	}
	var last result
	scratch := false
	for range 2 {
		limit := int64(r.d.cfg.MaxFileSize)
		if before.Size > limit {
			return failed(schemas.Download, "file_too_large", fmt.Sprintf("%d bytes are more than download.max_file_size allows (%d)", before.Size, limit)), false, nil
		}
		res, changed, lost, err := r.fetchOnce(ctx, f, before, scratch, came)
		if errors.Is(err, errFromScratch) {
			r.d.deps.Log.Info("what was resumed is not the file; it is fetched from its beginning", "source", r.job.Source, "file", f.Path, "why", err)
			scratch = true
			res, changed, lost, err = r.fetchOnce(ctx, f, before, scratch, came)
		}
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
func (r *run) fetchOnce(ctx context.Context, f schemas.RequestFile, before remote.Entry, scratch bool, came func()) (res result, changed *remote.Entry, lost bool, err error) {
	w, err := r.begin(ctx, f, before, scratch)
	if res, ended := cut(ctx); err != nil && ended {
		return res, nil, true, nil
	}
	if err != nil {
		return res, nil, false, err
	}
	defer w.Abort() //nolint:errcheck // after Commit there is nothing to delete, and what is left of a failed fetch is swept away later
	defer func() { res.from, res.arrived, res.heads = w.from, w.arrived(), w.heads }()
	// A file that has no room ends by itself: waiting for room would hold up
	// those behind it that have.
	room, err := r.reserve(before.Size, w)
	if errors.Is(err, blob.ErrNoRoom) {
		return withoutRoom(err), nil, false, nil
	}
	if err != nil {
		return res, nil, false, stage.Transient(err)
	}
	defer room.Release()
	rerr, err := r.transfer(ctx, f, before.Size, w, room)
	switch {
	case errors.Is(err, errTooLarge):
		return failed(schemas.Download, "file_too_large", fmt.Sprintf("more bytes arrive than download.max_file_size allows (%d)", int64(r.d.cfg.MaxFileSize))), nil, false, nil
	case errors.Is(err, blob.ErrNoRoom):
		return withoutRoom(err), nil, false, nil
	case err != nil && !errors.Is(err, errLonger):
		return res, nil, false, err
	case errors.Is(rerr, errFromScratch):
		return res, nil, false, rerr
	case rerr != nil:
		res, lost = failure(ctx, schemas.Download, rerr)
		r.keep(f, before, w, rerr)
		return res, nil, lost, nil
	}
	after, serr := r.after(ctx, f.Path, before, w)
	if serr != nil {
		res, lost = failure(ctx, schemas.Download, serr)
		return res, nil, lost, nil
	}
	ref := w.Ref()
	switch {
	case w.from > 0 && (err != nil || ref.Size != before.Size) && same(before, after):
		return res, nil, false, fmt.Errorf("%w: %d bytes came of a file of %d", errFromScratch, ref.Size, before.Size)
	case !same(before, after):
		return failed(schemas.Download, "file_changed", fmt.Sprintf("the file changes while it is fetched: now %d bytes, of %s", after.Size, after.ModTime.Format(time.RFC3339))), &after, false, nil
	case errors.Is(err, errLonger):
		return failed(schemas.Download, "file_changed", fmt.Sprintf("more bytes arrive of a file of %d", before.Size)), nil, false, nil
	case after.Size >= 0 && ref.Size < after.Size:
		return failed(schemas.Download, "transfer_truncated", fmt.Sprintf("%d of %d bytes arrived, and the server reported no error", ref.Size, after.Size)), nil, false, nil
	case after.Size >= 0 && ref.Size > after.Size:
		return failed(schemas.Download, "file_changed", fmt.Sprintf("%d bytes arrived of a file of %d", ref.Size, after.Size)), nil, false, nil
	}
	if res, lost = r.verify(ctx, f, ref); res.exception == "checksum_mismatch" && w.from > 0 {
		return res, nil, lost, fmt.Errorf("%w: %s", errFromScratch, res.message)
	}
	if res.kind == schemas.Fetched {
		came()
		if _, err := w.Commit(); err != nil {
			if res, ended := cut(ctx); ended {
				return res, nil, true, nil
			}
			return result{}, nil, lost, stage.Transient(err)
		}
	}
	return res, nil, lost, nil
}

// after is the file after it was fetched: as the server shows it then, unless it is known
// of which version the bytes are. Where what the reader has found out is as before, the
// server need not be asked.
func (r *run) after(ctx context.Context, path string, before remote.Entry, w *begun) (remote.Entry, error) {
	switch {
	case w.whose != nil:
		return *w.whose, nil
	case w.after != nil && same(before, *w.after):
		return *w.after, nil
	}
	return r.stat(ctx, path)
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
	if r.withoutChecksums {
		return done, false
	}
	text, err := r.read(ctx, f.Path+".md5")
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
	if remote.ClassOf(err) == remote.NotExist {
		return done, false
	}
	res, lost := failure(ctx, schemas.ZipMD5, err)
	if res.kind == schemas.FailedEnd {
		res.message = "the checksum beside the file cannot be read: " + res.message
	}
	return res, lost
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
