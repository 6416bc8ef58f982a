package why

import (
	"fmt"

	"tributary/schemas"
	"tributary/sql/control"
)

// replaying judges what runs for another reason than that a listing showed it.
func (f *Facts) replaying(a *Answer, x *control.Fetch) {
	a.prove("%s: %s", a.Verdict, a.Sentence)
	who := "a retry"
	switch {
	case x.Letter != "":
		who = "the retry of the dead letter " + x.Letter
	case x.Replay != nil:
		who = fmt.Sprintf("replay %d", *x.Replay)
	}
	a.say(Replaying, "%s is processed again by %s.", a.File, who)
}

// history is how often the file was fetched, and which replays chose it.
func (f *Facts) history(a *Answer) {
	for _, x := range f.Fetches {
		if x.Heals != "" && x.State != control.Ended {
			a.prove("its bytes are fetched again, since the blob %s is damaged", x.Heals)
		}
	}
	for _, r := range f.Replays {
		what := fmt.Sprintf("replay %d from %s", r.Number, r.Phase)
		if r.Shadow != "" {
			what += " into the shadow " + r.Shadow
		}
		switch {
		case r.Item == "refused":
			a.proveAt(&r.At, "%s refused it: %s", what, schemas.Cut(r.Message, maxText))
		case r.Item == "waiting" && r.State == control.ReplayStopped:
			a.proveAt(&r.At, "%s is to process it again, and is stopped: tributary replay resume %d", what, r.Number)
		case r.Item == "waiting" && r.Held != "":
			a.proveAt(&r.At, "%s is to process it again, and is held: %s", what, schemas.Cut(r.Held, maxText))
		case r.Item == "waiting" && r.State == control.ReplayRunning:
			a.proveAt(&r.At, "%s is to process it again%s", what, waitsFor(r.Message))
		default:
			a.proveAt(&r.At, "%s processed it", what)
		}
	}
}

// waitsFor is what something waits for, as the end of a sentence.
func waitsFor(message string) string {
	if message == "" {
		return ""
	}
	return ", and waits: " + schemas.Cut(message, maxText)
}
