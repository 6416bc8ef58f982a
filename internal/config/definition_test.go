package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefinitionOfASource(t *testing.T) {
	lowest := 0
	short := Source{ID: "a", Centre: "H", URL: "file:///srv/a"}
	all := Source{ID: "b", Centre: "Ics", URL: "sftp://u@host:22/a%20b", Hosts: Hosts{{Centre: "J"}, {Centre: "H", Actions: []string{"add", "edit"}}},
		Password: "env:PASSWORD", IdentityFile: "/keys/id", IdentityPassphrase: "file:/keys/phrase", KnownHosts: "/keys/known", Token: "env:TOKEN", Cookie: "env:COOKIE", Headers: "env:HEADERS", Proxy: "http://u@proxy:1", ProxyPassword: "env:PROXY", Feed: "news.xml", WebDAV: true, Endpoint: "https://s3.example.org", Region: "eu-west-1", VirtualHosted: true, CAFile: "/keys/ca.pem", IdentityAgent: "/keys/agent", CertificatePin: []string{"sha256//x"}, Robots: RobotsIgnore, Jump: []string{"u@hop:22"}, HostKey: []string{"SHA256:x", "ssh-ed25519 AAAA # \"x\""},
		Interval: Duration(90 * time.Minute), MaxSessions: 3, Priority: &lowest, Preference: &lowest, Server: "both:22", DisableEPSV: true, MayBeEmpty: true, DoneFile: "*.ready", MinSize: 1 << 10, MaxSize: 2 << 30, MinAge: Duration(10 * time.Minute), MaxAge: Duration(720 * time.Hour), LatestOnly: true, DoneWith: "move done", Description: "mice: \"east\" # wing", ConnectTimeout: Duration(5 * time.Second), IdleTimeout: Duration(time.Minute),
		MaxInterval: Duration(4 * time.Hour), Cron: "*/5 * * * *", TimeZone: "Europe/Berlin", Windows: []Window{{"0 22 * * *", Duration(8 * time.Hour)}},
		Throttle: Throttles{{Cron: "0 22 * * *", For: Duration(8 * time.Hour)}, {Of: ThrottleSource, Rate: 2 << 20, Requests: 60, Pause: Duration(time.Second)}}}
	mirror := Source{ID: "007", Centre: "true", URL: "file:///null", Hosts: Hosts{{Centre: AllCentres}}}
	for name, tt := range map[string]struct {
		s    Source
		want string
	}{
		"what has its default is left out": {short, `{"centre":"H","id":"a","url":"file:///srv/a"}`},
		"every key": {all, `{"ca_file":"/keys/ca.pem","centre":"Ics","certificate_pin":["sha256//x"],"connect_timeout":"5s","cookie":"env:COOKIE","cron":"*/5 * * * *","description":"mice: \"east\" # wing","disable_epsv":true,"done_file":"*.ready","done_with":"move done","endpoint":"https://s3.example.org","feed":"news.xml","headers":"env:HEADERS","host_key":["SHA256:x","ssh-ed25519 AAAA # \"x\""],"hosts":["J",{"actions":["add","edit"],"centre":"H"}],` +
			`"id":"b","identity_agent":"/keys/agent","identity_file":"/keys/id","identity_passphrase":"file:/keys/phrase","idle_timeout":"1m","interval":"1h30m","jump":["u@hop:22"],"known_hosts":"/keys/known","latest_only":true,"max_age":"720h","max_interval":"4h","max_sessions":3,"max_size":"2GiB","may_be_empty":true,"min_age":"10m","min_size":"1KiB","password":"env:PASSWORD","preference":0,"priority":0,"proxy":"http://u@proxy:1","proxy_password":"env:PROXY","region":"eu-west-1","robots":"ignore","server":"both:22",` +
			`"throttle":[{"cron":"0 22 * * *","for":"8h"},{"of":"source","pause":"1s","rate":"2MiB","requests":60}],"time_zone":"Europe/Berlin","token":"env:TOKEN","url":"sftp://u@host:22/a%20b","virtual_hosted":true,"webdav":true,"windows":[{"cron":"0 22 * * *","for":"8h"}]}`},
		"texts that look like other values": {mirror, `{"centre":"true","hosts":"all","id":"007","url":"file:///null"}`},
	} {
		t.Run(name, func(t *testing.T) {
			tt.s.State = StateMaintenance // is no part of it
			got, err := tt.s.Definition()
			if err != nil || got != tt.want {
				t.Fatalf("definition is %s, %v; want %s", got, err, tt.want)
			}
			back, err := ParseDefinition(got)
			tt.s.State = ""
			if d := cmp.Diff(tt.s, back); d != "" || err != nil {
				t.Errorf("it is read as another (- want, + got), %v:\n%s", err, d)
			}
		})
	}
	for _, bad := range []string{`{"id":"a","window":"night"}`, `{"id":`, `["a"]`, `{"max_sessions":"many"}`} {
		if _, err := ParseDefinition(bad); err == nil || !strings.Contains(err.Error(), "definition of a source") {
			t.Errorf("%s: error is %v", bad, err)
		}
	}
}

func TestDifference(t *testing.T) {
	for _, tt := range []struct{ was, is, want string }{
		{`{"id":"a","url":"x"}`, `{"id":"a","url":"x"}`, ""},
		{`{"id":"a", "url":"x"}`, `{"url":"x","id":"a"}`, ""},
		{"{}", `{"id":"a","hosts":["J"]}`, `hosts: default → ["J"]; id: default → a`},
		{`{"interval":"1h","max_sessions":2}`, `{"max_sessions":3}`, "interval: 1h → default; max_sessions: 2 → 3"},
	} {
		if got, err := Difference(tt.was, tt.is); err != nil || got != tt.want {
			t.Errorf("from %s to %s: %q, %v; want %q", tt.was, tt.is, got, err, tt.want)
		}
	}
	for _, bad := range [][2]string{{"x", "{}"}, {"{}", "x"}} {
		if _, err := Difference(bad[0], bad[1]); err == nil {
			t.Errorf("%q is compared", bad)
		}
	}
}
