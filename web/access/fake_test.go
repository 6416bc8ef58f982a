package access

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"tributary/internal/centres"
	"tributary/internal/pg"
	"tributary/sql/control"
	"tributary/sql/control/controltest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// people is what tests have become of accounts: over control, by the orders that
// commands give.
type people interface {
	Add(ctx context.Context, p Person, password string, o Order) error
	Edit(ctx context.Context, p Person, o Order) error
	SetPassword(ctx context.Context, name, password string, o Order) error
	Disable(ctx context.Context, name string, o Order) error
	Enable(ctx context.Context, name string, o Order) error
	Remove(ctx context.Context, name string, o Order) error
	AddToken(ctx context.Context, p Person, life time.Duration, o Order) (string, error)
	RevokeToken(ctx context.Context, name string, o Order) error
	linkMakers
}

// linkMakers is what tests have become of links.
type linkMakers interface {
	AddLink(ctx context.Context, role Role, o Order) (string, error)
	EndLinks(ctx context.Context, o Order) (links, sessions int64, err error)
	AddCentreLink(ctx context.Context, centre string, life time.Duration, o Order) (string, error)
	RevokeCentreLink(ctx context.Context, number string, o Order) error
}

// eachStore runs a test over control, and over a store in memory that stands for it
// where tests of pages need none.
func eachStore(t *testing.T, test func(t *testing.T, store Store, people people, clock *clock)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { inMemory(t, test) })
	t.Run("control", func(t *testing.T) {
		pool := controltest.Open(t, 10)
		centre(t, pool, "Ics")
		c := newClock()
		test(t, Control{pool}, Accounts{Pool: pool, Now: c.Now, cost: cheap}, c)
	})
}

// centre has control know a centre.
func centre(t *testing.T, pool *pgxpool.Pool, name string) {
	t.Helper()
	must(t, pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: name, Active: true}, 1)
		return err
	}))
}

func linkNumber(l control.CentreLink) string { return strconv.FormatInt(l.Number, 10) }

func inMemory(t *testing.T, test func(t *testing.T, store Store, people people, clock *clock)) {
	t.Helper()
	c := newClock()
	m := &memory{now: c.Now, accounts: map[string]control.Account{}, tokens: map[string]*storedToken{}, sessions: map[string]*storedSession{}, links: map[string]storedLink{}, centreLinks: map[string]*control.CentreLink{}}
	test(t, m, m, c)
}

// clock stands until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// memory is a store in memory, with what people do to it.
type memory struct {
	mu       sync.Mutex
	now      func() time.Time
	accounts map[string]control.Account
	tokens   map[string]*storedToken // by name
	sessions map[string]*storedSession
	links    map[string]storedLink

	centreLinks map[string]*control.CentreLink
}

type storedToken struct {
	control.AccountToken
	secret []byte
}

type storedSession struct {
	account string // empty: a link began it
	by      Person
	begun   time.Time
	seen    time.Time
}

type storedLink struct {
	role    Role
	by      string
	expires time.Time
}

// cheap is what the hashes of tests cost, which compute many.
var cheap = cost{memory: 64, time: 1, threads: 1}

var errRefused = errors.New("refused")

func (m *memory) Account(_ context.Context, name string) (*control.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.accounts[name]; ok {
		return &a, nil
	}
	return nil, nil
}

func (m *memory) BeginSession(_ context.Context, a control.Account, session []byte, now time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is, ok := m.accounts[a.Name]
	if !ok || is.Password != a.Password || is.DisabledAt != nil {
		return false, nil
	}
	m.sessions[string(session)] = &storedSession{account: a.Name, begun: now, seen: now}
	return true, nil
}

func (m *memory) UseLink(_ context.Context, link, session []byte, now time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.links[string(link)]
	if !ok || !now.Before(l.expires) {
		return false, nil
	}
	delete(m.links, string(link))
	m.sessions[string(session)] = &storedSession{by: Person{Name: "link:" + l.by, Role: l.role}, begun: now, seen: now}
	return true, nil
}

func (m *memory) Session(_ context.Context, session []byte) (*control.AccountSession, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[string(session)]
	if !ok {
		return nil, nil
	}
	out := &control.AccountSession{Name: s.by.Name, Role: s.by.Role.String(), BegunAt: s.begun, SeenAt: s.seen}
	if a, ok := m.accounts[s.account]; ok {
		out.Name, out.Role, out.Centre, out.DisabledAt = a.Name, a.Role, a.Centre, a.DisabledAt
	}
	return out, nil
}

func (m *memory) Token(_ context.Context, token []byte) (*control.AccountToken, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tokens {
		if bytes.Equal(t.secret, token) {
			out := t.AccountToken
			return &out, nil
		}
	}
	return nil, nil
}

func (m *memory) SeeSession(_ context.Context, session []byte, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.sessions[string(session)]; ok && s.seen.Before(now) {
		s.seen = now
	}
	return nil
}

func (m *memory) SeeToken(_ context.Context, token []byte, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tokens {
		if bytes.Equal(t.secret, token) {
			t.UsedAt = &now
		}
	}
	return nil
}

func (m *memory) EndSession(_ context.Context, session []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, string(session))
	return nil
}

func (m *memory) ForgetSessions(_ context.Context, unseen time.Time, account string, most int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var of []string
	for secret, s := range m.sessions {
		if s.seen.Before(unseen) {
			delete(m.sessions, secret)
		} else if s.account == account {
			of = append(of, secret)
		}
	}
	slices.SortFunc(of, func(a, b string) int {
		return cmp.Or(m.sessions[b].seen.Compare(m.sessions[a].seen), cmp.Compare(a, b))
	})
	for _, secret := range of[min(most, len(of)):] {
		delete(m.sessions, secret)
	}
	return nil
}

func (m *memory) Add(_ context.Context, p Person, password string, _ Order) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accounts[p.Name] = control.Account{Name: p.Name, Role: p.Role.String(), Centre: p.Centre, Password: cheap.stored(password), CreatedAt: m.now()}
	return nil
}

// edit changes an account, and ends its sessions if it says so.
func (m *memory) edit(name string, change func(*control.Account) (end bool)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.accounts[name]
	if !ok {
		return errRefused
	}
	if change(&a) {
		for secret, s := range m.sessions {
			if s.account == name {
				delete(m.sessions, secret)
			}
		}
	}
	m.accounts[name] = a
	return nil
}

func (m *memory) Edit(_ context.Context, p Person, _ Order) error {
	return m.edit(p.Name, func(a *control.Account) bool { a.Role, a.Centre = p.Role.String(), p.Centre; return false })
}

func (m *memory) SetPassword(_ context.Context, name, password string, _ Order) error {
	return m.edit(name, func(a *control.Account) bool { a.Password = cheap.stored(password); return true })
}

func (m *memory) Disable(_ context.Context, name string, _ Order) error {
	now := m.now()
	return m.edit(name, func(a *control.Account) bool { a.DisabledAt = &now; return true })
}

func (m *memory) Enable(_ context.Context, name string, _ Order) error {
	return m.edit(name, func(a *control.Account) bool { a.DisabledAt = nil; return false })
}

func (m *memory) Remove(_ context.Context, name string, _ Order) error {
	err := m.edit(name, func(*control.Account) bool { return true })
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.accounts, name)
	return err
}

func (m *memory) AddToken(_ context.Context, p Person, life time.Duration, _ Order) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	secret := newSecret()
	m.tokens[p.Name] = &storedToken{control.AccountToken{Name: p.Name, Role: p.Role.String(), Centre: p.Centre, CreatedAt: m.now(), ExpiresAt: m.now().Add(life)}, digest(secret)}
	return tokenPrefix + secret, nil
}

func (m *memory) RevokeToken(_ context.Context, name string, _ Order) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.tokens[name].RevokedAt = &now
	return nil
}

func (m *memory) AddLink(_ context.Context, role Role, o Order) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	secret := newSecret()
	m.links[string(digest(secret))] = storedLink{role, o.By, m.now().Add(LinkLife)}
	return loginPath + "/" + secret, nil
}

func (m *memory) EndLinks(_ context.Context, _ Order) (links, sessions int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	links = int64(len(m.links))
	clear(m.links)
	for secret, s := range m.sessions {
		if s.account == "" {
			delete(m.sessions, secret)
			sessions++
		}
	}
	return links, sessions, nil
}

func (m *memory) CentreLink(_ context.Context, link []byte) (*control.CentreLink, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.centreLinks[string(link)]; ok {
		out := *l
		return &out, nil
	}
	return nil, nil
}

func (m *memory) SeeCentreLink(_ context.Context, number int64, now time.Time) error {
	return m.changeCentreLink(number, func(l *control.CentreLink) { l.UsedAt = &now })
}

func (m *memory) changeCentreLink(number int64, change func(*control.CentreLink)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.centreLinks {
		if l.Number == number {
			change(l)
		}
	}
	return nil
}

func (m *memory) AddCentreLink(_ context.Context, centre string, life time.Duration, o Order) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	secret := newSecret()
	m.centreLinks[string(digest(secret))] = &control.CentreLink{Number: int64(len(m.centreLinks) + 1), Centre: centre, MadeBy: o.By, CreatedAt: m.now(), ExpiresAt: m.now().Add(life)}
	return CentrePath + "/" + secret, nil
}

func (m *memory) RevokeCentreLink(_ context.Context, number string, _ Order) error {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	now := m.now()
	return m.changeCentreLink(n, func(l *control.CentreLink) { l.RevokedAt = &now })
}
