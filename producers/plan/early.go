package plan

import (
	"tributary/schemas"
	"tributary/sql/control"
)

// early judges an unzip.finished that was kept until its download was judged.
func (w *World) early(f *File, a *control.Acquisition, t *control.Attempt) {
	_, body, err := w.outbox.Codec.DecodeBody(t.Early)
	u, ok := body.(*schemas.UnzipFinished)
	t.Early, t.Changed = nil, true
	if err != nil || !ok || u.Download != t.Download {
		// Of another outcome: set aside. What is silent is requested again.
		return
	}
	w.judgeUnzip(f, a, t, *u)
}
