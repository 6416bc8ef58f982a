package replay

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"tributary/internal/pg"
	"tributary/internal/screen"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/sql/control"
)

// Status is a replay and how far it is, as JSON for programs.
type Status struct {
	Replay      int64      `json:"replay"`
	Run         string     `json:"run"`
	Shadow      string     `json:"shadow,omitempty"`      // name of the shadow that its results went to
	Promotes    string     `json:"promotes,omitempty"`    // name of the shadow that it made live
	PromotedBy  int64      `json:"promoted_by,omitempty"` // number of the replay that made this shadow live
	From        string     `json:"from"`
	State       string     `json:"state"`
	Held        string     `json:"held,omitempty"` // why it waits
	Where       string     `json:"where,omitempty"`
	Since       *time.Time `json:"since,omitempty"`
	Until       *time.Time `json:"until,omitempty"`
	Offsets     string     `json:"offsets,omitempty"`
	Rate        float64    `json:"rate,omitempty"`
	RequestedAt time.Time  `json:"requested_at"`
	By          string     `json:"by"`
	Reason      string     `json:"reason,omitempty"`
	ChangedAt   time.Time  `json:"changed_at"`
	ChangedBy   string     `json:"changed_by"`
	Items       int64      `json:"items"`
	Waiting     int64      `json:"waiting"`
	UnderWay    int64      `json:"under_way"`
	Complete    int64      `json:"complete"`
	Failed      int64      `json:"failed"`
	Refused     int64      `json:"refused"`
	Lost        int64      `json:"lost,omitempty"` // items that nothing told of when control was restored
	Documents   int64      `json:"documents"`
	Ends        []End      `json:"ends,omitempty"`

	Waits []Wait `json:"waits,omitempty"`

	AsOf   *time.Time `json:"as_of,omitempty"`  // the moment that was asked about; nil: now
	Untold int64      `json:"untold,omitempty"` // of a moment: items of which events don't tell how they stood, such as those that waited or were refused
}

// Wait is how many items wait for the same thing.
type Wait struct {
	Items   int64  `json:"items"`
	Message string `json:"message"`
	Example string `json:"example"`
}

// End is how many items failed or were refused in one way.
type End struct {
	Refused   bool   `json:"refused"`
	Phase     string `json:"phase,omitempty"`
	Exception string `json:"exception"`
	Items     int64  `json:"items"`
	Example   string `json:"example"`
	Message   string `json:"message"`
}

// ReadStatus reads how far a replay is.
func ReadStatus(ctx context.Context, q pg.Querier, r *control.ReplayRun) (*Status, error) {
	n, err := control.CountReplay(ctx, q, r.ID)
	if err != nil {
		return nil, err
	}
	s := &Status{Replay: r.Number, Run: r.ID, Shadow: r.Shadow, From: r.Phase, State: r.State, Where: r.Predicate, Since: r.Since, Until: r.Until, Offsets: r.Offsets,
		Rate: r.Rate, RequestedAt: r.At.UTC(), By: r.By, Reason: r.Reason, ChangedAt: r.ChangedAt.UTC(), ChangedBy: r.ChangedBy,
		Items: n.Items, Waiting: n.Waiting, UnderWay: n.UnderWay, Complete: n.Complete, Failed: n.Failed, Refused: n.Refused, Lost: r.Lost, Documents: n.Documents}
	if n.Waiting > 0 && r.State == control.ReplayRunning {
		s.Held = r.Held
	}
	if n.Waiting+n.UnderWay == 0 && r.State == control.ReplayRunning && r.Shadow == "" {
		s.Held = notApplied
	}
	if r.Promotes != "" {
		shadow, err := control.ReadReplayRun(ctx, q, r.Promotes)
		if err != nil {
			return nil, err
		}
		s.Promotes = shadow.Shadow
	}
	if r.Shadow != "" {
		by, err := control.Promotion(ctx, q, r.ID)
		if err != nil {
			return nil, err
		}
		if by != nil {
			s.PromotedBy = by.Number
		}
	}
	return s, nil
}

// notApplied is why a replay that has nothing left to do is not done.
const notApplied = "until the warehouse has applied what came of it: late batches gather for sequence.late_limit first"

// shadowed says what a replay has to do with shadows.
func (r *Status) shadowed() string {
	switch {
	case r.PromotedBy > 0:
		return fmt.Sprintf("%s, promoted by %d", r.Shadow, r.PromotedBy)
	case r.Promotes != "":
		return "promotes " + r.Promotes
	}
	return r.Shadow
}

// StatusHeader names the columns of a list of replays.
func StatusHeader() []string {
	return []string{"replay", "from", "state", "requested", "by", "items", "waiting", "under way", "complete", "failed", "refused", "shadow", "reason"}
}

// Cells are the columns of a list of replays, as StatusHeader names them.
func (r *Status) Cells() []string {
	n := func(i int64) string { return strconv.FormatInt(i, 10) }
	return []string{n(r.Replay), r.From, r.State, r.RequestedAt.Format(time.DateTime), r.By, n(r.Items), n(r.Waiting), n(r.UnderWay), n(r.Complete), n(r.Failed), n(r.Refused), r.shadowed(), r.Reason}
}

// Explain adds why items failed, were refused, or wait.
func (r *Status) Explain(ctx context.Context, q pg.Querier) error {
	ends, err := control.ReplayEnds(ctx, q, r.Run)
	if err != nil {
		return err
	}
	for _, e := range ends {
		r.Ends = append(r.Ends, End(e))
	}
	waits, err := control.ReplayWaitsFor(ctx, q, r.Run)
	for _, w := range waits {
		r.Waits = append(r.Waits, Wait(w))
	}
	return err
}

// WriteText tells a replay to people.
func (r *Status) WriteText(w io.Writer) error {
	items := "files"
	if r.From == schemas.FromData {
		items = "centres"
	}
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	rate := ""
	if r.Rate > 0 {
		rate = strconv.FormatFloat(r.Rate, 'g', -1, 64) + " files a second"
	}
	lost := ""
	if r.Lost > 0 {
		lost = fmt.Sprintf("%d %s more: nothing told of them when control was restored, and they are not requested", r.Lost, items)
	}
	for _, line := range [][2]string{
		{"replay", fmt.Sprintf("%d, from %s: %s since %s, by %s", r.Replay, r.From, r.State, at(&r.ChangedAt), r.ChangedBy)},
		{"run", r.Run},
		{"shadow", r.shadowed()},
		{"requested", at(&r.RequestedAt) + " by " + r.By},
		{"reason", r.Reason}, {"where", r.Where}, {"since", at(r.Since)}, {"until", at(r.Until)}, {"offsets", r.Offsets}, {"rate", rate},
		{items, fmt.Sprintf("%d: %d waiting, %d under way, %d complete, %d failed, %d refused", r.Items, r.Waiting, r.UnderWay, r.Complete, r.Failed, r.Refused)},
		{"lost", lost},
		{"documents", strconv.FormatInt(r.Documents, 10)},
		{"waits", r.Held},
	} {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-10s %s\n", line[0], screen.Line(line[1])); err != nil {
			return err
		}
	}
	for _, wait := range r.Waits {
		if _, err := fmt.Fprintf(w, "%-10s %d %s such as %s: %s\n", "waits", wait.Items, items, screen.Line(wait.Example), screen.Line(wait.Message)); err != nil {
			return err
		}
	}
	if len(r.Ends) == 0 {
		return nil
	}
	var rows [][]string
	for _, e := range r.Ends {
		end := "failed at " + e.Phase
		if e.Refused {
			end = "refused"
		}
		rows = append(rows, []string{strconv.FormatInt(e.Items, 10), end, e.Exception, e.Example, e.Message})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return report.WriteTable(w, []string{items, "end", "exception", "such as", "message"}, rows)
}
