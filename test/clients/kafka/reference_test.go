package kafka

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/engine/broker"
)

const page = "../../../docs/reference/clients.md"

var update = flag.Bool("update", false, "write the page anew")

// The page says what the table says.
func TestReference(t *testing.T) {
	want := reference()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run make generate (-want +got):\n%s", diff)
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString("<!-- Written by `go test ./test/clients/kafka -run Reference -update` from the table in test/clients/kafka. -->\n# Kafka's tools and clients\n\n" +
		"What each does on the embedded broker's door (`kafka.listen_address`, [how](../how-to/kcat.md)) and on Apache Kafka. " +
		"`make test-clients` tries every cell with the real tool, `.ci/run` those of Kafka " + slices.Max(toolVersions()) + " and of the other clients on the door. " +
		"At the door, operations are tried as `" + broker.Operator + "` unless another user is named; `kafka-console-consumer` and the consumers of the other clients as `" + broker.Reader + "`. " +
		"[The embedded broker](../explanation/embedded-broker.md) says why the door answers as it does.\n")
	for at, name := range brokers() {
		fmt.Fprintf(&b, "\n## %s\n\n| tool | operation | %s |\n|---|---|%s\n", name, strings.Join(toolVersions(), " | "), strings.Repeat("---|", len(toolVersions())))
		for _, r := range javaRows() {
			cells := make([]string, 0, len(toolVersions()))
			for _, v := range toolVersions() {
				cells = append(cells, r.cell(at, v).text())
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.tool, code(r.operation), strings.Join(cells, " | "))
		}
		b.WriteString("\n| client | operation | |\n|---|---|---|\n")
		for _, r := range otherRows() {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.tool, r.operation, r.cell(at, "").text())
		}
	}
	return b.String() + "\n## What is not here\n\n" +
		"| | why |\n|---|---|\n" +
		"| kcat and kafka-python with `group.protocol=consumer` | kcat's librdkafka 2.0.2 and kafka-python have the classic protocol only |\n" +
		"| consumers in transactions, `kafka-transactions`, share and streams groups | the door serves none of them: their requests are not advertised |\n" +
		"| `kafka-metadata-quorum`, `kafka-reassign-partitions`, `kafka-leader-election` | there is one broker and no quorum: their requests are not advertised |\n" +
		"| web pages for Kafka themselves | none can be had from the registries that tests use; the rows of AdminClient are the calls they make |\n"
}

func code(s string) string {
	if strings.HasPrefix(s, "--") {
		return "`" + s + "`"
	}
	return s
}

func (c cell) text() string {
	switch {
	case c.absent != "":
		return "can't be: " + c.absent
	case c.refused != "":
		return "refused, `" + c.refused + "`: " + c.why
	}
	return "works"
}
