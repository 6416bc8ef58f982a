package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/internal/config"
	"tributary/test/receiver"
)

// A target is tried without anything that runs, and it is said whether it took the notice.
func TestNotifyTest(t *testing.T) {
	h := receiver.NewHook(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(receiver.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	text := local + "notify:\n  targets:\n    - {id: ops, webhook: '" + h.URL + "', secret: 'file:" + secret + "'}\n"
	if code, stdout, stderr := tributary(t, text, "notify", "test", "ops"); code != exitOK || stdout != "ops was told\n" || len(h.Told()) != 1 || h.Told()[0].Type != "test" {
		t.Errorf("exit code %d, %d notices came\n%s%s", code, len(h.Told()), stdout, stderr)
	}
	h.Answer(func(receiver.Told) int { return http.StatusNotFound })
	if code, _, stderr := tributary(t, text, "notify", "test", "ops"); code != exitFailed || !strings.Contains(stderr, "HTTP status 404") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := tributary(t, text, "notify", "test", "others"); code != exitUsage || !strings.Contains(stderr, "notify.targets has ops") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// What is shown of a target tells no address that may be a secret.
func TestTargetsAreShown(t *testing.T) {
	rules := []config.NotifyRule{{When: config.FileFailed, To: []string{"a", "b"}}, {When: config.FileFailed, To: []string{"a"}}, {When: config.BatchClosed, To: []string{"b"}}}
	for _, tt := range []struct {
		target config.NotifyTarget
		want   string
	}{
		{config.NotifyTarget{ID: "a", Webhook: "https://chat.example.org/hooks/hunter2"}, "chat.example.org webhook file_failed"},
		{config.NotifyTarget{ID: "a", Webhook: "file:/etc/a.url"}, "file:/etc/a.url webhook file_failed"},
		{config.NotifyTarget{ID: "b", Mail: []string{"a@b", "c@d"}, Digest: config.Duration(86_400_000_000_000)}, "a@b,c@d digest every 24h file_failed,batch_closed"},
		{config.NotifyTarget{ID: "c", Mail: []string{"a@b"}}, "a@b mail "},
	} {
		r := targetOf(tt.target, rules)
		if got := r.To + " " + r.How + " " + strings.Join(r.Told, ","); got != tt.want {
			t.Errorf("shown is %q, want %q", got, tt.want)
		}
	}
}
