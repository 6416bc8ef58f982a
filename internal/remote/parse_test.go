package remote

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]Target{
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
		got, err := ParseURL(raw)
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
		_, err := ParseURL(raw)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want an error about %q", raw, err, want)
		}
	}
	if got := (Config{URL: "ftp://u@Files.example.org/x"}).Server(); got != "files.example.org:21" {
		t.Errorf("server %q", got)
	}
}

// Where a bucket is: at the endpoint, or Amazon, by its own name or in the path.
func TestS3Server(t *testing.T) {
	for _, tt := range []struct {
		c      Config
		want   string
		inPath bool
	}{
		{Config{URL: "s3://bucket/x"}, "bucket.s3.us-east-1.amazonaws.com:443", false},
		{Config{URL: "s3://bucket/x", Region: "eu-west-1"}, "bucket.s3.eu-west-1.amazonaws.com:443", false},
		{Config{URL: "s3://my.bucket/x", Region: "eu-west-1"}, "s3.eu-west-1.amazonaws.com:443", true},
		{Config{URL: "s3://bucket/x", Endpoint: "http://S3.example.org:9000/"}, "s3.example.org:9000", true},
		{Config{URL: "s3://bucket/x", Endpoint: "http://s3.example.org"}, "s3.example.org:80", true},
		{Config{URL: "s3://bucket/x", Endpoint: "https://s3.example.org", VirtualHosted: true}, "bucket.s3.example.org:443", false},
		{Config{URL: "s3://my.bucket/x", Endpoint: "https://s3.example.org", VirtualHosted: true}, "s3.example.org:443", true},
		{Config{URL: "s3://bucket/x", Endpoint: "s3.example.org"}, "", false},
		{Config{URL: "s3://bucket/x", Endpoint: "https://u@s3.example.org"}, "", false},
		{Config{URL: "s3://bucket/x", Endpoint: "https://s3.example.org/bucket"}, "", false},
		{Config{URL: "s3://bucket/x", Region: "evil.org/"}, "", false},
	} {
		if got := tt.c.Server(); got != tt.want {
			t.Errorf("%+v: server %q, want %q", tt.c, got, tt.want)
		}
		target, err := ParseURL(tt.c.URL)
		if err != nil {
			t.Fatal(err)
		}
		if to, err := s3TargetOf(tt.c, target); to.inPath != tt.inPath || (err == nil) != (tt.want != "") {
			t.Errorf("%+v: in the path %v, %v", tt.c, to.inPath, err)
		}
	}
}

func TestUnixTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("skipped: no time zones here: %v", err)
	}
	for _, tc := range []struct {
		line string
		now  time.Time
		want time.Time
	}{
		{"Mar  4 15:04", time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 4, 15, 4, 0, 0, time.UTC)},
		{"Dec 31 23:59", time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2023, 12, 31, 23, 59, 0, 0, time.UTC)},
		// A server ahead of us, around New Year.
		{"Jan  1 05:00", time.Date(2023, 12, 31, 20, 0, 0, 0, time.UTC), time.Date(2024, 1, 1, 5, 0, 0, 0, time.UTC)},
		// More than a day ahead can't be: it is a year old.
		{"Jan  3 05:00", time.Date(2023, 12, 31, 20, 0, 0, 0, time.UTC), time.Date(2023, 1, 3, 5, 0, 0, 0, time.UTC)},
		{"Feb 29 10:00", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 29, 10, 0, 0, 0, time.UTC)},
		{"Jul  1 12:00", time.Date(2024, 7, 2, 0, 0, 0, 0, berlin), time.Date(2024, 7, 1, 10, 0, 0, 0, time.UTC)},
		{"Jul  1  2019", time.Date(2024, 7, 2, 0, 0, 0, 0, time.UTC), time.Date(2019, 7, 1, 0, 0, 0, 0, time.UTC)},
	} {
		e, ok := parseUnixOrDOS("-rw-r--r-- 1 u g 5 "+tc.line+" x.zip", tc.now)
		if !ok || !e.ModTime.Equal(tc.want) || e.Name != "x.zip" || e.Size != 5 {
			t.Errorf("%s seen at %s: %+v, %v; want %s", tc.line, tc.now, e, ok, tc.want)
		}
	}
}

// Whatever a server sends, a line is an entry or it isn't.
func FuzzListLine(f *testing.F) {
	for _, line := range []string{
		"-rw-r--r--   1 u    g        12 Mar  4  2019 a.zip", "lrwxrwxrwx 1 u g 1 Jan 1 10:00 a -> b", "drwxr-xr-x+ 2 u g 4096 Feb 30 10:00 d",
		"type=file;size=1;modify=20240101000000; a.zip", ";;= x", "03-04-19  05:06AM  <DIR> d", "- 1 Jan", "----------", "Jan Jan Jan Jan Jan", "l000000000 0 0 Jan 1 0000  -> ",
	} {
		f.Add(line)
	}
	now := time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, line string) {
		for _, parse := range []func(string, time.Time) (Entry, bool){parseMachine, parseUnixOrDOS} {
			e, ok := parse(line, now)
			if ok && (e.Name == "" || e.Kind == File && e.Size < -1 || !strings.Contains(line, e.Name) && e.Name != ".") {
				t.Errorf("%q gives %+v", line, e)
			}
		}
	})
}

// Whatever a server sends, a packet is read within its bounds.
func FuzzNamePacket(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 'a', 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 'a', 0, 0, 0, 0, 128, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, body []byte) {
		n := 0
		_, _ = eachName(body, func(e Entry) error {
			if n++; n > len(body) {
				t.Fatal("more entries than bytes")
			}
			if e.Kind == File && !safeName(e.Name) {
				t.Errorf("%q is a file", e.Name)
			}
			return nil
		})
	})
}
