package tracker

import "tributary/schemas"

// provenance is by what a document was judged and loaded, by phase, as far as the
// phases were passed and no step tells it: a judgement's version is that of its
// step.
type provenance struct {
	Unzip  string `json:"u,omitempty"` // of its archive and its name
	Upload string `json:"l,omitempty"`
	Data   string `json:"d,omitempty"` // of the latest check that judged all of it
	Check  int32  `json:"c,omitempty"` // that check
}

// provenanceOf is what an event says of versions but for those of judgements.
func provenanceOf(e *schemas.StatusChanged, s step) provenance {
	var m provenance
	if e.Check > 0 {
		if e.VersionOf != "" {
			m.Data, m.Check = e.VersionOf, e.Check
		}
		return m
	}
	for _, p := range e.Passed {
		m.set(p.Phase, p.VersionOf)
	}
	if s.Status == done && s.Phase == schemas.Upload.ID() {
		m.Upload = e.VersionOf
	}
	return m
}

func (m *provenance) set(phase, version string) {
	switch schemas.Phase(phase) {
	case schemas.XMLName:
		m.Unzip = version
	case schemas.Upload:
		m.Upload = version
	}
}

// add merges. Two versions that both passed a document in one attempt, as when
// members of either work side by side, are told apart by their text.
func (m *provenance) add(o provenance) {
	m.Unzip, m.Upload = max(m.Unzip, o.Unzip), max(m.Upload, o.Upload)
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
	if s := d.unchecked(); s.ended() {
		switch {
		case phase.ID() == s.Phase:
			return s.Version
		case phase.ID() > s.Phase:
			return ""
		}
	}
	switch phase {
	case schemas.XMLName:
		if d.Named.Status == done {
			return d.Named.Version
		}
		return d.Provenance.Unzip
	case schemas.XSD:
		if d.Judged.Status == done {
			return d.Judged.Version
		}
	case schemas.Upload:
		return d.Provenance.Upload
	case schemas.Data:
		return d.Provenance.Data
	}
	return ""
}
