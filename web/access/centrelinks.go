package access

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// OwnPath is where somebody of one centre sees what is theirs, with an account;
// CentrePath is what the address of a link begins with, by which they see it without.
const (
	OwnPath    = "/own"
	CentrePath = "/c"
)

// AddCentreLink makes a link to what is of a centre, and nothing else, and returns its
// path below the address of the pages, which nobody can ask for again. It is good for
// that long, 366 days at most, for whoever has it.
func (a Accounts) AddCentreLink(ctx context.Context, centre string, life time.Duration, o Order) (path string, err error) {
	if life <= 0 || life > maxTokenLife {
		return "", refuse("a link is good for 366 days at most, and for some time at least: not for %s", life)
	}
	secret := newSecret()
	err = a.changeLink(ctx, o, func(tx pgx.Tx, now time.Time) (l control.CentreLink, what string, err error) {
		p, err := settled(ctx, tx, Person{Role: Producer, Centre: centre})
		if err != nil {
			return l, "", err
		}
		l = control.CentreLink{Centre: p.Centre, MadeBy: short(o.By), CreatedAt: now, ExpiresAt: now.Add(life)}
		l.Number, err = control.AddCentreLink(ctx, tx, l, digest(secret), now.Add(-tokensKept))
		return l, fmt.Sprintf("link made until %s", l.ExpiresAt.UTC().Format(time.RFC3339)), err
	})
	if err != nil {
		return "", err
	}
	return CentrePath + "/" + secret, nil
}

// RevokeCentreLink ends a link to what is of a centre: what it is asked for next leads
// nowhere.
func (a Accounts) RevokeCentreLink(ctx context.Context, number string, o Order) error {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return refuse("%q is no number of a link: tributary centres links has them", number)
	}
	return a.changeLink(ctx, o, func(tx pgx.Tx, now time.Time) (l control.CentreLink, what string, err error) {
		centre, err := control.RevokeCentreLink(ctx, tx, n, now)
		if err == nil && centre == "" {
			err = refuse("%d: there is no such link that is still good: tributary centres links has them", n)
		}
		return control.CentreLink{Number: n, Centre: centre}, "link revoked", err
	})
}

// changeLink changes a link, with the event that says who did what, and why. What is
// about accounts is no event; this is about a centre, and names nobody else.
func (a Accounts) changeLink(ctx context.Context, o Order, change func(pgx.Tx, time.Time) (l control.CentreLink, what string, err error)) error {
	if err := control.CheckReason(o.Reason); err != nil {
		return refuse("%v", err)
	}
	codec, err := schemas.NewCodec()
	if err != nil {
		return err
	}
	done := control.AccountChange{ChangedAt: a.Now(), ChangedBy: short(o.By), Reason: o.Reason}
	err = pg.InTx(ctx, a.Pool, func(tx pgx.Tx) error {
		l, what, err := change(tx, done.ChangedAt)
		if err != nil {
			return err
		}
		done.Subject, done.What = linkName(l.Number), what+": "+l.Centre
		return outbox.Outbox{Schema: control.Schema, Codec: codec}.Append(ctx, tx, linkEvent(l, what, control.Decision{By: done.ChangedBy, Reason: o.Reason, At: done.ChangedAt}))
	})
	if err == nil && a.Told != nil {
		a.Told(done)
	}
	return err
}

// linkEvent tells who has made or revoked a link. Nobody finds the link by it.
func linkEvent(l control.CentreLink, what string, d control.Decision) schemas.Message {
	const stage = "access"
	number := strconv.FormatInt(l.Number, 10)
	return schemas.Message{
		ID: schemas.EventID(stage, schemas.LiveRun, "centre-link", number, what, d.At.UTC().Format(time.RFC3339Nano)), Topic: schemas.StatusChangedTopic, Key: l.Centre, Stage: stage, Subject: "centre " + l.Centre, Time: d.At,
		Body: &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: l.Centre}, Entity: schemas.EntityLink, Message: d.Said(what),
			Attributes: map[string]string{"link": number, "by": d.By, "reason": d.Reason}},
	}
}

// linkName is how a link is named where it is written down who changed or used it.
func linkName(number int64) string { return "centre-link:" + strconv.FormatInt(number, 10) }

type linkKey struct{}

// LinkEnds is when the link ends by which somebody asks; ok is false where they have an
// account.
func LinkEnds(ctx context.Context) (at time.Time, ok bool) {
	at, ok = ctx.Value(linkKey{}).(time.Time)
	return at, ok
}

// ByLink passes on to next who asks by a link to what is of a centre, whose secret is
// the path's {token}, as a producer of that centre. Everybody else is told that the link
// leads nowhere, whether there ever was one or not. The address is the secret: nothing
// that is answered passes it on, and nobody keeps it.
func (g *Guard) ByLink(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "private, no-store")
		h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
		now, from := g.deps.Now(), linkKeyOf(g.address(r))
		if wait := g.attempts.wait(now, from); wait > 0 {
			h.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
			g.refuse(w, r, http.StatusTooManyRequests, tooManyLinks)
			return
		}
		l, known, err := g.centreLink(r, now)
		switch {
		case err != nil:
			g.deps.Log.ErrorContext(r.Context(), "can't look for a link of a centre", "error", err)
			g.refuse(w, r, http.StatusServiceUnavailable, unavailable)
		case l == nil:
			if !known {
				g.attempts.failed(now, from)
			}
			g.refuse(w, r, http.StatusNotFound, linkUnknown)
		default:
			ctx := With(r.Context(), Person{Name: linkName(l.Number), Role: Producer, Centre: l.Centre})
			next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, linkKey{}, l.ExpiresAt)))
		}
	})
}

// centreLink is the link that an address names, if it is good; known tells whether there
// is one, be it over.
func (g *Guard) centreLink(r *http.Request, now time.Time) (l *control.CentreLink, known bool, err error) {
	secret := digest(r.PathValue("token"))
	if secret == nil {
		return nil, false, nil
	}
	ctx, done := context.WithTimeout(r.Context(), patience)
	defer done()
	l, err = g.deps.Store.CentreLink(ctx, secret)
	if err != nil || l == nil {
		return nil, false, err
	}
	if l.RevokedAt != nil || !now.Before(l.ExpiresAt) {
		return nil, true, nil
	}
	if l.UsedAt == nil || now.Sub(*l.UsedAt) >= seenEvery {
		err = g.deps.Store.SeeCentreLink(ctx, l.Number, now)
	}
	return l, true, err
}

func linkKeyOf(address string) string { return "link from " + address }

// wait is how long a key has to wait until it is tried again.
func (a *attempts) wait(now time.Time, key string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.known[key]; e != nil {
		is, _ := e.Value.(*attempt)
		return is.until.Sub(now)
	}
	return 0
}

// failed counts an attempt of an address that has failed. Secrets of links are long:
// unlike with passwords it does no harm that many are tried at once.
func (a *attempts) failed(now time.Time, key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(now, key).fail(now, ofAddress())
}
