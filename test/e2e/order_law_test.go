package e2e

import (
	"fmt"
	"strings"
	"testing"

	"tributary/schemas"
	"tributary/test/corpus"
)

// orderTold is a log of the order from words, a position each. "a" is the document of a
// version, "-a" what that withdraws; "b1" and "b2" are two of one version, and "-b*2" what
// it withdraws; "d!" fails at upload, "x?" has failed before. "=3" is the end of a batch of
// three documents, "|" a position of something else, "gap" one that leaves another out.
// "H1:" says that what follows is of batch 1 of H, and of session 1; "H1session2:" of
// session 2.
func orderTold(t *testing.T, text string) (log []placed) {
	t.Helper()
	var at placed
	for _, word := range strings.Fields(text) {
		p := at
		p.Position = int64(len(log) + 1)
		switch {
		case strings.HasSuffix(word, ":"):
			at = placed{Domain: word[:1], Number: int64(word[1] - '0'), Session: word[len(word)-2 : len(word)-1]}
			continue
		case word == "|":
			p = placed{Position: p.Position, What: schemas.PositionSession}
		case word == "gap":
			p = placed{Position: p.Position + 1, What: schemas.PositionSession}
		case word[0] == '=':
			p.What = schemas.PositionBatchEnd
			readNumber(t, word[1:], &p.Documents)
		case word[0] == '-':
			p.What, p.Documents = schemas.PositionVersion, 1
			p.Action, p.File, p.Archive = "add", word[1:2], word[1:2]
			if len(word) > 2 {
				readNumber(t, word[3:], &p.Documents)
			}
		default:
			p.What, p.Loads, p.Result, p.Phase = schemas.PositionDocument, true, schemas.Valid, string(schemas.XSD)
			p.Action, p.File, p.Archive, p.Document = "add", word[:1], word[:1], word
			if name, fails := strings.CutSuffix(word, "!"); fails {
				p.Document, p.Loads = name, false
			}
			if name, judged := strings.CutSuffix(word, "?"); judged {
				p.Document, p.Loads, p.Result = name, false, schemas.FailedEnd
			}
		}
		log = append(log, p)
	}
	return log
}

func readNumber(t *testing.T, word string, into *int32) {
	t.Helper()
	if _, err := fmt.Sscan(word, into); err != nil {
		t.Fatalf("%q: %v", word, err)
	}
}

// What law L3 promises is told from what it forbids.
func TestDisorderIsFound(t *testing.T) {
	var oracle []corpus.Position
	for _, word := range strings.Fields("1Ha 1Hb1 1Hc 1Hb2 1Hd! 2He 1Jf") {
		name, fails := strings.CutSuffix(word[2:], "!")
		oracle = append(oracle, corpus.Position{Session: int(word[0] - '0'), Centre: word[1:2], Action: "add", File: name[:1], Document: name, Loads: !fails})
	}
	const rest = " | H2: e -e =1 | J1: f -f =1"
	for _, tt := range []struct {
		name, log string
		whole     bool
		parts     int
		want      []string // parts of what is wrong
	}{
		{name: "whole", log: "H1: a b1 c b2 d! -a -b*2 -c -d =5" + rest, whole: true, parts: 3},
		{name: "whole, where parts may be", log: "H1: a b1 c b2 d! -a -b*2 -c -d =5" + rest, parts: 3},
		{name: "in parts", log: "H1: c -c a d! -a -d b1 b2 -b*2 =5" + rest, parts: 5},
		{name: "another domain within a part", log: "H1: c -c a J1: f -f =1 H1: -a", want: []string{"of batch 1 of H has documents of add/a"}},
		{name: "another domain's batch between two parts", log: "H1: c -c J1: f -f =1 H1: a d! -a -d b1 b2 -b*2 =5 | H2: e -e =1", parts: 5},
		{name: "a position of something else between two parts", log: "H1: c -c | a d! -a -d | b1 b2 -b*2 | =5" + rest, parts: 5},
		{name: "what failed before has no place, and counts", log: "H1: c x? -c -x a b1 b2 d! -a -b*2 -d =6" + rest, parts: 4},
		{name: "in parts, where batches are whole", log: "H1: c -c a b1 b2 d! -a -b*2 -d =5" + rest, whole: true, want: []string{"batch 1 of H has 2 parts, and batches are released whole"}},
		{name: "a swapped pair in a whole batch", log: "H1: a c b1 b2 d! -a -c -b*2 -d =5" + rest, whole: true, want: []string{"position 3, add/b/b1 of session 1, H, belongs before"}},
		{name: "a swapped pair within a part", log: "H1: c -c d! a -d -a b1 b2 -b*2 =5" + rest, want: []string{"position 4, add/a/a of session 1, H, belongs before"}},
		{name: "a missing version", log: "H1: c -c a d! -a -d =3" + rest, want: []string{"add/b/b1 of session 1, H is missing", "add/b/b2 of session 1, H is missing"}},
		{name: "a missing document of a version", log: "H1: c -c a d! -a -d b1 -b*2 =4" + rest, want: []string{"withdraws for 2 documents of add/b", "add/b/b2 of session 1, H is missing"}},
		{name: "a document twice", log: "H1: c -c a d! -a -d b1 b2 -b*2 c -c =6" + rest, want: []string{"position 10 is add/c/c of session 1, H again"}},
		{name: "what nobody expects", log: "H1: c z -c -z a b1 b2 d! -a -b*2 -d =6" + rest, want: []string{"position 2 is add/z/z of session 1, H, for which the oracle has no place"}},
		{name: "a version in two parts", log: "H1: b1 c -c a b2 d! -a -b*2 -d =5" + rest,
			want: []string{"a part of batch 1 of H has documents of add/b", "withdraws for 2 documents of add/b"}},
		{name: "the next session's batch before the end", log: "H1: c -c H2: e -e =1 H1: a b1 b2 d! -a -b*2 -d =5 | J1: f -f =1", want: []string{"batch 2 of H begins at position 3 in the midst of batch 1 of H"}},
		{name: "a version of the next session in this one's batch", log: "H1: a b1 c b2 d! -a -b*2 -c -d H1session2: e -e =6 | J1: f -f =1", want: []string{"position 10 is of another session than the rest of batch 1 of H"}},
		{name: "the end not last", log: "H1: c -c a b1 b2 -a -b*2 =4 d! -d" + rest, want: []string{"position 10 comes behind the end of its batch, batch 1 of H"}},
		{name: "no end", log: "H1: a b1 c b2 d! -a -b*2 -c -d" + rest, want: []string{"in the midst of batch 1 of H", "batch 1 of H has no end"}},
		{name: "two ends", log: "H1: a b1 c b2 d! -a -b*2 -c -d =5 =5" + rest, want: []string{"position 11 ends batch 1 of H with 5 documents"}},
		{name: "an end that counts otherwise", log: "H1: a b1 c b2 d! -a -b*2 -c -d =4" + rest, want: []string{"position 10 ends batch 1 of H with 4 documents"}},
		{name: "a batch begins behind a later one", log: "H2: e -e =1 | H1: a b1 c b2 d! -a -b*2 -c -d =5 | J1: f -f =1", want: []string{"batch 1 of H begins at position 5, behind batch 2"}},
		{name: "what fails is loaded", log: "H1: a b1 c b2 d -a -b*2 -c -d =5" + rest, want: []string{"add/d/d of session 1, H: it loads: true, the oracle says false"}},
		{name: "a gap", log: "H1: a b1 c b2 d! -a -b*2 -c -d =5 gap" + rest, want: []string{"position 12 is the 11th"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrong, parts := disorder(oracle, tt.whole, orderTold(t, tt.log))
			if len(tt.want) == 0 && (len(wrong) > 0 || parts != tt.parts) {
				t.Errorf("%d parts, want %d; wrong: %q", parts, tt.parts, wrong)
			}
			all := strings.Join(wrong, "\n")
			for _, want := range tt.want {
				if !strings.Contains(all, want) {
					t.Errorf("it is not said that %q:\n%s", want, all)
				}
			}
		})
	}
}
