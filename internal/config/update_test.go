package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUpdateSource(t *testing.T) {
	const was = `{"id":"a","centre":"H","url":"file:///srv/a","hosts":["J"],"interval":"1h"}`
	for name, tt := range map[string]struct {
		kind   string
		values []string
		want   Source
	}{
		"a value is replaced":         {"merge", []string{"url=sftp://u@host:22/b", "host_key=SHA256:x", "password=env:PW"}, Source{ID: "a", Centre: "H", URL: "sftp://u@host:22/b", Hosts: Hosts{{Centre: "J"}}, Interval: Duration(3600e9), HostKey: []string{"SHA256:x"}, Password: "env:PW"}},
		"a key is taken out":          {"merge", []string{"interval=", "hosts="}, Source{ID: "a", Centre: "H", URL: "file:///srv/a"}},
		"a list is replaced":          {"merge", []string{"hosts=[Ics, {centre: J, actions: [add]}]"}, Source{ID: "a", Centre: "H", URL: "file:///srv/a", Interval: Duration(3600e9), Hosts: Hosts{{Centre: "Ics"}, {Centre: "J", Actions: []string{"add"}}}}},
		"a list is added to":          {"append", []string{"hosts=Ics", "max_sessions=2"}, Source{ID: "a", Centre: "H", URL: "file:///srv/a", Interval: Duration(3600e9), Hosts: Hosts{{Centre: "J"}, {Centre: "Ics"}}, MaxSessions: 2}},
		"all is replaced":             {"replace", []string{"centre=Ics", "url=file:///srv/b", "may_be_empty=true", "state=maintenance"}, Source{ID: "a", Centre: "Ics", URL: "file:///srv/b", MayBeEmpty: true, State: "maintenance"}},
		"texts stay texts":            {"replace", []string{"centre=007", "time_zone='UTC'", "url='file:///srv/: b'"}, Source{ID: "a", Centre: "007", TimeZone: "UTC", URL: "file:///srv/: b"}},
		"paths become absolute":       {"replace", []string{"centre=H", "url=ftp://u@h/", "password=file:pw"}, Source{ID: "a", Centre: "H", URL: "ftp://u@h/", Password: "file:/etc/tributary/pw"}},
		"a text needs no quotes":      {"replace", []string{"centre=H", "url=file:///srv/a", "cron=*/5 * * * *"}, Source{ID: "a", Centre: "H", URL: "file:///srv/a", Cron: "*/5 * * * *"}},
		"a list of blocks":            {"merge", []string{"interval=", "cron=@daily", "hosts=", `windows=[{cron: "0 22 * * *", for: 8h}]`}, Source{ID: "a", Centre: "H", URL: "file:///srv/a", Cron: "@daily", Windows: []Window{{"0 22 * * *", Duration(8 * 3600e9)}}}},
		"a list is begun with append": {"append", []string{`windows=[{cron: "0 22 * * *", for: 8h}]`}, Source{ID: "a", Centre: "H", URL: "file:///srv/a", Interval: Duration(3600e9), Hosts: Hosts{{Centre: "J"}}, Windows: []Window{{"0 22 * * *", Duration(8 * 3600e9)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := UpdateSource("a", was, tt.kind, tt.values)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Default().ParseSources("test", bytes.NewReader(text), "/etc/tributary", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]Source{tt.want}, got); d != "" {
				t.Errorf("source differs (- want, + got):\n%s", d)
			}
			again, err := SourcesYAML(got)
			if err != nil {
				t.Fatal(err)
			}
			if got, err = Default().ParseSources("test", bytes.NewReader(again), "/elsewhere", Options{}); err != nil || cmp.Diff([]Source{tt.want}, got) != "" {
				t.Errorf("it is written as another, %v:\n%s", err, again)
			}
		})
	}
	for pair, want := range map[string]string{
		"url": "is no KEY=VALUE", "=x": "is no KEY=VALUE", "id=b": "an id stays", "hosts=[": "can't be read",
	} {
		if _, err := UpdateSource("a", was, "merge", []string{pair}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", pair, err)
		}
	}
}

func TestNamesOfServers(t *testing.T) {
	for _, name := range []string{"files.example.org:22", "[::1]:22", "nas-1", "the_mirror", strings.Repeat("x", 255)} {
		got, err := Default().ParseSources("test", strings.NewReader("sources: [{id: a, centre: H, url: 'file:///x', server: '"+name+"'}]"), "/", Options{})
		if err != nil || got[0].Server != name {
			t.Errorf("%q is refused or read otherwise: %+v, %v", name, got, err)
		}
	}
}

func TestParseSourcesRefuses(t *testing.T) {
	const jumping = "sources: [{id: a, centre: H, url: 'sftp://u@h/', known_hosts: kh, identity_file: k, "
	for text, want := range map[string]string{
		"sources: [{id: a, centre: H, url: 'file:///x', known_hosts: kh, disable_epsv: true}]":                             "sources[0].known_hosts: is a key of sftp sources, and this one is reached by file",
		"sources: [{id: a, centre: H, url: 'sftp://u@h/', host_key: ['SHA256:x'], password: 'env:P', disable_epsv: true}]": "sources[0].disable_epsv: is a key of ftp, ftpes, ftps sources, and this one is reached by sftp: take it out",
		"sources: [{id: a, centre: H, url: 'http://h/', ca_file: x.pem}]":                                                  "sources[0].ca_file: is a key of ftpes, ftps, https, s3 sources, and this one is reached by http",
		"sources: [{id: a, centre: H, url: 'ftp://h/', robots: ignore, token: 'env:T'}]":                                   "sources[0].robots: is a key of https, http sources, and this one is reached by ftp",
		"sources: [{id: a, centre: H, url: 'http://h/', token: t0ken}]":                                                    "sources[0].token: is written plainly",
		"sources: [{id: a, centre: H, url: 'http://u@h/', token: 'env:T', password: 'env:P'}]":                             "sources[0].token: is one way to log in, and the user of url with password another",
		"sources: [{id: a, centre: H, url: 'http://h/', password: 'env:P'}]":                                               "sources[0].password: is of nobody",
		"sources: [{id: a, centre: H, url: 'http://u@h/'}]":                                                                "sources[0].password: is missing: url names a user",
		"sources: [{id: a, centre: H, url: 'http://h/', feed: 'http://other/x.xml'}]":                                      "sources[0].feed: is no path",
		"sources: [{id: a, centre: H, url: 'http://h/', feed: x.xml, webdav: true}]":                                       "sources[0].webdav: is one way to see",
		"sources: [{id: a, centre: H, url: 'file:///s', done_file: done}]":                                                 "sources[0].done_file: \"done\" names no file beside another",
		"sources: [{id: a, centre: H, url: 'file:///s', done_file: 'done/*'}]":                                             "sources[0].done_file: \"done/*\" names no file beside another",
		"sources: [{id: a, centre: H, url: 'file:///s', done_file: '*.ready.ZIP'}]":                                        "sources[0].done_file: \"*.ready.ZIP\" would be a file to be taken itself",
		"sources: [{id: a, centre: H, url: 'file:///s', done_file: '*'}]":                                                  "sources[0].done_file: \"*\" would be the name of the file without its end",
		"sources: [{id: a, centre: H, url: 'file:///s', done_file: '*.zip.done', done_with: mark}]":                        "sources[0].done_file: \"*.zip.done\" is what done_with marks files with",
		"sources: [{id: a, centre: H, url: 'http://h/', feed: f.xml, done_file: '*.done'}]":                                "sources[0].done_file: is shown by no feed",
		"sources: [{id: a, centre: H, url: 'file:///s', min_size: 2MB, max_size: 1MB}]":                                    "sources[0].min_size: is 2MB, and max_size 1MB: no file is both",
		"sources: [{id: a, centre: H, url: 'file:///s', min_age: 1h, max_age: 1h}]":                                        "sources[0].min_age: is 1h, and max_age 1h: a file would be too old before it is taken",
		"sources: [{id: a, centre: H, url: 'file:///s', max_size: 0}]":                                                     "sources[0].max_size: is 0",
		"sources: [{id: a, centre: H, url: 'http://h/', done_with: delete}]":                                               "sources[0].done_with: can be done over HTTP by WebDAV alone",
		"sources: [{id: a, centre: H, url: 'ftp://h/', feed: x.xml}]":                                                      "sources[0].feed: is a key of https, http sources",
		"sources: [{id: a, centre: H, url: 'http://h/', headers: 'X-Key: 1'}]":                                             "sources[0].headers: is written plainly",
		"sources: [{id: a, centre: H, url: 'http://h/', cookie: sid=1}]":                                                   "sources[0].cookie: is written plainly",
		"sources: [{id: a, centre: H, url: 'http://h/', proxy: 'http://p:1', proxy_password: s3cret}]":                     "sources[0].proxy_password: is written plainly",
		"sources: [{id: a, centre: H, url: 'http://h/', proxy: 'http://p:1', proxy_password: 'env:P'}]":                    "sources[0].proxy_password: and the user in proxy belong together",
		"sources: [{id: a, centre: H, url: 'http://h/', proxy: 'http://u:s3cret@p:1'}]":                                    "sources[0].proxy: holds a password: take it out",
		"sources: [{id: a, centre: H, url: 'http://h/', proxy: 'socks5://p:1'}]":                                           "sources[0].proxy: is no address of one",
		"sources: [{id: a, centre: H, url: 'ftp://h/', proxy: 'http://p:1'}]":                                              "sources[0].proxy: is a key of https, http, s3 sources",
		"sources: [{id: a, centre: H, url: 'ftp://h/', jump: ['u@hop']}]":                                                  "sources[0].jump: is a key of sftp sources, and this one is reached by ftp",
		jumping + "jump: ['u@a', 'u@b', 'u@c', 'u@d']}]":                                                                   "sources[0].jump: lists 4 jump hosts: no more than 3",
		jumping + "jump: ['u@a', 'hop:22']}]":                                                                              "sources[0].jump[1]: is no jump host: write user@host:port",
		jumping + "jump: ['u:s3cret@hop']}]":                                                                               "sources[0].jump[0]: is no jump host: write user@host:port",
		jumping + "jump: ['u@a,u@b']}]":                                                                                    "sources[0].jump[0]: is no jump host: write user@host:port",
		jumping + "jump: ['ssh://u@hop']}]":                                                                                "sources[0].jump[0]: is no jump host: write user@host:port",
		"sources: [{id: a, centre: H, url: 'sftp://u@h/', host_key: ['SHA256:x'], identity_file: k, jump: ['u@hop']}]":     "sources[0].known_hosts: is missing: the keys of jump hosts",
		"sources: [{id: a, centre: H, url: 'sftp://u@h/', known_hosts: kh, password: 'env:P', jump: ['u@hop']}]":           "sources[0].identity_file: is missing, as is identity_agent",
		"sources: [{id: a, centre: H, url: 'http://h/', robots: heed}]":                                                    "sources[0].robots: \"heed\" is not known: use obey, ignore",
		"sources: [{id: a, centre: H, url: 'http://h/?page=2'}]":                                                           "sources[0].url: http://h/ has a ? or # part",
		"sources: [{id: a, centre: H, url: 's3://bucket/', password: 'env:P'}]":                                            "sources[0].password: is of nobody",
		"sources: [{id: a, centre: H, url: 's3://AKIA@bucket/'}]":                                                          "sources[0].password: is missing: url names an access key",
		"sources: [{id: a, centre: H, url: 's3://bucket/', endpoint: s3.example.org}]":                                     "sources[0].endpoint: is no address of a server",
		"sources: [{id: a, centre: H, url: 's3://bucket/', region: 'EU (Ireland)'}]":                                       "sources[0].region: \"EU (Ireland)\" is no name",
		"sources: [{id: a, centre: H, url: 'http://h/', region: eu-west-1}]":                                               "sources[0].region: is a key of s3 sources",
		"sources: [{id: a, centre: H, url: 'gopher://x/'}]":                                                                "sources[0].url: scheme \"gopher\" is not known here: use sftp",
		"sources: [{id: a, centre: H, url: 'file:///x'}, {id: a, centre: H, url: 'file:///y'}]":                            "is the id of sources[0] too",
		"sources: [{id: a, centre: H, url: 'ftp://u@h/', password: hunter2}]":                                              "sources[0].password: is written plainly",
		"sources: [{id: a, centre: H, url: 'file:///x', max_sessions: -1}]":                                                "sources[0].max_sessions: is negative",
		"sources: [{id: a, centre: H, url: 'file:///x', priority: -1}]":                                                    "sources[0].priority: is -1: write a number from 0 to 9",
		"sources: [{id: a, centre: H, url: 'file:///x', priority: 10}]":                                                    "sources[0].priority: is 10: write a number from 0 to 9",
		"sources: [{id: a, centre: H, url: 'file:///x', preference: 10}]":                                                  "sources[0].preference: is 10: write a number from 0 to 9",
		`sources: [{id: a, centre: H, url: 'file:///x', server: "a b"}]`:                                                   `sources[0].server: "a b" is no name of a server: write the host:port`,
		`sources: [{id: a, centre: H, url: 'file:///x', server: "a\tb"}]`:                                                  `sources[0].server: "a\tb" is no name`,
		`sources: [{id: a, centre: H, url: 'file:///x', server: -a}]`:                                                      "sources[0].server: ",
		"sources: [{id: a, centre: H, url: 'file:///x', server: " + strings.Repeat("x", 256) + "}]":                        "sources[0].server: ",
		"sources: [{id: a, centre: H, url: 'file:///x', state: asleep}]":                                                   "sources[0].state",
		"sources: [{id: a, centre: H, url: 'file:///x', window: night}]":                                                   "sources[0].window: unknown key",
		"sources: [{id: a, centre: H, url: 'file:///" + strings.Repeat("x", MaxDefinition) + "'}]":                         "go along with each job",
		`sources: [{id: a, centre: H, url: "file:///x\0y"}]`:                                                               `sources[0].url: holds the control character '\x00': take it out`,
		"kafka: {}":  "kafka: unknown key",
		"sources: [": "not valid YAML",
	} {
		if _, err := Default().ParseSources("test", strings.NewReader(text), "/", Options{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.80s: error is %.300v", text, err)
		}
	}
}
