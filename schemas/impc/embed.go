// Package impc holds the IMPC profile: what makes Tributary fit the data of
// the International Mouse Phenotyping Consortium. It is data, not code: name
// patterns, kinds of document and their order, the producing centres, tables
// and the mapping of elements to their rows (profile.yaml), a schema for each
// kind (xsd), and views, data checks, context and overview (sql). Packages
// internal/profile, internal/mapping and sql/warehouse read it.
//
// The schemas are the project's own. They give the verdicts of the reference
// transfer schemas (same namespaces, elements and attributes; compared by
// tests on samples and mutants), with one exception by design: types have
// other names, so a document that names a type of the reference by xsi:type is
// refused. The format has no use for that.
package impc

import "embed"

// FS is the folder of the profile: profile.yaml, the schemas below xsd, and the
// SQL below sql. It is read-only.
//
//go:embed profile.yaml xsd/*.xsd sql/*.sql sql/*/*.sql
var FS embed.FS
