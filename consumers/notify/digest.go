package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
	"tributary/internal/notice"
	"tributary/schemas"
)

const (
	// listed is how many notices a digest tells one by one; of the others it tells the number.
	listed = 200
	// digestMessage is how much of each notice's message stands in a digest, in bytes.
	digestMessage = 400
	// retryDigest is the pause after a digest that could not be sent.
	retryDigest = time.Minute
	// digestMark stands before the time of the last digest, beside the group's offsets.
	digestMark = "digest "
)

// mailer sends mail: notice.Mail.
type mailer interface {
	Send(ctx context.Context, id, subject, text string) error
}

// digest tells one target, every so often, all that came since the last time, in one
// mail. Its position is that of its group, which no member joins: it moves once the mail
// is handed over, with the time beside it.
type digest struct {
	n      *Notify
	target string
	mail   mailer
	rules  rules
	every  time.Duration
}

func (n *Notify) newDigest(t config.NotifyTarget, mail mailer) *digest {
	return &digest{n: n, target: t.ID, mail: mail, rules: of(n.cfg.Rules, t.ID), every: t.Digest.D()}
}

// Run sends digests until ctx ends, as long as no other member does.
func (d *digest) Run(ctx context.Context) error {
	report := func(err error) {
		d.n.deps.Log.Warn("whose turn it is to send a digest can't be asked; trying again", "target", d.target, "error", schemas.Clean(err.Error()))
	}
	d.n.deps.Lease(stageOf(d.target)).Keep(ctx, report, func(ctx context.Context, _ int64) error {
		for ctx.Err() == nil {
			wait, err := d.once(ctx)
			if err != nil {
				if ctx.Err() != nil {
					return nil //nolint:nilerr // an end that was asked for is no error
				}
				d.n.told.WithLabelValues(d.target, resultFailed).Inc()
				d.n.deps.Log.Warn("a digest can't be sent; trying again", "target", d.target, "error", schemas.Clean(err.Error()))
				wait = retryDigest
			}
			_ = backoff.Sleep(ctx, wait)
		}
		return nil
	})
	return nil
}

// once sends what is due, and returns how long it is until something may be.
func (d *digest) once(ctx context.Context) (wait time.Duration, err error) {
	client, err := d.n.deps.Connect()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	now := d.n.deps.Now()
	at, err := positions(ctx, admin, d.n.deps.Prefix, d.target, digestMark+now.UTC().Format(time.RFC3339Nano))
	if err != nil {
		return 0, err
	}
	if next := d.after(at); now.Before(next) {
		return min(next.Sub(now), time.Minute), nil // the clock may be set
	}
	all, err := d.collect(ctx, at)
	if err != nil {
		return 0, err
	}
	if all.count > 0 {
		if err := d.mail.Send(ctx, d.id(at), all.subject(), all.text()); err != nil {
			return 0, err
		}
		crashpoint.At(Name, "digest", "sent")
		d.n.told.WithLabelValues(d.target, resultDelivered).Add(float64(all.count))
	}
	return 0, d.commit(ctx, admin, at, now)
}

// after is when the next digest is due: at a whole number of intervals, in UTC.
func (d *digest) after(at []place) time.Time {
	var last time.Time
	for _, p := range at {
		if text, ok := strings.CutPrefix(p.metadata, digestMark); ok {
			if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.After(last) {
				last = t
			}
		}
	}
	return last.UTC().Truncate(d.every).Add(d.every)
}

// id follows from where the digest begins: sent again after a crash it is the same mail.
func (d *digest) id(at []place) string {
	parts := []string{"digest", d.target}
	for _, p := range at {
		parts = append(parts, fmt.Sprint(p.Partition, ":", p.From))
	}
	return schemas.ID(parts...)
}

// commit moves the position to the end of what was told.
func (d *digest) commit(ctx context.Context, admin *kadm.Client, at []place, now time.Time) error {
	var to kadm.Offsets
	for _, p := range at {
		to.Add(kadm.Offset{Topic: p.Topic, Partition: p.Partition, At: p.To, LeaderEpoch: -1, Metadata: digestMark + now.UTC().Format(time.RFC3339Nano)})
	}
	answer, err := admin.CommitOffsets(ctx, Group(d.n.deps.Prefix, d.target), to)
	if err = errors.Join(err, answer.Error()); err != nil {
		return fmt.Errorf("move the position of a digest: %w", err)
	}
	crashpoint.At(Name, "digest", "committed")
	return nil
}

// collection is what a digest tells.
type collection struct {
	first []notice.Notice
	kinds map[string]int
	count int
	seen  map[string]bool
	pages string // Deps.Pages
}

func (d *digest) collect(ctx context.Context, at []place) (*collection, error) {
	c := &collection{kinds: map[string]int{}, seen: map[string]bool{}, pages: d.n.deps.Pages}
	var spans []kafka.Span
	for _, p := range at {
		spans = append(spans, p.Span)
	}
	reader := kafka.Reader{Connect: d.n.deps.Connect, SkipDeleted: true}
	err := reader.Read(ctx, spans, func(chunk kafka.Chunk) error {
		for _, r := range chunk.Records {
			m, err := d.n.deps.Codec.Decode(kafka.FromKgo(r))
			if errors.Is(err, schemas.ErrUnknownSchema) {
				return fmt.Errorf("the record %d of partition %d of %s: %w", r.Offset, r.Partition, r.Topic, err)
			}
			if err == nil { // else it is no event
				c.add(d.rules.wanted(m)...)
			}
		}
		return nil
	})
	slices.SortStableFunc(c.first, func(a, b notice.Notice) int { return a.Time.Compare(b.Time) })
	return c, err
}

func (c *collection) add(all ...notice.Notice) {
	for _, n := range all {
		if c.seen[n.ID] {
			continue
		}
		if len(c.seen) < remembered {
			c.seen[n.ID] = true
		}
		c.count++
		c.kinds[n.Kind]++
		if len(c.first) < listed {
			c.first = append(c.first, n.At(c.pages).Tidy())
		}
	}
}

func (c *collection) subject() string {
	var parts []string
	for _, kind := range config.NotifyKinds() {
		if n := c.kinds[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

func (c *collection) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.subject())
	for _, n := range c.first {
		fmt.Fprintf(&b, "\n%s  %s\n", n.Time.UTC().Format(time.RFC3339), n.Title)
		if n.Data.Document != "" {
			fmt.Fprintf(&b, "    %s\n", n.Data.Document)
		}
		if n.Data.Message != "" {
			fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(schemas.Cut(n.Data.Message, digestMessage), "\n", "\n    "))
		}
		if n.Data.URL != "" {
			fmt.Fprintf(&b, "    %s\n", n.Data.URL)
		}
	}
	if more := c.count - len(c.first); more > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", more)
	}
	return b.String()
}
