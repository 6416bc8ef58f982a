package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What an event tells of how bytes came is read as it was written. What others wrote is
// bounded, and numbers that can't be are none.
func TestTransferOf(t *testing.T) {
	with := func(from, received string) map[string]string {
		return map[string]string{"resumed_from": from, "received": received}
	}
	for name, tt := range map[string]struct {
		attributes map[string]string
		want       Transfer
	}{
		"resumed, over HTTP":  {Transfer{From: 7, Received: 5, Request: "GET x", Response: "HTTP/1.1 206"}.Attributes(), Transfer{7, 5, "GET x", "HTTP/1.1 206"}},
		"refused before that": {Transfer{Request: "GET x"}.Attributes(), Transfer{Request: "GET x"}},
		"resumed, over SFTP":  {Transfer{From: 7}.Attributes(), Transfer{From: 7}},
		"from its beginning":  {Transfer{Received: 5}.Attributes(), Transfer{}},
		"progress":            {Progress{Received: 5, Rate: 1}.Attributes(), Transfer{}},
		"a negative place":    {with("-7", "5"), Transfer{}},
		"a negative count":    {with("7", "-5"), Transfer{}},
		"beyond any number":   {with("9223372036854775808", "5"), Transfer{}},
		"words":               {with("here", "much"), Transfer{}},
		"a place alone":       {map[string]string{"resumed_from": "7"}, Transfer{}},
		"heads without end": {map[string]string{"request_head": strings.Repeat("a", 3000), "response_head": strings.Repeat("b", 3000)},
			Transfer{Request: strings.Repeat("a", 1984) + "… (3000 bytes)", Response: strings.Repeat("b", 1984) + "… (3000 bytes)"}},
	} {
		if diff := cmp.Diff(tt.want, TransferOf(&StatusChanged{Attributes: tt.attributes})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
