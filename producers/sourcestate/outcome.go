package sourcestate

import "tributary/sql/control"

// Outcome is what became of one source that was meant to be resumed.
type Outcome struct {
	Source  string `json:"source"`
	Resumed bool   `json:"resumed"`
	Detail  string `json:"detail"`
}

// Outcomes are the sources that were named, or all that were resumed.
func Outcomes(named, resumed []string, found []control.Standing) []Outcome {
	done, state := map[string]bool{}, map[string]string{}
	for _, id := range resumed {
		done[id] = true
	}
	for _, s := range found {
		state[s.ID] = s.State
	}
	if len(named) == 0 {
		named = resumed
	}
	rows := make([]Outcome, 0, len(named))
	for _, id := range named {
		row := Outcome{id, done[id], "it is available, and due at once"}
		switch {
		case row.Resumed:
		case state[id] == "":
			row.Detail = "it was never polled: nothing has started with it in the configuration yet"
		default:
			row.Detail = "it was not suspended: it is " + state[id]
		}
		rows = append(rows, row)
	}
	return rows
}
