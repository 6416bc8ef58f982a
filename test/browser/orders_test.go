package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/mapping"
	"tributary/internal/profile"
	"tributary/producers/plan/plantest"
	"tributary/producers/sources"
	"tributary/queries/report/reporttest"
	"tributary/recovery/deadletter"
	"tributary/recovery/replay"
	"tributary/recovery/shadow"
	"tributary/recovery/shadow/shadowtest"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/sql/control"
	"tributary/sql/control/controltest"
	"tributary/sql/outbox"
	"tributary/web/access"
	"tributary/web/compared"
	"tributary/web/order"
	"tributary/web/pages"
)

// ordered is an order that a person gives on the pages: on which page its link is found,
// how that link ends, what is filled in, and what is said before and after.
type ordered struct {
	page, link string
	fields     map[string]string
	would      string // empty: the form can't tell before it is filled in
	said       string
	least      access.Role
	first      bool // of forms that look alike: it is examined, and given without scripts too
}

// deadLetter is the address of a letter of control's outbox.
func deadLetter(n int) string { return fmt.Sprintf("/dead-letters/control.outbox:0:%d", n) }

// allOrdered are all orders, in an order in which each of them can be given.
func allOrdered() []ordered {
	good, why := "/files/add/"+reporttest.GoodZip, map[string]string{"reason": "wrong <b>mice</b>"}
	return []ordered{
		{good, good + "/retry", why, "requested as soon as its turn", "requested as soon as its turn", access.Wrangler, false},
		{good, good + "/hold", why, "nothing of it begins until it is released", "nothing of it begins", access.Wrangler, true},
		{good, good + "/release", nil, "", "", access.Wrangler, false},
		{good, good + "/priority", map[string]string{"value": "9"}, "", "", access.Wrangler, false},
		{good, good + "/cancel", why, "", "", access.Wrangler, false},
		{"/sources/harwell", "/sources/harwell/maintain", map[string]string{"value": "6h", "reason": "disks"}, "", "", access.Operator, true},
		{"/sources/harwell", "/sources/harwell/resume", nil, "", "", access.Operator, false},
		{"/sources/harwell", "/sources/harwell/poll", nil, "", "", access.Operator, false},
		{"/sources/harwell", "/sources/harwell/act", map[string]string{"reason": "agreed <b>with</b> H", "confirm": "harwell"}, "delete at sftp://h/out; files that wait for it now: 2", "delete at sftp://h/out", access.Operator, true},
		{"/sources/harwell", "/sources/harwell/stop-acting", map[string]string{"reason": "they keep them"}, "only shown what would be done (delete)", "what has been done stays", access.Operator, true},
		{"/dead-letters", deadLetter(1) + "/retry", why, "a new attempt is requested", "a new attempt is requested", access.Wrangler, false},
		{"/dead-letters", deadLetter(2) + "/drop", why, "it is hidden", "it is hidden", access.Wrangler, true},
		{"/replays/1", "/replays/1/stop", why, "it requests nothing more", "it requests nothing more", access.Wrangler, false},
		{"/replays/1", "/replays/1/resume", nil, "it goes on with", "it goes on with", access.Wrangler, false},
		{"/replays/2", "/replays/2/promote", map[string]string{"reason": "wrong <b>mice</b>", "confirm": "try"}, "of H, 1 files", "replay 3 is asked for", access.Wrangler, true},
	}
}

// desk is where orders are given: pages, and the control that is changed by them. What
// control tells is in the tracker at once, as the log would bring it there.
type desk struct {
	*tab

	plane   *plantest.Plane
	tracker *pgxpool.Pool
}

func newDesk(t *testing.T, role access.Role) *desk {
	t.Helper()
	tracker, p := reporttest.Filled(t), plantest.New(t)
	p.Clock = reporttest.Start()
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, reporttest.GoodZip, 1, 10))
	p.EndPolls()
	p.Exec("UPDATE control.acquisition SET not_before = $1", p.Clock.AddDate(0, 0, 1)) // it waits for its next attempt
	p.Tx(func(tx pgx.Tx) error {
		var letters []outbox.Letter
		for n := range 2 {
			about := schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}}
			record, err := p.Outbox.Codec.Encode(schemas.Message{ID: uuid.NewString(), Topic: schemas.StatusChangedTopic, Key: fmt.Sprint(n), Stage: "test", Subject: "centre H", Time: p.Clock, Body: &about})
			if err != nil {
				return err
			}
			letters = append(letters, outbox.LetterOf(record, outbox.LetterRefused, outbox.BecameNothing, fmt.Errorf("the broker says <b>no</b>")))
		}
		if err := outbox.AddLetters(t.Context(), tx, control.Schema, letters); err != nil {
			return err
		}
		if _, err := controltest.PutSource(t.Context(), tx, control.Source{ID: "harwell", Centre: "H", Server: "h:22", Protocol: "sftp", URL: "sftp://h/out", State: "available", MaxSessions: 2, Interval: 1, Definition: `{"id": "harwell", "url": "sftp://h/out", "done_with": "delete"}`}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO control.done_with (source, file, look, rule, state, exception, at) SELECT 'harwell', gen_random_uuid(), 1, 'delete', u.state, u.exception, now()
			FROM (VALUES ('shown', ''), ('shown', ''), ('left', 'file_gone')) u(state, exception)`)
		return err
	})
	orders := order.Deps{Control: p.Pool, Tracker: tracker, Outbox: p.Outbox,
		Ledger: &deadletter.Ledger{Reader: &deadletter.Reader{Prefix: "test", Codec: p.Outbox.Codec}, Control: p.Pool, Warehouse: tracker},
		Decider: func(context.Context) (*deadletter.Decider, func(), error) {
			return &deadletter.Decider{Pool: p.Pool, Outbox: p.Outbox, Blobs: p.Blobs, Now: p.Now}, func() {}, nil
		},
		Run: func(bool) (*control.ReplayRun, error) {
			return &control.ReplayRun{ID: uuid.NewString(), Versions: []byte(shadowtest.Versions)}, nil
		}}
	known, err := profile.Builtin("impc")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Path = filepath.Join(t.TempDir(), "tributary.yaml")
	orders.Checking = make(chan struct{}, 1)
	orders.Registry = &sources.Registry{Config: cfg, Profile: known, Outbox: p.Outbox, Now: p.Now, Options: config.Options{WithoutSourceSecrets: true}}
	records, err := mapping.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	orders.Shadows = compared.New(p.Pool, func(context.Context, bool) (*shadow.Comparer, func(), error) {
		return &shadow.Comparer{Control: p.Pool, Tracker: tracker, Warehouse: tracker, Mapping: records, Versions: shadowtest.Profile(t), Codec: p.Outbox.Codec}, func() {}, nil
	}, 1)
	at, _ := serveTo(t, tracker, "127.0.0.1:0", as(role), func(s *pages.Site) {
		s.Control, s.Shadows = p.Pool, orders.Shadows
		s.ReplayTold = func(ctx context.Context, name string) (*replay.Status, error) {
			run, err := control.ReadReplayRun(ctx, p.Pool, name)
			if err != nil {
				return nil, err
			}
			return replay.ReadStatus(ctx, p.Pool, &run)
		}
		s.Orders, s.Replay, s.Definitions = order.New(orders), orders.Replay, &orders
		s.Letters = func(ctx context.Context, _ int, all bool, each func(deadletter.Row) error) error {
			return deadletter.Outbox(ctx, p.Pool, control.Schema, &deadletter.Filter{}, func(l *deadletter.Letter) error {
				standing, err := orders.Ledger.Get(ctx, l.ID)
				if err != nil || !all && standing.State == "dropped" {
					return err
				}
				return each(standing.Row())
			})
		}
		s.Replays = func(ctx context.Context, limit int) (list []*replay.Status, err error) {
			runs, err := control.ReplayRuns(ctx, p.Pool, limit)
			for i := range runs {
				status, err := replay.ReadStatus(ctx, p.Pool, &runs[i])
				if err != nil {
					return nil, err
				}
				list = append(list, status)
			}
			return list, err
		}
	})
	return &desk{tab: open(t, at), plane: p, tracker: tracker}
}

// hear brings to the tracker what control has told.
func (d *desk) hear() {
	d.t.Helper()
	for _, m := range d.plane.Drain() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok {
			reporttest.Add(d.t, d.tracker, *e)
		}
	}
}

// goes follows what a click leads to, to its end.
func (b *tab) goes(click string) {
	b.t.Helper()
	eval[bool](b, `window.stale = true`)
	eval[bool](b, click+" ?? true")
	b.until(`window.stale === undefined && document.readyState === "complete"`)
}

// fill types into the fields of the page's form.
func (b *tab) fill(fields map[string]string) {
	b.t.Helper()
	for name, value := range fields {
		eval[bool](b, fmt.Sprintf(`(f => { f.focus(); f.select?.() })(document.querySelector('main [name=%q]')) ?? true`, name))
		b.press(value)
	}
}

// examine looks at the page as it is, at each width and in both themes, and lets
// axe-core look at it once.
func (b *tab) examine(name, rules, shots string) {
	b.t.Helper()
	b.scripts(true) // axe-core is one
	for _, l := range []look{{768, "light", true}, {390, "dark", true}, {1440, "light", true}} {
		call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.Width, Height: 900, DeviceScaleFactor: 1, Mobile: l.Width < 500})
		eval[bool](b, fmt.Sprintf(`document.querySelector("#theme-%s").checked = true`, l.Theme))
		if wide := eval[[]string](b, wider); len(wide) > 0 {
			b.t.Errorf("%s at %s is wider than its window: %s", name, l, strings.Join(wide, ", "))
		}
		b.shoot(filepath.Join(shots, file(name)+"-"+l.String()+".png"))
		if l.Width != 390 {
			continue
		}
		for _, v := range b.accessible(rules) {
			b.t.Errorf("%s at %s: axe-core: %s: %s\n%v", name, l, v.ID, v.Help, v.Nodes)
		}
	}
}

// give gives an order by its form, and tells what the next page says of it.
func (d *desk) give(o ordered, scripts bool, look func(string)) {
	d.t.Helper()
	if status := d.visit(o.page); status != http.StatusOK {
		d.t.Fatalf("%s answers %d", o.page, status)
	}
	link := fmt.Sprintf(`document.querySelector('nav.acts a[href=%q]')`, prefix+o.link)
	if !eval[bool](d.tab, link+" !== null") {
		d.t.Fatalf("%s doesn't offer %s", o.page, o.link)
	}
	if scripts { // it is asked on the page itself
		eval[bool](d.tab, link+".click() ?? true")
		d.until(`document.querySelector("dialog[open] #order") !== null`)
	} else {
		d.goes(link + ".click()")
	}
	if would := eval[string](d.tab, `document.querySelector("#order .notice")?.innerText ?? ""`); o.would != "" && !strings.Contains(would, o.would) {
		d.t.Errorf("%s would: %q, want %q", o.link, would, o.would)
	}
	if o.first {
		look(o.link)
	}
	d.scripts(scripts)
	d.fill(o.fields)
	d.goes(`document.querySelector("#order .btn.first").click()`)
	said := eval[string](d.tab, `document.querySelector(".notice.done")?.innerText ?? ""`)
	if said == "" || !strings.Contains(said, o.said) || !eval[bool](d.tab, fmt.Sprintf("location.pathname === %q", prefix+o.page)) {
		d.t.Errorf("%s: %q is said at %s, want %q at %s\n%s", o.link, said, eval[string](d.tab, "location.href"), o.said, o.page, d.text("main"))
	}
	d.hear()
	if c := d.complaints(); len(c) > 0 {
		d.t.Errorf("%s: the browser complains: %v", o.link, c)
	}
}

// Whoever may give an order finds its form on the page of what it is about, with scripts in
// a dialog of it, reads there what it would do, gives it, and is told what was done: a wrangler and an operator, and
// without scripts as well. The forms, and what they say of a refusal, are whole at each
// width.
func TestEveryOrder(t *testing.T) {
	long(t)
	rules, shots := axe(t), screenshots(t)
	for _, c := range []struct {
		role    access.Role
		scripts bool
	}{{access.Wrangler, true}, {access.Operator, true}, {access.Operator, false}} {
		l := look{1440, "light", c.scripts}
		t.Run(fmt.Sprint(c.role, " ", l), func(t *testing.T) {
			d := newDesk(t, c.role)
			d.use(l)
			looks := func(name string) {
				if c.role == access.Operator && c.scripts {
					d.examine(name, rules, shots)
				}
			}
			d.replays(c.scripts, looks)
			d.shadow(looks)
			for _, o := range allOrdered() {
				switch {
				case !c.scripts && !o.first:
				case c.role < o.least:
					d.visit(o.page)
					if eval[bool](d.tab, fmt.Sprintf(`document.querySelector('a[href=%q]') !== null`, prefix+o.link)) {
						t.Errorf("%s offers %s to a %s", o.page, o.link, c.role)
					}
				default:
					d.give(o, c.scripts, looks)
				}
			}
			d.refused(looks)
		})
	}
	t.Log("screenshots are in " + shots)
}

// shadow looks at a shadow that is done, and at what it would change.
func (d *desk) shadow(look func(string)) {
	d.t.Helper()
	r := shadowtest.New(d.t, d.plane.Pool)
	r.File("requested", shadowtest.Judged(shadowtest.Documents{"<b>a</b>.xml": shadowtest.Refused(2)}), shadowtest.Judged(shadowtest.Documents{"<b>a</b>.xml": shadowtest.Valid()}))
	r.Exec("UPDATE control.replay SET state = 'done' WHERE shadow = 'try'")
	for path, want := range map[string]string{"/replays/2": "nothing of it is live", "/replays/2/compare": "1 of the 1 documents of the shadow would change"} {
		d.visit(path)
		if said := d.text("main"); !strings.Contains(said, want) {
			d.t.Errorf("%s: %s", path, said)
		}
		look(path)
	}
}

// replays asks for a replay by its form: tried in vain, tried, and asked for.
func (d *desk) replays(scripts bool, look func(string)) {
	d.t.Helper()
	d.visit("/files/add/" + reporttest.GoodZip)
	d.goes(`[...document.querySelectorAll("nav.acts a")].find(a => a.pathname.endsWith("/replays/new")).click()`)
	look("/replays/new")
	d.scripts(scripts)
	where := eval[string](d.tab, `document.querySelector("main textarea").value`)
	if !strings.Contains(where, reporttest.GoodZip) {
		d.t.Errorf("the condition for the file is %q", where)
	}
	d.fill(map[string]string{"where": "colour = 'red'"})
	d.goes(`document.querySelector("main form .btn.first").click()`)
	if said := d.text("main .notice"); !strings.Contains(said, "the condition is refused") {
		d.t.Errorf("a bad condition: %q", said)
	}
	look("/replays/new refused")
	d.scripts(scripts)
	d.complaints("status of 400")
	d.visit("/replays/new?" + url.Values{"where": {where}}.Encode())
	d.fill(map[string]string{"reason": "other <i>schemas</i>"})
	d.goes(`document.querySelector("main form .btn.first").click()`)
	if said := d.text("main .notice"); !strings.Contains(said, "It would be 1 file") {
		d.t.Errorf("tried: %q", said)
	}
	look("/replays/new tried")
	d.scripts(scripts)
	d.goes(`document.querySelector("main form .btn[value=request]").click()`)
	if said := d.text(".notice.done"); !strings.Contains(said, "Replay 1 is asked for: 1 file.") || !strings.Contains(d.text("main table"), "other <i>schemas</i>") {
		d.t.Errorf("asked for: %q\n%s", said, d.text("main"))
	}
	look("/replays")
	d.scripts(scripts)
	d.hear()
	if c := d.complaints(); len(c) > 0 {
		d.t.Errorf("a replay: the browser complains: %v", c)
	}
}

// refused gives an order that can't be done: the form comes back with what was written.
func (d *desk) refused(look func(string)) {
	d.t.Helper()
	to := "/files/add/" + reporttest.GoodZip + "/priority"
	d.visit(to)
	d.fill(map[string]string{"value": "77", "reason": "kept"})
	d.goes(`document.querySelector("main form .btn.first").click()`)
	if said := d.text("main .notice.failed"); !strings.Contains(said, "from 0 to 9") || eval[string](d.tab, `document.querySelector("main [name=reason]").value`) != "kept" {
		d.t.Errorf("refused: %q", said)
	}
	look(to + " refused")
	if c := d.complaints("status of 400"); len(c) > 0 {
		d.t.Errorf("a refused order: the browser complains: %v", c)
	}
}
