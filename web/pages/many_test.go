package pages_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tributary/producers/plan/plantest"
	"tributary/web/access"
)

// All sources are had as a file, and many are defined by one: what would change is told
// first, and nothing else is done than was told.
func TestDefineMany(t *testing.T) {
	p := plantest.New(t)
	server := defining(t, p, access.Operator)
	const text = "centres: [{short_name: Zzz}]\r\nsources:\r\n- {id: many, centre: Zzz, url: 'file:///in', description: '<b>'}\r\n"
	form := func(more ...string) url.Values {
		v := url.Values{"text": {text}, "reason": {"moved"}}
		for i := 0; i+1 < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return v
	}
	seenIn := func(body string) string {
		t.Helper()
		seen := regexp.MustCompile(`name="seen" value="([0-9a-f]+)"`).FindStringSubmatch(body)
		if seen == nil {
			t.Fatalf("nothing was told:\n%s", body)
		}
		return seen[1]
	}
	there := func() string { return p.Text("SELECT count(*) FROM control.source WHERE id = 'many'") }

	answers(t, server, "/definitions", http.StatusOK, "What would change?", `href="/t/definitions/sources.yaml"`)
	if answer, body := send(t, server, "/definitions", form("text", "sources:\n- {id: x, colour: '<script>'}")); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "the text:2") || strings.Contains(body, "<script>'") {
		t.Errorf("refused: %d\n%s", answer.StatusCode, body)
	}
	_, body := send(t, server, "/definitions", form())
	if !strings.Contains(body, "It would change 2; 0 stay as they are") || !strings.Contains(body, "Change 2") || there() != "(0)" {
		t.Fatalf("tried: %s sources\n%s", there(), body)
	}
	for what, seen := range map[string]string{"nothing": "", "something else": strings.Repeat("0", 64)} {
		if answer, body := send(t, server, "/definitions", form("do", "apply", "seen", seen)); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "than you have seen") || there() != "(0)" {
			t.Errorf("applied after %s was seen: %d, %s sources\n%s", what, answer.StatusCode, there(), body)
		}
	}
	if answer, body := send(t, server, "/definitions", form("do", "apply", "seen", seenIn(body))); answer.StatusCode != http.StatusSeeOther || there() != "(1)" {
		t.Fatalf("applied: %d, %s sources\n%s", answer.StatusCode, there(), body)
	}
	if by := p.Text("SELECT count(*) FROM control.source WHERE id = 'many' AND definition->>'description' = '<b>'"); by != "(1)" {
		t.Errorf("it is defined otherwise: %s", by)
	}
	if _, body := send(t, server, "/definitions", form()); !strings.Contains(body, "Nothing would change") || strings.Contains(body, `value="apply"`) {
		t.Errorf("again:\n%s", body)
	}

	_, file := get(t, server, "/definitions/sources.yaml")
	if !strings.Contains(file, "id: many") {
		t.Fatalf("the file lacks it:\n%s", file)
	}
	file, _, _ = strings.Cut(file, "  - id: other") // of which the plane has no more than the id
	if answer, body := sendFile(t, server.URL+"/t/definitions", strings.Replace(file, "file:///in", "file:///out", 1)); answer.StatusCode != http.StatusOK || !strings.Contains(body, "It would change 1;") {
		t.Errorf("a file that was had, with one change: %d\n%s", answer.StatusCode, body)
	}
	answers(t, server, "/definitions/centres.yaml", http.StatusOK, "short_name: Zzz")
	answers(t, server, "/definitions/secrets.yaml", http.StatusNotFound)
	wrangler := defining(t, p, access.Wrangler)
	for _, path := range []string{"/definitions", "/definitions/sources.yaml"} {
		answers(t, wrangler, path, http.StatusForbidden)
	}
}

// sendFile sends the form with a file.
func sendFile(t *testing.T, to, text string) (*http.Response, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("file", "sources.yaml")
	if err == nil {
		_, err = part.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, &b)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer, body.String()
}
