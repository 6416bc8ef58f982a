package topics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/kafka"
)

// ToolApply and ToolAsk stand beside the roles for what people run: topics apply,
// and the commands that read topics.
const (
	ToolApply = "topics apply"
	ToolAsk   = "topics list, topics tail, dlq"
)

// Access is what a role, or a person's command, may do on a broker: the same
// operations on some topics, and on a consumer group.
type Access struct {
	Role       string
	Operations []kadm.ACLOperation
	Topics     []string // full names; with Prefixed, the beginning of names
	Group      string   // consumer group; empty: none
	Prefixed   bool
}

// stages carry work from Kafka to Kafka and write what they produce
// themselves. What the other roles decide leaves through the outboxes, from
// which publish writes it.
func stages() []string { return []string{"download", "unzip", "validate"} }

// roleNames are those that connect to brokers, in the order of work.
func roleNames() []string {
	return []string{"schedule", "poll", "plan", "publish", "download", "unzip", "validate", "sequence", "insert", "tracker", "history", "notify"}
}

// Accesses lists what the given roles need on a broker, and with none given what
// all roles and people's commands need. Nothing in it can be left out, and
// nothing needs rights on the cluster or on transactional ids: producers are
// idempotent, for which Write on a topic is enough (before Kafka 2.8:
// IdempotentWrite on the cluster), and there are no transactions.
func Accesses(prefix string, roles ...string) ([]Access, error) {
	tools := len(roles) == 0
	if tools {
		roles = roleNames()
	}
	var out []Access
	for _, role := range roles {
		if !slices.Contains(roleNames(), role) {
			return nil, fmt.Errorf("there is no role %q: the roles are %s", role, strings.Join(roleNames(), ", "))
		}
		out = append(out, access(prefix, role)...)
	}
	if tools {
		out = append(out,
			Access{Role: ToolApply, Operations: []kadm.ACLOperation{kadm.OpCreate, kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpAlterConfigs}, Topics: []string{prefix + "."}, Prefixed: true},
			Access{Role: ToolAsk, Operations: []kadm.ACLOperation{kadm.OpRead}, Topics: []string{prefix + "."}, Prefixed: true})
	}
	return out, nil
}

// access is what one role needs.
func access(prefix, role string) []Access {
	// Every process compares all topics with the catalogue when it starts.
	out := []Access{{Role: role, Operations: []kadm.ACLOperation{kadm.OpDescribe, kadm.OpDescribeConfigs}, Topics: []string{prefix + "."}, Prefixed: true}}
	var reads, everybody, writes []string
	for _, t := range Catalogue() {
		name := t.FullName(prefix)
		switch {
		case slices.Contains(t.ReadBy, role):
			reads = append(reads, name)
		case slices.Contains(t.ReadBy, everyRole):
			everybody = append(everybody, name)
		}
		if writer(t, role) {
			writes = append(writes, name)
		}
	}
	for _, t := range DeadLetters() {
		if t.DeadLetter == role {
			writes = append(writes, t.FullName(prefix))
		}
	}
	if role == "insert" { // reads from where its own table says, in no group
		everybody, reads = append(everybody, reads...), nil
	}
	if role == "notify" { // each of its targets reads in a group of its own, and it reads its dead letters
		out = append(out, Access{Role: role, Operations: []kadm.ACLOperation{kadm.OpRead}, Topics: reads, Group: kafka.GroupName(prefix, role) + ".", Prefixed: true})
		reads = nil
	}
	if len(reads) > 0 {
		out = append(out, Access{Role: role, Operations: []kadm.ACLOperation{kadm.OpRead}, Topics: reads, Group: kafka.GroupName(prefix, role)})
	}
	if len(everybody) > 0 {
		out = append(out, Access{Role: role, Operations: []kadm.ACLOperation{kadm.OpRead}, Topics: everybody})
	}
	if len(writes) > 0 {
		out = append(out, Access{Role: role, Operations: []kadm.ACLOperation{kadm.OpWrite}, Topics: writes})
	}
	return out
}

// writer tells whether a role writes a topic by itself.
func writer(t Topic, role string) bool {
	everybody := slices.Contains(t.ProducedBy, everyRole)
	switch {
	case slices.Contains(stages(), role):
		return everybody || slices.Contains(t.ProducedBy, role)
	case role == "publish":
		return everybody || slices.ContainsFunc(t.ProducedBy, func(by string) bool {
			return slices.Contains(roleNames(), by) && !slices.Contains(stages(), by)
		})
	}
	return false
}

// Arguments are those of kafka-acls.sh that add the access for a principal, such
// as User:tributary.
func (a Access) Arguments(principal string) string {
	parts := []string{"--add", "--allow-principal", principal}
	for _, o := range a.Operations {
		parts = append(parts, "--operation", operationName(o))
	}
	if a.Prefixed {
		parts = append(parts, "--resource-pattern-type", "prefixed")
	}
	for _, t := range a.Topics {
		parts = append(parts, "--topic", t)
	}
	if a.Group != "" {
		parts = append(parts, "--group", a.Group)
	}
	return strings.Join(parts, " ")
}

// operationName is an operation as kafka-acls.sh spells it.
func operationName(o kadm.ACLOperation) string {
	switch o {
	case kadm.OpRead:
		return "Read"
	case kadm.OpWrite:
		return "Write"
	case kadm.OpCreate:
		return "Create"
	case kadm.OpDescribe:
		return "Describe"
	case kadm.OpDescribeConfigs:
		return "DescribeConfigs"
	case kadm.OpAlterConfigs:
		return "AlterConfigs"
	}
	return o.String()
}
