package history

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/cespare/xxhash/v2"

	"tributary/schemas"
	historysql "tributary/sql/history"
)

// Rollup is a rollup of the history, compared with the same from the log.
type Rollup struct {
	Name         string   `json:"rollup"`
	LogEvents    uint64   `json:"log_events"` // events, or steps
	RollupEvents uint64   `json:"rollup_events"`
	Days         []string `json:"days,omitempty"` // on which it differs, at most 10; none where it has no days
	Skipped      string   `json:"skipped,omitempty"`
	Equal        bool     `json:"equal"`
}

// rollup tells how a rollup adds up. A row's figures are made one number, times
// the hash of what the row is about; these are summed per day, from the log
// step by step and from the rollup row by row, so that all of the rollup's rows
// are compared in the memory of one number a day. Figures that don't add up
// (distinct files, quantiles) are not in it.
type rollup struct {
	name   string
	day    string // expression; dayless where it has no time
	key    string // the columns hashed, as RowBinary
	count  string // events or steps
	weight string
	step   func(s *step) (key []byte, weight uint64, ok bool)
}

// dayless is the day of all rows of a rollup that has no time.
const dayless = "toDate(0)"

// step is one phase that a record tells of.
type step struct {
	buf                             []byte
	at                              time.Time
	centre, source, entity          string
	phase, status, exception        string
	bytes, rows                     int64
	requested, started, finishedEnd *time.Time
}

func rollups() []rollup {
	throughput := func(name, column string, length int64) rollup {
		return rollup{
			name: name, day: "toDate(" + column + ")", count: "events", weight: "events + 3 * bytes + 5 * rows",
			key: "toUInt32(toUnixTimestamp(toDateTime(" + column + ", 'UTC'))), centre, source, entity, phase, status",
			step: func(s *step) ([]byte, uint64, bool) {
				b := appendStart(s.buf[:0], s.at, length)
				for _, x := range []string{s.centre, s.source, s.entity, s.phase, s.status} {
					b = appendText(b, x)
				}
				return b, 1 + 3*uint64(s.bytes) + 5*uint64(s.rows), s.phase != ""
			},
		}
	}
	failures := func(name, day, key string, dated bool) rollup {
		return rollup{
			name: name, day: day, count: "events", weight: "events", key: key + "centre, source, entity, phase, exception",
			step: func(s *step) ([]byte, uint64, bool) {
				b := s.buf[:0]
				if dated {
					b = appendStart(b, s.at, 86400)
				}
				for _, x := range []string{s.centre, s.source, s.entity, s.phase, s.exception} {
					b = appendText(b, x)
				}
				return b, 1, s.status == string(schemas.Failed)
			},
		}
	}
	return []rollup{
		throughput("throughput_minute", "minute", 60),
		throughput("throughput_hour", "hour", 3600),
		throughput("throughput_day", "day", 86400),
		failures("failures", dayless, "", false),
		failures("failures_day", "day", "toUInt32(toUnixTimestamp(toDateTime(day, 'UTC'))), ", true),
		{
			name: "latency", day: "toDate(hour)", count: "steps", weight: "steps + 3 * microseconds",
			key: "toUInt32(toUnixTimestamp(hour)), centre, source, phase",
			step: func(s *step) ([]byte, uint64, bool) {
				begun := cmp.Or(s.started, s.requested)
				if begun == nil || s.finishedEnd == nil || s.phase == "" {
					return nil, 0, false
				}
				b := appendStart(s.buf[:0], s.at, 3600)
				for _, x := range []string{s.centre, s.source, s.phase} {
					b = appendText(b, x)
				}
				return b, 1 + 3*uint64(s.finishedEnd.UnixMicro()-begun.UnixMicro()), true
			},
		},
	}
}

// appendStart appends the beginning of the span of time, of so many seconds,
// that holds t.
func appendStart(b []byte, t time.Time, length int64) []byte {
	s := t.Unix()
	return binary.LittleEndian.AppendUint32(b, uint32(s-s%length))
}

// sum is what is added up.
type sum struct{ count, check uint64 }

// stepsOf calls each with every phase that an event tells of, as the view once
// shows them: what was passed on the way is done.
func stepsOf(e *schemas.StatusChanged, at time.Time, buf []byte, each func(*step)) {
	s := step{
		buf: buf, at: at, centre: e.Centre, source: e.Source, entity: e.Entity, bytes: e.Bytes, rows: e.Rows,
		requested: moment(e.RequestedAt), status: string(schemas.Done),
	}
	for _, p := range e.Passed {
		s.phase, s.started, s.finishedEnd = p.Phase, moment(p.StartedAt), moment(p.FinishedAt)
		each(&s)
	}
	s.phase, s.status, s.exception, s.started, s.finishedEnd = e.Phase, e.Status, e.Exception, moment(e.StartedAt), moment(e.FinishedAt)
	each(&s)
}

// storedRollups adds each rollup up.
func (v *verification) storedRollups(ctx context.Context, to map[int32]interval) error {
	for _, r := range rollups() {
		have, err := v.rollup(ctx, r, to)
		if err != nil {
			return err
		}
		v.have = append(v.have, have)
	}
	return nil
}

// rollups compares each rollup with what was added up from the log.
func (v *verification) rollups(ctx context.Context, to map[int32]interval, whole bool) error {
	want, err := v.sums.total()
	if err != nil {
		return err
	}
	if v.have == nil && whole && v.out.Expired == 0 {
		if err := v.storedRollups(ctx, to); err != nil {
			return err
		}
	}
	for i, r := range rollups() {
		out := Rollup{Name: r.name}
		for _, s := range want[i] {
			out.LogEvents += s.count
		}
		switch {
		case !whole || v.out.Expired > 0:
			out.Skipped = "the history and the log don't go equally far back"
			v.out.RollupsSkipped++
		default:
			have := v.have[i]
			days := maps.Clone(want[i])
			maps.Copy(days, have)
			out.Equal = true
			for _, day := range slices.Sorted(maps.Keys(days)) {
				out.RollupEvents += have[day].count
				if have[day] == want[i][day] {
					continue
				}
				out.Equal = false
				if r.day != dayless && len(out.Days) < 10 {
					out.Days = append(out.Days, time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly))
				}
			}
			v.out.Rollups++
			if out.Equal {
				v.out.RollupsEqual++
			} else {
				v.out.Differences++
			}
		}
		if v.o.Rollup != nil {
			if err := v.o.Rollup(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// rollup adds up a rollup of the rows up to the given offsets.
func (v *verification) rollup(ctx context.Context, r rollup, to map[int32]interval) (map[int32]sum, error) {
	limits := []string{"0"}
	for p, i := range to {
		limits = append(limits, fmt.Sprintf("(partition = %d AND offset < %d)", p, i.to))
	}
	// What the sink inserts meanwhile is left out, wherever event is read.
	filter := fmt.Sprintf("{'%s.%s': '%s'}", v.h.deps.Database, liveTable, strings.Join(limits, " OR "))
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"additional_table_filters": filter}))
	out := map[int32]sum{}
	var day int32
	var s sum
	for err := range historysql.Each(ctx, v.conn, "verify the rollup "+r.name, []any{&day, &s.count, &s.check}, "SELECT toInt32("+r.day+") AS d, toUInt64(sum("+r.count+")), sum(xxHash64(formatRowNoNewline('RowBinary', "+r.key+")) * toUInt64("+r.weight+")) FROM "+r.name+" GROUP BY d") {
		if err != nil {
			return nil, err
		}
		out[day] = s
	}
	return out, nil
}

func checksum(key []byte, weight uint64) uint64 { return xxhash.Sum64(key) * weight }
