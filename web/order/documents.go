package order

import (
	"context"
	"slices"
	"strings"

	"tributary/recovery/quality"
	"tributary/schemas"
	"tributary/web/access"
)

// DocumentSubject is how orders name a document: by the file, the sha256 of the bytes
// that were looked at, and the entry, so that nobody decides about what they have not
// seen.
func DocumentSubject(action, file, sha256, entry string) string {
	return action + "/" + file + "/" + sha256 + "/" + entry
}

// documents are the orders about documents: what is decided in quality control.
func documents(d Deps) (t Table) {
	for _, x := range []struct{ name, verb, decision, about string }{
		{"accept", "Accept", schemas.QualityAccepted, "The document has passed quality control. Its file has once all of its documents have."},
		{"question", "Question", schemas.QualityQuestioned, "Something about the document's data has to be answered first. They stay in the warehouse."},
		{"hold", "Hold", schemas.QualityHeld, "The document's data are not to be used. They stay in the warehouse, and whoever asks there can see that they are held; to take them out, unload the file."},
	} {
		t = append(t, Order{
			On: Documents, Name: x.name, Least: access.Wrangler, Verb: x.verb, About: x.about + " The decision holds for these bytes, also when they are processed again; a correction awaits its own.",
			Why:     x.decision != schemas.QualityAccepted,
			Offered: func(standing string) bool { return standing != "" && standing != x.decision }, Otherwise: "it is decided so already",
			Command: func(a Asked) string {
				doc, _ := documentOf(a.Subject)
				return "tributary documents qc " + x.name + " " + quoted(doc.String())
			},
			give: func(ctx context.Context, a Asked) (Outcome, error) {
				doc, ok := documentOf(a.Subject)
				if !ok {
					return Outcome{}, bad("%q names no document of a file", a.Subject)
				}
				if d.Tracker == nil {
					return Outcome{}, ErrNotHere
				}
				o := quality.Orders{Decision: a.Decision, Pool: d.Control, Tracker: d.Tracker, Outbox: d.Outbox, Dry: a.Dry}
				r, err := o.Decide(ctx, doc, x.decision)
				return Outcome{Subject: r.Document, Done: r.Done, Detail: r.Detail}, err
			},
		})
	}
	return t
}

// documentOf reads a DocumentSubject.
func documentOf(subject string) (quality.Document, bool) {
	parts := strings.SplitN(subject, "/", 4)
	if len(parts) != 4 || slices.Contains(parts, "") {
		return quality.Document{}, false
	}
	return quality.Document{Action: parts[0], File: parts[1], SHA256: parts[2], Entry: parts[3]}, true
}
