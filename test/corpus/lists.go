package corpus

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
)

// defined is a parameter of a procedure of a pipeline, as the reference list
// has it.
type defined struct {
	id, procedure, pipeline string
	kind, valueType, unit   string
	required                bool
	options, increments     []string
	incrementType           string
	minIncrements           int
}

// colony is one that the reference list has.
type colony struct {
	centre string // empty: not known
	active bool
}

// lists are the reference lists that go with the whole corpus: they know most
// of what its documents name, and not all.
type lists struct {
	strains    map[string]bool
	colonies   map[string]colony
	codes      map[string]string // scope
	parameters map[[3]string]*defined
	order      []*defined
	names      map[string]bool // of parameters, pipelines, and pipelines with procedures
}

func newLists() *lists {
	l := &lists{
		strains:    map[string]bool{"MGI:2683688": true, "MGI:2159769": true},
		colonies:   map[string]colony{},
		codes:      map[string]string{"IMPC_SSC_001": "specimen", "IMPC_SSC_003": "procedure", "IMPC_PSC_003": "", "IMPC_PSC_016": "specimen", "IMPC_PARAMSC_005": "parameter", "IMPC_PARAMSC_007": "", "IMPC_PARAMSC_003": "parameter"},
		parameters: map[[3]string]*defined{}, names: map[string]bool{},
	}
	for _, name := range []string{"Bcm", "Gmc", "H", "Ics", "J", "Wtsi", "Biat", "Ccpcz"} {
		for n := range 40 {
			c := colony{centre: name, active: n%10 != 8}
			switch n % 10 {
			case 9:
				continue
			case 7:
				c.centre = "Rbrc"
			case 6:
				c.centre = ""
			case 5:
				c.centre = strings.ToUpper(name)
			}
			l.colonies[fmt.Sprintf("%s_C%03d", upper(name), n)] = c
		}
		for n := range 800 {
			if n%5 != 0 {
				l.colonies[fmt.Sprintf("%s_L%05d", upper(name), n)] = colony{active: n%5 != 1}
			}
		}
		for _, pipeline := range []string{upper(name) + "_001", upper(name) + "_002"} {
			if pipeline != "J_001" {
				l.pipeline(pipeline)
			}
		}
	}
	for _, d := range l.order {
		l.names[d.id], l.names[d.pipeline], l.names[d.pipeline+" "+d.procedure] = true, true, true
	}
	return l
}

func (l *lists) pipeline(pipeline string) {
	for _, procedure := range []string{"IMPC_BWT_001", "IMPC_CBC_003", "IMPC_IPG_001", "IMPC_ABR_002", "IMPC_XRY_001", "IMPC_FER_001", "IMPC_VIA_001", "IMPC_HOU_001"} {
		if pipeline == "GMC_001" && procedure == "IMPC_IPG_001" {
			continue
		}
		stem := procedure[:len("IMPC_XXX")]
		put := func(n int, d defined) {
			d.id, d.procedure, d.pipeline = fmt.Sprintf("%s_%03d_001", stem, n), procedure, pipeline
			l.parameters[[3]string{d.id, d.procedure, d.pipeline}] = &d
			l.order = append(l.order, &d)
		}
		put(1, defined{kind: "simpleParameter", valueType: "FLOAT", unit: "g"})
		put(2, defined{kind: "simpleParameter", valueType: "TEXT"})
		put(3, defined{kind: "simpleParameter", valueType: "INT"})
		put(4, defined{kind: "simpleParameter", unit: "mm"})
		put(5, defined{kind: "simpleParameter", valueType: "FLOAT", required: procedure == "IMPC_CBC_003" || procedure == "IMPC_FER_001"})
		put(6, defined{valueType: "BOOL"})
		put(7, defined{kind: "simpleParameter", options: []string{"1", "no data 001", "normal 002"}})
		put(34, defined{kind: "mediaParameter"})
		put(40, defined{kind: "seriesParameter", valueType: "FLOAT", increments: []string{"0", "15", "30", "45", "60"}, incrementType: "INT", minIncrements: 5, required: procedure == "IMPC_ABR_002"})
		put(41, defined{kind: "seriesParameter", incrementType: "REPEAT", minIncrements: 2})
		put(54, defined{kind: "ontologyParameter", options: []string{"PATO:00001", "PATO:00002", "MP:"}})
		put(60, defined{kind: "procedureMetadata", valueType: "DATE"})
		put(61, defined{kind: "procedureMetadata", options: []string{"lens 2"}})
		put(70, defined{kind: "mediaSampleParameter"})
		put(71, defined{kind: "seriesMediaParameter"})
		put(72, defined{kind: "mediaParameter"})
		put(85, defined{kind: "seriesParameter"})
		put(86, defined{kind: "seriesParameter", valueType: "INT", incrementType: "FLOAT"})
		put(87, defined{kind: "seriesParameter", incrementType: "DATETIME"})
		put(88, defined{kind: "simpleParameter"})
		put(89, defined{kind: "ontologyParameter", options: []string{"MP:1"}})
		if procedure == "IMPC_BWT_001" {
			for _, other := range []string{"IMPC_CBC", "IMPC_IPG", "IMPC_ABR", "IMPC_XRY"} {
				d := defined{id: other + "_081_001", procedure: procedure, pipeline: pipeline}
				l.parameters[[3]string{d.id, d.procedure, d.pipeline}] = &d
				l.order = append(l.order, &d)
			}
		}
	}
}

// Lists are the reference lists of the whole corpus as CSV files, by the names
// of their tables.
func (c *Corpus) Lists() map[string]string {
	l := newLists()
	out := map[string][][]string{
		"strain":      {{"strain_id", "name"}},
		"colony":      {{"colony_id", "production_centre", "active"}},
		"status_code": {{"code", "scope"}},
		"parameter":   {{"parameter_id", "procedure_id", "pipeline_id", "kind", "value_type", "unit", "required", "options", "increments", "increment_type", "min_increments"}},
	}
	for _, id := range sorted(l.strains) {
		out["strain"] = append(out["strain"], []string{id, "strain " + id})
	}
	for _, id := range sorted(l.colonies) {
		x, active := l.colonies[id], "false"
		if x.active {
			active = map[bool]string{true: "true"}[x.centre != ""]
		}
		out["colony"] = append(out["colony"], []string{id, x.centre, active})
	}
	for _, id := range sorted(l.codes) {
		out["status_code"] = append(out["status_code"], []string{id, l.codes[id]})
	}
	for _, d := range l.order {
		required, least := "", ""
		if d.required {
			required = "true"
		}
		if d.minIncrements > 0 {
			least = fmt.Sprint(d.minIncrements)
		}
		out["parameter"] = append(out["parameter"], []string{d.id, d.procedure, d.pipeline, d.kind, d.valueType, d.unit, required,
			strings.Join(d.options, "|"), strings.Join(d.increments, "|"), d.incrementType, least})
	}
	text := map[string]string{}
	for name, rows := range out {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		_ = w.WriteAll(rows) // writes to memory
		text[name] = b.String()
	}
	return text
}

// LoadLists lets the oracle say what must be seen when the reference lists are
// loaded.
func (c *Corpus) LoadLists() error {
	c.lists = newLists()
	return c.finish(nil)
}
