package schemas

import (
	"strconv"
	"strings"
)

// Numbered is SQL with the numbers of the phases and statuses that it names:
// {phase upload} stands where a statement compares phase_id, {status failed}
// where it compares status_id. Phases and Statuses are the one place that gives
// the numbers.
func Numbered(sql string) string {
	var names []string
	for _, p := range Phases() {
		names = append(names, "{phase "+string(p)+"}", strconv.Itoa(p.ID()))
	}
	for _, s := range Statuses() {
		names = append(names, "{status "+string(s)+"}", strconv.Itoa(s.ID()))
	}
	return strings.NewReplacer(names...).Replace(sql)
}
