package connectors_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]remote.Target{
		"sftp://u@Host/":             {Scheme: "sftp", User: "u", Host: "host", Port: "22", Base: "/"},
		"sftp://u@h:2022/a/../b/":    {Scheme: "sftp", User: "u", Host: "h", Port: "2022", Base: "/b"},
		"sftp://u%40x@h/a%20b":       {Scheme: "sftp", User: "u@x", Host: "h", Port: "22", Base: "/a b"},
		"ftp://h":                    {Scheme: "ftp", User: "anonymous", Host: "h", Port: "21", Base: "/"},
		"ftp://u@[::1]:21//srv/impc": {Scheme: "ftp", User: "u", Host: "::1", Port: "21", Base: "//srv/impc"},
		"file:///data/in":            {Scheme: "file", Base: "/data/in"},
		"https://Files.example.org":  {Scheme: "https", Host: "files.example.org", Port: "443", Base: "/"},
		"http://u@h:8080/a%20b/":     {Scheme: "http", User: "u", Host: "h", Port: "8080", Base: "/a b"},
		"FILE://localhost/data":      {Scheme: "file", Base: "/data"},
		"s3://AKIA@b.1-x/impc/in/":   {Scheme: "s3", User: "AKIA", Host: "b.1-x", Port: "443", Base: "/impc/in"},
	} {
		got, err := connectors.All().ParseURL(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
	for raw, want := range map[string]string{
		"":                      "scheme",
		"gopher://h/":           "use sftp, ftp, ftpes, ftps, https, http, s3 or file",
		"sftp://h/":             "no user",
		"sftp://u@/":            "no host",
		"sftp://u:s3cret@h/":    "password",
		"sftp://u:s3cret@h:x/":  "parsed",
		"file://host/x":         "host",
		"file:x":                "path",
		"ftp://u@h/a?b":         "?",
		"ftp://u@h/a%0d%0aDELE": "control",
		"s3://bucket:9000/x":    "endpoint",
		"s3://b/x":              "names no bucket",
		"s3://Bucket/x":         "small letters",
		"s3://bucket/a//b":      "empty part",
		"s3://bucket/a/../b":    "empty part",
		"s3://u:s3cret@bucket":  "password",
	} {
		_, err := connectors.All().ParseURL(raw)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want an error about %q", raw, err, want)
		}
	}
	if got := connectors.All().Server(remote.Config{URL: "ftp://u@Files.example.org/x"}); got != "files.example.org:21" {
		t.Errorf("server %q", got)
	}
}
