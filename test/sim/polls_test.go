//go:build synctests

package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"tributary/internal/remote"
	"tributary/schemas"
)

// schedule opens a session with the sources that are not still being polled.
func (c *control) schedule() {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &csession{number: len(c.sessions) + 1, opened: time.Now()}
	x.id = schemas.ID("session", strconv.Itoa(x.number))
	for _, source := range []string{"alps", "coast", "north"} {
		if slices.ContainsFunc(c.polls, func(q *poll) bool { return q.source == source && q.state != "ended" }) {
			continue
		}
		q := &poll{session: x, source: source, state: "due"}
		x.polls = append(x.polls, q)
		c.polls = append(c.polls, q)
	}
	c.sessions = append(c.sessions, x)
	c.s.tracef("control", "session %d opens with %d sources", x.number, len(x.polls))
}

var errTakenOver = errors.New("sim: another member has this poll")

// poll is the role that lists due sources.
func (c *control) poll(ctx context.Context, p *proc) error {
	for {
		if err := p.sleep(ctx, 200*time.Millisecond); err != nil {
			if p.isDead() || ctx.Err() != nil {
				return err
			}
			continue
		}
		if q := c.claim(ctx, p); q != nil {
			if err := c.list(ctx, p, q); err != nil {
				c.s.tracef(p.name, "poll of %s: %v", q.source, err)
			}
		}
	}
}

// claim takes a due poll, or one whose member has been silent for too long.
func (c *control) claim(ctx context.Context, p *proc) (got *poll) {
	err := c.tx(ctx, p, func() error {
		now := time.Now()
		for _, q := range c.polls {
			free := q.state == "due" && c.credit(sceneSources()[q.source]) > 0
			if !free && (q.state != "running" || now.Before(q.until)) {
				continue
			}
			q.state, q.holder, q.until = "running", p.name, now.Add(pollLease)
			got = q
			return nil
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return got
}

// list polls a source: all its directories, then what is new in one
// transaction.
func (c *control) list(ctx context.Context, p *proc, q *poll) error {
	budget, cancel := context.WithTimeout(ctx, pollLease-2*time.Second)
	defer cancel()
	seen, err := c.listing(budget, p, q)
	return c.tx(ctx, p, func() error {
		if q.holder != p.name || q.state != "running" {
			return errTakenOver
		}
		q.state, q.complete = "ended", err == nil
		if err != nil {
			q.fate = err.Error()
		}
		c.compare(q, seen)
		return nil
	})
}

// listing is what a source shows. With an error it is not all.
func (c *control) listing(ctx context.Context, p *proc, q *poll) (map[string]remote.Entry, error) {
	x, err := c.s.dialer(p)(ctx, remote.Config{URL: sourceURL(q.source)})
	if err != nil {
		return nil, err
	}
	defer x.Close()
	seen := map[string]remote.Entry{}
	for _, action := range schemas.Actions() {
		err := x.List(ctx, action, func(e remote.Entry) error {
			seen[action+"/"+e.Name] = e
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return seen, err
		}
	}
	return seen, nil
}

// compare notes what is new, changed or gone. Only a complete listing tells
// that something is gone, and only the second one in a row.
func (c *control) compare(q *poll, seen map[string]remote.Entry) {
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(name) < 4 || name[len(name)-4:] == ".md5" {
			continue
		}
		c.look(q, name, seen[name])
	}
	if !q.complete {
		return
	}
	for _, f := range c.order {
		h := f.hostings[q.source]
		if h == nil || !h.present {
			continue
		}
		if _, shown := seen[f.action+"/"+f.name]; shown {
			h.missed = 0
			continue
		}
		if h.missed++; h.missed < 2 {
			continue
		}
		h.present = false
		c.s.gone(q, f)
	}
}

func (c *control) look(q *poll, name string, e remote.Entry) {
	action, base := split(name)
	id := schemas.FileID(action, base)
	f := c.files[id]
	if f == nil {
		f = &cfile{id: id, name: base, action: action, hostings: map[string]*hosting{}, attempts: map[int32]*attempt{}}
		parsed, bad := c.s.shared.profile.ParseZip(base, c.s.shared.centres)
		if bad != nil {
			f.bad = bad.Exception
		}
		f.centre = parsed.Centre
		c.files[id] = f
		c.order = append(c.order, f)
	}
	h := f.hostings[q.source]
	if h == nil {
		h = &hosting{source: q.source}
		f.hostings[q.source] = h
	}
	if h.present && h.size == e.Size && h.mtime.Equal(e.ModTime) {
		return
	}
	h.missed = 0
	h.look++
	h.present, h.size, h.mtime, h.listedAt = true, e.Size, e.ModTime, time.Now()
	if f.bad != "" {
		return
	}
	c.s.tracef("control", "%s shows look %d of %s: %d bytes", q.source, h.look, f.name, e.Size)
	m := schemas.Message{ID: schemas.EventID("poll", schemas.LiveRun, f.id, "look", q.source, strconv.Itoa(int(h.look))), Topic: schemas.FileDiscoveredTopic,
		Key: f.id, Stage: "poll", Time: time.Now(), Body: &schemas.FileDiscovered{Scope: schemas.Scope{Run: schemas.LiveRun, Session: q.session.id, Centre: f.centre, Source: q.source},
			FileRef: f.ref(), Change: "new", Look: h.look, Size: e.Size}}
	rec, err := c.s.shared.codec.Encode(m)
	if err != nil {
		c.s.violate("sim", "encode a look: %v", err)
		return
	}
	f.looks = append(f.looks, &look{source: q.source, look: h.look, session: q.session, rec: rec, newsAt: time.Now()})
	c.putRecord(rec)
}

func split(name string) (action, base string) {
	for i := range len(name) {
		if name[i] == '/' {
			return name[:i], name[i+1:]
		}
	}
	return "", name
}

func sourceURL(source string) string {
	return fmt.Sprintf("sftp://reader@%s/data/%s", sceneSources()[source], source)
}
