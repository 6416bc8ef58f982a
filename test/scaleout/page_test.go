package scaleout

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/how-to/scale-out.md"

var fence = regexp.MustCompile("(?ms)^```(sh|yaml)\n(.*?)^```$")

// block is a fenced part of the page: a script, or the configuration.
type block struct{ language, text string }

// blocks are those of the page, in its order, and the roles that it starts.
func blocks(t *testing.T) (all []block, roles []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		all = append(all, block{m[1], m[2]})
	}
	for _, m := range regexp.MustCompile(`(?m)^    tributary run (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		roles = append(roles, m[1])
	}
	return all, roles
}

// The page has every line that the test needs to find.
func TestThePageHasItsLines(t *testing.T) {
	all, roles := blocks(t)
	var scripts strings.Builder
	configurations := 0
	for _, b := range all {
		if b.language == "yaml" {
			configurations++
		} else {
			scripts.WriteString(b.text)
		}
	}
	for _, want := range []string{"CREATE ROLE tributary", "CREATE DATABASE tributary", "kafka-configs.sh ", "tributary topics acl ", "tributary topics apply", "tributary config check --connect"} {
		if !strings.Contains(scripts.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if configurations != 1 || len(roles) != 11 {
		t.Errorf("%d configurations and %d roles, want 1 and 11", configurations, len(roles))
	}
}
