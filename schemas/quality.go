package schemas

// What a person decides about a document in quality control. A decision holds for the
// document's bytes, whichever attempt brought them, until the next one about them.
const (
	QualityAccepted   = "accepted"   // nothing is wrong with its data
	QualityQuestioned = "questioned" // its centre is asked about something
	QualityHeld       = "held"       // its data are not to be used
)

// QualityDecisions lists what may be decided.
func QualityDecisions() []string {
	return []string{QualityAccepted, QualityQuestioned, QualityHeld}
}

// QualityStatus is how the phase qc stands after a decision; empty for what is none.
func QualityStatus(decision string) Status {
	switch decision {
	case QualityAccepted:
		return Done
	case QualityQuestioned:
		return Running
	case QualityHeld:
		return Cancelled
	}
	return ""
}
