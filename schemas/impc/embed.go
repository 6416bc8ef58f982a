// Package impc holds the IMPC profile: what makes Tributary fit the data of
// the International Mouse Phenotyping Consortium. It is data, not code: name
// patterns, kinds of document and their order, the producing centres
// (profile.yaml), and a schema for each kind (xsd). Package internal/profile
// reads it.
//
// The schemas are the project's own. They give the verdicts of the reference
// transfer schemas (same namespaces, elements and attributes; compared by
// tests on samples and mutants), with one exception by design: types have
// other names, so a document that names a type of the reference by xsi:type is
// refused. The format has no use for that.
package impc

import "embed"

// FS is the folder of the profile: profile.yaml, the other YAML files beside
// it, and the schemas below xsd. It is read-only.
//
//go:embed *.yaml xsd/*.xsd
var FS embed.FS
