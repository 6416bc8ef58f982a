package topics

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// accessLines are the accesses of a role as kafka-acls.sh is told of them.
func accessLines(t *testing.T, roles ...string) (out []string) {
	t.Helper()
	all, err := Accesses("p", roles...)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		out = append(out, strings.TrimPrefix(a.Arguments("User:u"), "--add --allow-principal User:u "))
	}
	return out
}

const (
	looks = "--operation Describe --operation DescribeConfigs --resource-pattern-type prefixed --topic p."
	heeds = "--operation Read --topic p.record.passed.over.v1"
)

// What each role may do, as somebody would write it down who knows what it does.
func TestAccesses(t *testing.T) {
	for role, want := range map[string][]string{
		"schedule": {looks, heeds},
		"poll":     {looks, heeds},
		"plan":     {looks, "--operation Read --topic p.file.discovered.v1 --topic p.download.finished.v1 --topic p.unzip.finished.v1 --group p.plan", heeds},
		"publish": {looks, heeds, "--operation Write --topic p.file.discovered.v1 --topic p.download.requested.v1 --topic p.download.finished.v1 " +
			"--topic p.document.extracted.v1 --topic p.document.ordered.v1 --topic p.status.changed.v1"},
		"download": {looks, "--operation Read --topic p.download.requested.v1 --group p.download", heeds,
			"--operation Write --topic p.download.finished.v1 --topic p.status.changed.v1 --topic p.download.requested.v1.p.download.dlq"},
		"unzip": {looks, "--operation Read --topic p.download.finished.v1 --group p.unzip", heeds,
			"--operation Write --topic p.unzip.finished.v1 --topic p.document.extracted.v1 --topic p.status.changed.v1 --topic p.download.finished.v1.p.unzip.dlq"},
		"validate": {looks, "--operation Read --topic p.document.extracted.v1 --group p.validate", heeds,
			"--operation Write --topic p.document.validated.v1 --topic p.status.changed.v1 --topic p.document.extracted.v1.p.validate.dlq"},
		"sequence": {looks, "--operation Read --topic p.document.validated.v1 --group p.sequence", heeds},
		"insert":   {looks, "--operation Read --topic p.record.passed.over.v1 --topic p.document.ordered.v1"},
		"tracker":  {looks, "--operation Read --topic p.status.changed.v1 --group p.tracker", heeds},
		"notify": {looks, "--operation Read --resource-pattern-type prefixed --topic p.status.changed.v1 --group p.notify.", heeds,
			"--operation Write --topic p.status.changed.v1.p.notify.dlq"},
		"history": {looks, "--operation Read --topic p.status.changed.v1 --group p.history", heeds},
	} {
		if diff := cmp.Diff(want, accessLines(t, role)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", role, diff)
		}
	}
	if _, err := Accesses("p", "nobody"); err == nil || !strings.Contains(err.Error(), "the roles are schedule") {
		t.Errorf("a role that there is not: %v", err)
	}
	all := accessLines(t)
	if len(all) < 25 || !slices.Contains(all, "--operation Create --operation Describe --operation DescribeConfigs --operation AlterConfigs --resource-pattern-type prefixed --topic p.") {
		t.Errorf("%d accesses of everybody:\n%s", len(all), strings.Join(all, "\n"))
	}
}
