package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tributary/internal/config"
	"tributary/internal/kafka"
	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/source"
	"tributary/schemas"
	"tributary/schemas/registry"
)

// registry compares the schema registry with the schemas that events are written by.
func (d Deps) registry(ctx context.Context, r *report) {
	const key = "schema_registry.url"
	c := d.Config.Registry
	if c.URL == "" {
		return
	}
	password, err := c.Password.Resolve()
	if err != nil {
		r.skip(key, "its password can't be read")
		return
	}
	reg, err := registry.New(registry.Options{URL: c.URL, Username: c.Username, Password: password, CAFile: c.CAFile})
	if err != nil {
		r.found(CheckFailed, key, "correct schema_registry", "%s", err)
		return
	}
	codec, err := schemas.NewCodec()
	if err != nil {
		r.failed(key, err)
		return
	}
	changes, err := reg.Plan(ctx, registry.Items(codec.Versions(), func(name string) string { return kafka.TopicName(d.Config.Kafka.TopicPrefix, name) }))
	var conflict *registry.Conflict
	switch {
	case errors.As(err, &conflict):
		r.found(SchemaConflict, key, "use another registry, or a context of your own in schema_registry.url (…/contexts/.NAME)", "%s", err)
	case err != nil && strings.Contains(err.Error(), "refused ("):
		r.found(LoginRefused, key, "correct schema_registry.username and schema_registry.password", "%s", err)
	case err != nil:
		r.found(ServerUnreachable, key, "see that the registry runs, or correct schema_registry.url", "%s", err)
	case len(changes) > 0:
		r.found(SchemasMissing, key, "tributary schemas register", "%d things are to be done there, such as: %s", len(changes), changes[0])
	default:
		r.ok(key, "it has every schema")
	}
}

// traces finds out whether anybody listens where traces are sent.
func (d Deps) traces(ctx context.Context, r *report) {
	if d.Config.Traces.Endpoint == "" {
		return
	}
	const key = "traces.endpoint"
	u, err := url.Parse(d.Config.Traces.Endpoint)
	if err != nil {
		r.failed(key, err)
		return
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[u.Scheme == "https"]
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		unanswered(r, key, err)
		return
	}
	_ = conn.Close() // nothing was said
	r.ok(key, "somebody listens at %s", u.Redacted())
}

// maxAnswer bounds what is read of a provider's answer, in bytes.
const maxAnswer = 1 << 20

// oidc asks the provider with which people log in what it calls itself.
func (d Deps) oidc(ctx context.Context, r *report) {
	issuer := d.Config.Web.OIDC.Issuer
	if issuer == "" {
		return
	}
	const key = "web.oidc.issuer"
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", nil)
	if err != nil {
		r.failed(key, err)
		return
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		unanswered(r, key, err)
		return
	}
	defer answer.Body.Close()
	var said struct {
		Issuer string `json:"issuer"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&said); err != nil || answer.StatusCode != http.StatusOK {
		r.found(ServerUnreachable, key, "correct web.oidc.issuer: what stands there must lead to the provider's .well-known/openid-configuration", "%s answers %s, and no provider's description", q.URL, answer.Status)
		return
	}
	if said.Issuer != issuer {
		r.found(IssuerDiffers, key, "write into web.oidc.issuer exactly what the provider calls itself", "the provider calls itself %q", schemas.Cut(said.Issuer, 200))
		return
	}
	r.ok(key, "the provider answers")
}

// sources are the checks of the configuration's sources, each one of its own.
func (d Deps) sources() []check {
	var out []check
	for _, s := range d.Config.Sources {
		out = append(out, check{"source", func(ctx context.Context, r *report) { d.source(ctx, r, s) }})
	}
	return out
}

func (d Deps) source(ctx context.Context, r *report, s config.Source) {
	about := "source " + s.ID
	if s.State == config.StateMaintenance {
		r.skip(about, "it is in maintenance")
		return
	}
	c, err := source.Remote(s, d.Config.Poll.ConnectTimeout, d.Config.Poll.IdleTimeout, d.Config.Limits)
	if err != nil {
		r.skip(about, "a secret of it can't be read")
		return
	}
	steps := connectors.All().Check(ctx, c, schemas.Actions())
	if i := slices.IndexFunc(steps, func(s remote.Step) bool { return !s.OK }); i >= 0 {
		r.found(SourceUnreachable, about, steps[i].Remedy, "%s: %s", strings.ReplaceAll(steps[i].Name, "_", " "), steps[i].Detail)
		return
	}
	r.ok(about, "%s can be listed", source.Describe(s).URL)
}
