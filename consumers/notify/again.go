package notify

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/crashpoint"
	"tributary/internal/kafka"
	"tributary/internal/notice"
	"tributary/schemas"
	"tributary/sql/control"
)

const (
	// lookForLetters is how often it is asked whether dead letters are to be told again.
	lookForLetters = 15 * time.Second
	// lettersAtOnce is how many of them are read at a time.
	lettersAtOnce = 200
)

// again tells dead letters that somebody has retried, one after the other. A target that
// can't be reached keeps its letters waiting, and no other's.
func (n *Notify) again(ctx context.Context) error {
	all, err := control.OrderedNotices(ctx, n.deps.Control, lettersAtOnce)
	if err != nil {
		return err
	}
	away := map[string]bool{}
	for _, o := range all {
		r, err := n.letter(ctx, o.Place)
		if err != nil {
			return err
		}
		target := ""
		if r != nil {
			target = strings.TrimPrefix(headerOf(r, kafka.HeaderStage), Name+".")
		}
		if away[target] {
			continue
		}
		err = n.tellLetter(ctx, target, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !notice.IsRefused(err) {
			n.deps.Log.Warn("a dead letter can't be told again; its target's letters wait", "target", target, "letter", o.Place, "error", schemas.Clean(err.Error()))
			if away[target] = true; n.deps.Now().Sub(o.At) < n.cfg.GiveUpAfter.D() {
				continue
			}
		}
		crashpoint.At(Name, "again", "told")
		failed := ""
		if err != nil {
			failed = schemas.Clean(err.Error())
		}
		if err := control.EndNotice(ctx, n.deps.Control, o.ID, failed, n.deps.Now()); err != nil {
			return err
		}
	}
	return nil
}

// tellLetter tells what a letter's record leads to. What nobody can be told is refused.
func (n *Notify) tellLetter(ctx context.Context, target string, r *kgo.Record) error {
	if r == nil {
		return &notice.Refused{Why: "the letter is not in its topic any more"}
	}
	s := n.senders[target]
	if s == nil {
		return &notice.Refused{Why: fmt.Sprintf("the configuration has no target %q that is told at once", target)}
	}
	m, err := n.deps.Codec.Decode(kafka.FromKgo(r))
	if err != nil {
		return &notice.Refused{Why: err.Error()}
	}
	all := s.rules.wanted(m)
	if len(all) == 0 {
		return &notice.Refused{Why: "no rule of the configuration tells it to " + target + " any more"}
	}
	for _, what := range all {
		if err := s.to.Deliver(ctx, what); err != nil {
			return err
		}
		n.told.WithLabelValues(target, resultDelivered).Inc()
	}
	return nil
}

// letter reads the dead letter at a place, as notify:2:17; nil: there is none.
func (n *Notify) letter(ctx context.Context, place string) (*kgo.Record, error) {
	parts := strings.Split(place, ":")
	if len(parts) != 3 {
		return nil, nil
	}
	partition, perr := strconv.ParseInt(parts[1], 10, 32)
	offset, oerr := strconv.ParseInt(parts[2], 10, 64)
	if perr != nil || oerr != nil {
		return nil, nil //nolint:nilerr // there is none at such a place
	}
	topic := kafka.DLQName(n.deps.Prefix, schemas.StatusChangedTopic, Name)
	reader := kafka.Reader{Connect: n.deps.Connect, SkipDeleted: true}
	spans, err := reader.Bounds(ctx, topic)
	if err != nil {
		return nil, err
	}
	var found *kgo.Record
	for _, s := range spans {
		if s.Partition != int32(partition) || offset < s.From || offset >= s.To {
			continue
		}
		s.From, s.To = offset, offset+1
		err = reader.Read(ctx, []kafka.Span{s}, func(c kafka.Chunk) error {
			for _, r := range c.Records {
				found = r
			}
			return nil
		})
	}
	return found, err
}

func headerOf(r *kgo.Record, key string) (value string) {
	for _, h := range r.Headers {
		if h.Key == key {
			value = string(h.Value) // the last is the runtime's; an event's own come before it
		}
	}
	return value
}
