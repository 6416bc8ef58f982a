package insert

import (
	"fmt"
	"strings"
	"time"

	"tributary/schemas"
)

// rank is the version's rank as text that sorts: versions shown by the
// producing centre's own source are above others, then the later look, then the
// later acceptance of the same bytes, then the hash.
func rank(ev *schemas.DocumentOrdered) string {
	own := byte('0')
	if ev.RankOwn {
		own = '1'
	}
	var t time.Time
	if ev.RankTime != nil {
		t = ev.RankTime.UTC()
	}
	return fmt.Sprintf("%c %s %010d %s", own, t.Format("2006-01-02T15:04:05.000000"), ev.RankOrdinal, ev.Archive)
}

// versionKey decides which of the claims on a natural key is current: the
// greatest. It is text that sorts byte by byte. Names are followed by the
// lowest character that can separate them, and hold none of it.
func versionKey(ev *schemas.DocumentOrdered) string {
	return strings.Join([]string{
		ev.FileDate, fmt.Sprintf("%019d", ev.FileInc),
		ev.DocDate, fmt.Sprintf("%019d", ev.DocInc),
		fmt.Sprint(schemas.ActionOrder(ev.Action)),
		plain(ev.FileName), plain(ev.Entry), rank(ev),
		fmt.Sprintf("%019d", ev.RunNumber), fmt.Sprintf("%010d", ev.Attempt),
	}, "\t")
}

// plain replaces what would disturb the order, or Postgres.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, name)
}
