package report

import (
	"fmt"
	"math"

	"tributary/sql/control"
)

// Reputation is what fetching from a source has brought of late: by it one of several
// hostings of a file is chosen, after preference.
type Reputation struct {
	Preference int     `json:"preference"`                 // as it is defined, 0 to 9
	Fetches    float64 `json:"fetches"`                    // that still count; 0: nothing is known
	Success    float64 `json:"success"`                    // share of them that brought the right bytes
	Corrupt    float64 `json:"corrupt"`                    // share of them that brought other bytes than were published
	Speed      int64   `json:"bytes_per_second,omitempty"` // 0: nobody knows
}

// ReputationOf tells what is known of a source.
func ReputationOf(r control.Choice) Reputation {
	out := Reputation{Preference: r.Preference}
	if r.Known() {
		out.Fetches, out.Success, out.Corrupt, out.Speed = r.Tries, min(max(r.Good, 0)/r.Tries, 1), r.Corruption(), int64(math.Round(r.Speed()))
	}
	return out
}

// Text says by what the source is chosen.
func (r Reputation) Text() string {
	text := fmt.Sprintf("preference %d; ", r.Preference)
	if r.Fetches == 0 {
		return text + "nothing was fetched of late"
	}
	text += fmt.Sprintf("%.0f%% of the fetches of late brought the right bytes, %.0f%% corrupt ones", 100*r.Success, 100*r.Corrupt)
	if r.Speed > 0 {
		text += ", at " + size(r.Speed) + "/s"
	}
	return text
}
