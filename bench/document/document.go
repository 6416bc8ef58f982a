// Package document makes documents of the IMPC for benches, all of them valid.
package document

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

const (
	space = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"
	mice  = 500
)

// Specimens is a document with all mice that experiments are done on.
func Specimens() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<centreSpecimenSet xmlns=%q>\n  <centre centreID=\"H\">\n", space+"specimen")
	for i := range mice {
		fmt.Fprintf(&b, "    <mouse DOB=\"2023-05-01\" colonyID=\"C%d\" isBaseline=\"false\" strainID=\"MGI:2683688\" specimenID=\"H-%05d\" gender=\"female\" zygosity=\"homozygous\" litterId=\"%d\" pipeline=\"HRWL_001\" productionCentre=\"H\" phenotypingCentre=\"H\" project=\"BaSH\"/>\n", i%40, i, i/8)
	}
	b.WriteString("  </centre>\n</centreSpecimenSet>\n")
	return b.Bytes()
}

// Experiments is a document of so many experiments, with 28 values each and some 3.8 kB;
// each round's are others.
func Experiments(round, experiments int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(round)))
	var b bytes.Buffer
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<centreProcedureSet xmlns=%q>\n  <centre centreID=\"H\" pipeline=\"HRWL_001\" project=\"BaSH\">\n", space+"procedure")
	for i := range experiments {
		fmt.Fprintf(&b, "    <experiment experimentID=\"H_EXP_%03d_%06d\" dateOfExperiment=\"2023-%02d-%02d\">\n      <specimenID>H-%05d</specimenID>\n      <procedure procedureID=\"IMPC_CBC_003\">\n",
			round, i, 6+i%6, 1+i%28, rng.IntN(mice))
		for p := range 20 {
			fmt.Fprintf(&b, "        <simpleParameter parameterID=\"IMPC_CBC_%03d_001\" unit=\"mmol/l in serum\">\n          <value>%.3f</value>\n        </simpleParameter>\n", p+1, rng.Float64()*200)
		}
		b.WriteString("        <seriesParameter parameterID=\"IMPC_CBC_040_001\" unit=\"mg/dl\">\n")
		for v := range 5 {
			fmt.Fprintf(&b, "          <value incrementValue=\"%d\">%.2f</value>\n", v*15, rng.Float64()*400)
		}
		b.WriteString("        </seriesParameter>\n")
		for m, text := range []string{"AU5800 Beckman Coulter", "overnight fast", "retro-orbital sinus, anaesthetised"} {
			fmt.Fprintf(&b, "        <procedureMetadata parameterID=\"IMPC_CBC_%03d_001\">\n          <value>%s</value>\n        </procedureMetadata>\n", 60+m, text)
		}
		b.WriteString("      </procedure>\n    </experiment>\n")
	}
	b.WriteString("  </centre>\n</centreProcedureSet>\n")
	return b.Bytes()
}
