package restore

import (
	"fmt"
	"io"

	"tributary/sql/control"
)

// WriteText says what came back, and what did not.
func (r Report) WriteText(w io.Writer) error {
	lines := []string{
		fmt.Sprintf("control was made anew: %d sources, %d sessions, %d files with %d looks, %d versions in the order, which goes on behind position %d", r.Sources, r.Sessions, r.Files, r.Looks, r.Versions, r.Position),
		fmt.Sprintf("%d files are under way and go on with tributary up; %d looks are still to be decided about; %d batches were closed whose end was lost", r.Outstanding, r.Announced, r.Closed),
	}
	if r.Reopened > 0 {
		lines = append(lines, fmt.Sprintf("%d batches go on of which a part was ordered", r.Reopened))
	}
	if r.Replays > 0 || r.Letters > 0 {
		lines = append(lines, fmt.Sprintf("%d replays and decisions about %d dead letters are back", r.Replays, r.Letters))
	}
	for _, o := range r.Open {
		line := fmt.Sprintf("replay %d goes on by itself: %d files that were under way are requested again", o.Number, o.Again)
		if o.State != control.ReplayRunning {
			line = fmt.Sprintf("replay %d is stopped: tributary replay resume %d requests %d files again that were under way", o.Number, o.Number, o.Again)
		}
		if o.Unknown > 0 {
			line += fmt.Sprintf("; which its other %d were, refused or not requested yet, nothing tells: ask for a new replay of them", o.Unknown)
		}
		lines = append(lines, line)
	}
	if r.LettersLost > 0 {
		lines = append(lines, fmt.Sprintf("%d decisions about dead letters could not be brought back: those letters count as open", r.LettersLost))
	}
	lines = append(lines, "polls that were under way are not brought back: the next session lists every source again")
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
