package tracker

import "tributary/schemas"

// made is by what a document was judged and loaded, by phase, as far as the
// phases were passed: the version that judged a failure is that of the step.
type made struct {
	Unzip  string `json:"u,omitempty"` // of its archive and its name
	XSD    string `json:"x,omitempty"`
	Upload string `json:"l,omitempty"`
	Data   string `json:"d,omitempty"` // of the latest check that judged all of it
	Check  int32  `json:"c,omitempty"` // that check
}

// madeBy is what an event says of versions. A step that has ended the document
// keeps its own.
func madeBy(e *schemas.StatusChanged, s step) made {
	var m made
	if e.Check > 0 {
		if e.VersionOf != "" {
			m.Data, m.Check = e.VersionOf, e.Check
		}
		return m
	}
	for _, p := range e.Passed {
		m.take(p.Phase, p.VersionOf)
	}
	if s.Status == done {
		m.take(e.Phase, e.VersionOf)
	}
	return m
}

func (m *made) take(phase, version string) {
	switch schemas.Phase(phase) {
	case schemas.XMLName:
		m.Unzip = version
	case schemas.XSD:
		m.XSD = version
	case schemas.Upload:
		m.Upload = version
	}
}

// add merges. Two versions that both passed a document in one attempt, as when
// members of either work side by side, are told apart by their text.
func (m *made) add(o made) {
	m.Unzip, m.XSD, m.Upload = max(m.Unzip, o.Unzip), max(m.XSD, o.XSD), max(m.Upload, o.Upload)
	switch {
	case o.Check > m.Check:
		m.Data, m.Check = o.Data, o.Check
	case o.Check == m.Check:
		m.Data = max(m.Data, o.Data)
	}
}

// versionOf is by what the document was judged in a phase; empty where it was
// not, or nobody said.
func (d *document) versionOf(phase schemas.Phase) string {
	if d.Base.ended() {
		switch {
		case phase.ID() == d.Base.Phase:
			return d.Base.Version
		case phase.ID() > d.Base.Phase:
			return ""
		}
	}
	switch phase {
	case schemas.XMLName:
		return d.Made.Unzip
	case schemas.XSD:
		return d.Made.XSD
	case schemas.Upload:
		return d.Made.Upload
	case schemas.Data:
		return d.Made.Data
	}
	return ""
}
