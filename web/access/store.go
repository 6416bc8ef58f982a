package access

import (
	"context"
	"fmt"
	"time"

	"tributary/internal/pg"
	"tributary/sql/control"
)

// Store is what the guard asks and tells. Secrets are their digests. What is nil
// without an error is not there.
type Store interface {
	Account(ctx context.Context, name string) (*control.Account, error)
	// BeginSession begins none, and reports false, if the account is not any more as
	// it is given.
	BeginSession(ctx context.Context, a control.Account, session []byte, now time.Time) (bool, error)
	// UseLink begins a session by a link that was not used and is not over, once.
	UseLink(ctx context.Context, link, session []byte, now time.Time) (bool, error)
	// Session and Token return what there is, also if it is over.
	Session(ctx context.Context, session []byte) (*control.AccountSession, error)
	Token(ctx context.Context, token []byte) (*control.AccountToken, error)
	// SeeSession and SeeToken note when they asked last.
	SeeSession(ctx context.Context, session []byte, now time.Time) error
	SeeToken(ctx context.Context, token []byte, now time.Time) error
	EndSession(ctx context.Context, session []byte) error
	CentreLinks
	// ForgetSessions deletes some of the sessions that have not asked since, and those
	// of an account beyond so many.
	ForgetSessions(ctx context.Context, unseen time.Time, account string, most int) error
}

// CentreLinks are the part of the store that has the links of centres.
type CentreLinks interface {
	// CentreLink returns what there is, also if it is over.
	CentreLink(ctx context.Context, link []byte) (*control.CentreLink, error)
	// SeeCentreLink notes when it was used last.
	SeeCentreLink(ctx context.Context, number int64, now time.Time) error
}

// Control is the store in control.
type Control struct{ pg.Querier }

// Account implements Store.
func (c Control) Account(ctx context.Context, name string) (*control.Account, error) {
	return control.ReadAccount(ctx, c, name)
}

// BeginSession implements Store.
func (c Control) BeginSession(ctx context.Context, a control.Account, session []byte, now time.Time) (bool, error) {
	return control.BeginAccountSession(ctx, c, a, session, now)
}

// UseLink implements Store.
func (c Control) UseLink(ctx context.Context, link, session []byte, now time.Time) (bool, error) {
	return control.UseLink(ctx, c, link, session, now)
}

// Session implements Store.
func (c Control) Session(ctx context.Context, session []byte) (*control.AccountSession, error) {
	return control.ReadAccountSession(ctx, c, session)
}

// Token implements Store.
func (c Control) Token(ctx context.Context, token []byte) (*control.AccountToken, error) {
	return control.ReadToken(ctx, c, token)
}

// SeeSession implements Store.
func (c Control) SeeSession(ctx context.Context, session []byte, now time.Time) error {
	return control.SeeAccountSession(ctx, c, session, now)
}

// SeeToken implements Store.
func (c Control) SeeToken(ctx context.Context, token []byte, now time.Time) error {
	return control.SeeToken(ctx, c, token, now)
}

// EndSession implements Store.
func (c Control) EndSession(ctx context.Context, session []byte) error {
	return control.EndAccountSession(ctx, c, session)
}

// CentreLink implements Store.
func (c Control) CentreLink(ctx context.Context, link []byte) (*control.CentreLink, error) {
	return control.ReadCentreLink(ctx, c, link)
}

// SeeCentreLink implements Store.
func (c Control) SeeCentreLink(ctx context.Context, number int64, now time.Time) error {
	return control.SeeCentreLink(ctx, c, number, now)
}

// ForgetSessions implements Store.
func (c Control) ForgetSessions(ctx context.Context, unseen time.Time, account string, most int) error {
	return control.ForgetAccountSessions(ctx, c, unseen, account, most)
}

// person is who has an account, a session or a token.
func person(name, role, centre string) (Person, error) {
	r, err := ParseRole(role)
	if err != nil {
		return Person{}, fmt.Errorf("%s: %w: upgrade this member", name, err)
	}
	return Person{Name: name, Role: r, Centre: centre}, nil
}
