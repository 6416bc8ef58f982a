package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes a configuration file beside the secrets that tests refer to.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{"secret": "s3cret\n", "empty": "\n", "key": "k", "hosts": "h", "tributary.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "tributary.yaml")
}

// source is a valid SFTP source whose first line is line 2.
const source = `sources:
  - id: a
    centre: H
    url: sftp://u@host/base
    identity_file: key
    known_hosts: hosts
`

func TestLoadRefuses(t *testing.T) {
	tests := map[string]struct {
		yaml string
		env  []string
		want []string // one a problem, in order, without the file's folder
	}{
		"unknown key": {yaml: source + "    intervall: 5m\n",
			want: []string{"tributary.yaml:7: sources[0].intervall: unknown key; did you mean interval?"}},
		"a long description": {yaml: source + "    description: '" + strings.Repeat("ä", 501) + "'\n",
			want: []string{"tributary.yaml:7: sources[0].description: has 501 characters, or hidden ones: write up to 500 that can be seen, and the address of what says more"}},
		"a hidden description": {yaml: source + "    description: \"a\\eb\"\n",
			want: []string{"tributary.yaml:7: sources[0].description: has 3 characters, or hidden ones: write up to 500 that can be seen, and the address of what says more"}},
		"a door that there is not": {yaml: "clickhouse: {listen: '127.0.0.1:9000'}\n",
			want: []string{"tributary.yaml:1: clickhouse.listen: the embedded ClickHouse has no door, since nothing in it confines a reader (docs/decisions/0028-the-doors-for-readers.md): leave this out, and ask it with tributary sql --store history, or set clickhouse.url to a ClickHouse of your own and let tools connect there (docs/how-to/connect-your-tools.md)"}},
		"unknown key unlike any": {yaml: "publish:\n  zzzzzzzzz: 1\n",
			want: []string{"tributary.yaml:2: publish.zzzzzzzzz: unknown key; known here: batch, interval, lease_ttl"}},
		"key twice": {yaml: "data_dir: a\ndata_dir: b\n",
			want: []string{"tributary.yaml:2: data_dir: given twice, first in line 1: keep one"}},
		"duration without unit": {yaml: "schedule:\n  interval: 30\n",
			want: []string{`tributary.yaml:2: schedule.interval: "30" has no unit: write 30s, 30m or 30h`}},
		"bad duration": {yaml: "schedule:\n  interval: soon\n",
			want: []string{`tributary.yaml:2: schedule.interval: "soon" is not a duration: write it like 500ms, 30s, 5m or 1h30m`}},
		"bad size": {yaml: "plan:\n  job_bytes: 64 megs\n",
			want: []string{`tributary.yaml:2: plan.job_bytes: "64 megs" is not a size: write a number with or without kB, MB, GB, KiB, MiB or GiB, like 64MiB`}},
		"size too large": {yaml: "plan:\n  job_bytes: 9999999999GiB\n",
			want: []string{`tributary.yaml:2: plan.job_bytes: "9999999999GiB" is too large`}},
		"bad number": {yaml: "kafka:\n  partitions: six\n",
			want: []string{`tributary.yaml:2: kafka.partitions: "six" is not a whole number that fits: write digits only`}},
		"number beyond its type": {yaml: "kafka:\n  replication_factor: 70000\n",
			want: []string{`tributary.yaml:2: kafka.replication_factor: "70000" is not a whole number that fits: write digits only`}},
		"zero and negative": {yaml: "plan:\n  attempts: 0\npoll:\n  settle: 0s\n  timeout: -1s\n", want: []string{
			"tributary.yaml:2: plan.attempts: is 0: write a value above 0, or take the key out for the default",
			"tributary.yaml:5: poll.timeout: is negative: write a value above 0, or take the key out for the default"}},
		"bad truth": {yaml: "download:\n  checksums: yes please\n",
			want: []string{`tributary.yaml:2: download.checksums: "yes please" is neither true nor false`}},
		"list where a block belongs": {yaml: "kafka: [a]\n",
			want: []string{"tributary.yaml:1: kafka: expects keys below it, indented, not a list"}},
		"block where a list belongs": {yaml: "sources:\n  id: a\n",
			want: []string{"tributary.yaml:1: sources: expects a list, each item after a dash, not a block of keys"}},
		"duplicate source": {yaml: source + strings.TrimPrefix(source, "sources:\n"),
			want: []string{`tributary.yaml:7: sources[1].id: "a" is the id of sources[0] too (line 2): ids are unique and stay, choose another`}},
		"source without anything": {yaml: "sources:\n  - id: a\n", want: []string{
			"tributary.yaml:2: sources[0].centre: is missing: write the short name of the centre that runs the source",
			"tributary.yaml:2: sources[0].url: is missing: write sftp://user@host:22/path, ftp://user@host/path, ftpes://user@host/path, ftps://user@host:990/path, https://host/path, http://host/path, s3://bucket/prefix or file:///path"}},
		"no host key": {yaml: "sources:\n  - {id: a, centre: H, url: 'sftp://u@h/b', password: 'file:secret'}\n",
			want: []string{"tributary.yaml:2: sources[0].known_hosts: is missing, as is host_key: a server's identity is always verified; name a known_hosts file (ssh-keyscan writes its lines, compare the fingerprint with what the server's owner tells you), or pin host_key: SHA256:…"}},
		"no way to log in": {yaml: "sources:\n  - {id: a, centre: H, url: 'sftp://u@h/b', known_hosts: hosts}\n",
			want: []string{"tributary.yaml:2: sources[0].identity_file: is missing, as is password: say how to log in, with identity_file: PATH or password: file:PATH"}},
		"plain password": {yaml: source + "    password: hunter2\n",
			want: []string{"tributary.yaml:7: sources[0].password: is written plainly: put it into a file or the environment and write file:PATH or env:NAME"}},
		"password in the url": {yaml: "sources:\n  - {id: a, centre: H, url: 'ftp://u:hunter2@h/b'}\n",
			want: []string{"tributary.yaml:2: sources[0].url: holds a password: take it out, put it into a file and write password: file:PATH"}},
		"unknown scheme": {yaml: "sources:\n  - {id: a, centre: H, url: 'gopher://h/b'}\n",
			want: []string{`tributary.yaml:2: sources[0].url: scheme "gopher" is not known here: use sftp, ftp, ftpes, ftps, https, http, s3 or file`}},
		"secret not in the environment": {yaml: source + "    password: env:NOT_THERE\n",
			want: []string{"tributary.yaml:7: sources[0].password: the environment has no NOT_THERE: export NOT_THERE before starting"}},
		"secret's file is not there": {yaml: source + "    password: file:nowhere\n",
			want: []string{"tributary.yaml:7: sources[0].password: there is no file DIR/nowhere: write the secret into it, readable by this user only (chmod 600)"}},
		"secret's file is empty": {yaml: source + "    password: file:empty\n",
			want: []string{"tributary.yaml:7: sources[0].password: the file DIR/empty is empty: write the secret into it"}},
		"identity file is not there": {yaml: strings.Replace(source, "key", "nokey", 1),
			want: []string{"tributary.yaml:5: sources[0].identity_file: can't be read: open DIR/nokey: no such file or directory: put the file there, readable by this user, or correct the path (relative paths are relative to the configuration)"}},
		"postgres password": {yaml: "postgres:\n  url: postgres://u:hunter2@h/d\n",
			want: []string{"tributary.yaml:2: postgres.url: holds a password: put the whole address into a file or the environment and write file:PATH or env:NAME"}},
		"postgres password as a parameter": {yaml: "postgres:\n  url: postgres://u@h/d?password=hunter2\n",
			want: []string{"tributary.yaml:2: postgres.url: holds a password: put the whole address into a file or the environment and write file:PATH or env:NAME"}},
		"centre twice": {yaml: "centres:\n  - short_name: Abc\n  - short_name: aBC\n",
			want: []string{`tributary.yaml:3: centres[1].short_name: "aBC" is centres[0] too (line 2), capitals don't matter: keep one`}},
		"group protocol": {yaml: "kafka:\n  group_protocol: eager\n",
			want: []string{`tributary.yaml:2: kafka.group_protocol: "eager" is not known: use classic, consumer`}},
		"underscore in the prefix": {yaml: "kafka:\n  topic_prefix: my_topics\n",
			want: []string{`tributary.yaml:2: kafka.topic_prefix: "my_topics" can't begin a topic's name: use up to 100 letters, digits, dots and dashes (no _: it collides with . in metrics)`}},
		"sasl without a password": {yaml: "kafka:\n  sasl:\n    mechanism: plain\n    username: u\n",
			want: []string{"tributary.yaml:2: kafka.sasl.password: is missing: write file:PATH or env:NAME"}},
		"registry's address with a password": {yaml: "schema_registry:\n  url: http://ann:hunter2@registry:8081\n",
			want: []string{"tributary.yaml:2: schema_registry.url: holds a user: write it as schema_registry.username, and its password as file:PATH or env:NAME"}},
		"collector's address with a token": {yaml: "traces:\n  endpoint: https://host/v1/traces?token=hunter2\n",
			want: []string{"tributary.yaml:2: traces.endpoint: holds more than host and path: write who asks as traces.authorization, file:PATH or env:NAME"}},
		"collector's address without a scheme": {yaml: "traces:\n  endpoint: host:4318\n",
			want: []string{"tributary.yaml:2: traces.endpoint: can't be read as an address: write http://host:4318 or https://host"}},
		"collector's secret written plainly": {yaml: "traces:\n  endpoint: http://host:4318\n  authorization: Bearer hunter2\n",
			want: []string{"tributary.yaml:3: traces.authorization: is written plainly: put it into a file or the environment and write file:PATH or env:NAME"}},
		"authorization without a collector": {yaml: "traces:\n  authorization: env:HOME\n",
			want: []string{"tributary.yaml:1: traces.endpoint: is missing, though other keys of traces are set: add it, or take them out",
				"tributary.yaml:2: traces.authorization: the environment has no HOME: export HOME before starting"}},
		"registry's address without a scheme": {yaml: "schema_registry:\n  url: registry:8081\n",
			want: []string{"tributary.yaml:2: schema_registry.url: can't be read as an address: write http://host:8081 or https://host"}},
		"registry's password in plain": {yaml: "schema_registry:\n  username: ann\n  password: hunter2\n",
			want: []string{"tributary.yaml:3: schema_registry.password: is written plainly: put it into a file or the environment and write file:PATH or env:NAME"}},
		"registry's user without a password": {yaml: "schema_registry:\n  username: ann\n",
			want: []string{"tributary.yaml:1: schema_registry: username and password belong together: set both or neither"}},
		"a door that others reach": {yaml: "postgres:\n  listen: 0.0.0.0:5433\n",
			want: []string{`tributary.yaml:2: postgres.listen: "0.0.0.0:5433" is not on loopback: the door has no TLS, so write 127.0.0.1:PORT or [::1]:PORT and reach it from elsewhere through ssh -L`}},
		"pages that others can listen to": {yaml: "web:\n  listen: 0.0.0.0:8400\n",
			want: []string{"tributary.yaml:2: web.listen: 0.0.0.0:8400 is not of this machine alone, and without TLS passwords can be read on the way: give web.cert_file and web.key_file, or order web.insecure: true"}},
		"pages at no address": {yaml: "web:\n  listen: none\n",
			want: []string{`tributary.yaml:2: web.listen: "none" is not an address: write host:port`}},
		"pages' prefix": {yaml: "web:\n  prefix: tributary/\n",
			want: []string{`tributary.yaml:2: web.prefix: "tributary/" is no path: write one such as /tributary, without a slash at its end`}},
		"pages at no address for browsers": {yaml: "web:\n  url: tracker.example.org\n",
			want: []string{`tributary.yaml:2: web.url: "tracker.example.org" is no address: write one such as https://id.example.org`}},
		"pages at a blank": {yaml: "web:\n  url: '  '\n",
			want: []string{`tributary.yaml:2: web.url: "  " is no address: write one such as https://id.example.org`}},
		"pages at a port of nobody": {yaml: "web:\n  url: https://:8400/\n",
			want: []string{`tributary.yaml:2: web.url: "https://:8400/" is no address: write one such as https://id.example.org`}},
		"a proxy by name": {yaml: "web:\n  proxies: [10.0.0.0/8, '::1', proxy]\n",
			want: []string{`tributary.yaml:2: web.proxies[2]: "proxy" is neither an address nor a network: write one such as 127.0.0.1 or 10.0.0.0/8`}},
		"a certificate without its key": {yaml: "web:\n  cert_file: cert.pem\n",
			want: []string{"tributary.yaml:2: web.cert_file: goes with web.key_file: give both, or neither"}},
		"a provider without TLS, and what it lacks": {yaml: "web:\n  oidc:\n    issuer: http://id.example.org\n    client_secret: hunter2\n    url: localhost\n",
			want: []string{
				"tributary.yaml:2: web.oidc.client_id: is missing: write the id under which the provider knows Tributary",
				"tributary.yaml:2: web.oidc.roles: gives nobody a role: write which values of groups are reader, wrangler or operator",
				"tributary.yaml:3: web.oidc.issuer: http://id.example.org is without TLS, so that others can read who logs in on the way: write https://…",
				"tributary.yaml:4: web.oidc.client_secret: is written plainly: put it into a file or the environment and write file:PATH or env:NAME",
				`tributary.yaml:5: web.oidc.url: "localhost" is no address: write one such as https://id.example.org`,
			}},
		"what is of no provider": {yaml: "web:\n  oidc:\n    client_id: tributary\n",
			want: []string{"tributary.yaml:2: web.oidc.issuer: is missing: write the provider's, such as https://id.example.org"}},
		"a door by name": {yaml: "postgres:\n  listen: localhost:5433\n",
			want: []string{`tributary.yaml:2: postgres.listen: "localhost:5433" is not on loopback: the door has no TLS, so write 127.0.0.1:PORT or [::1]:PORT and reach it from elsewhere through ssh -L`}},
		"a door to a database of one's own": {yaml: "postgres:\n  url: postgres://db/tributary\n  listen: 127.0.0.1:5433\n",
			want: []string{`tributary.yaml:3: postgres.listen: opens a door to the embedded engine, and postgres.url names another: take one of them out; a Postgres of your own has its own doors`}},
		"target of no kind": {yaml: "notify:\n  targets:\n    - id: ops\n",
			want: []string{"tributary.yaml:3: notify.targets[0]: is either a webhook or mail: write one of both"}},
		"webhook with a token": {yaml: "notify:\n  targets:\n    - id: Ops\n      webhook: https://host/x?token=hunter2\n      secret: hunter2\n      digest: 1h\n",
			want: []string{`tributary.yaml:3: notify.targets[0].id: "Ops" is no id: write small letters, digits, _ and -, up to 32 of them`,
				"tributary.yaml:4: notify.targets[0].webhook: holds more than host and path: write file:PATH or env:NAME of it",
				"tributary.yaml:5: notify.targets[0].secret: is written plainly: put it into a file or the environment and write file:PATH or env:NAME",
				"tributary.yaml:6: notify.targets[0].digest: is for mail: take it out, or write mail in place of webhook"}},
		"mail without a server": {yaml: "notify:\n  targets:\n    - {id: ops, mail: [a@b, c], digest: 1s}\n",
			want: []string{"tributary.yaml:1: notify.smtp.server: is missing, though somebody is sent mail: write host:port",
				"tributary.yaml:3: notify.targets[0].digest: is too short: write 1m or more, or take it out for a mail each",
				`tributary.yaml:3: notify.targets[0].mail[1]: "c" is no address: write one such as data@example.org`}},
		"mail that others can read": {yaml: "notify:\n  smtp:\n    server: mail.example.org:25\n    tls: none\n    from: a@b\n    username: u\n",
			want: []string{"tributary.yaml:4: notify.smtp.tls: none is for a server of this machine, and mail.example.org is none: write starttls or tls",
				"tributary.yaml:6: notify.smtp.username: goes with notify.smtp.password: give both, or neither"}},
		"rules": {yaml: "notify:\n  rules:\n    - {when: never, to: [ops]}\n    - {when: phase_reached}\n  watchdog:\n    to: [b]\n    heartbeat: host\n",
			want: []string{`tributary.yaml:3: notify.rules[0].to: "ops" is the id of no target: add it to notify.targets, or correct it`,
				`tributary.yaml:3: notify.rules[0].when: "never" is not known: use phase_reached, file_failed, centre_late, batch_closed, source_suspended, finding_opened, server_clock_skewed`,
				`tributary.yaml:4: notify.rules[1].phase: "" is no phase: write one of zip_name, download, zip_md5, unzip, xml_name, xsd, upload, data, context, overview, qc`,
				"tributary.yaml:4: notify.rules[1].to: names no target: write ids of notify.targets",
				`tributary.yaml:6: notify.watchdog.to: "b" is the id of no target: add it to notify.targets, or correct it`,
				"tributary.yaml:7: notify.watchdog.heartbeat: is no address: write https://host/path, or file:PATH or env:NAME of it"}},
		"address without a port": {yaml: "kafka:\n  bootstrap_servers:\n    - broker\n",
			want: []string{`tributary.yaml:3: kafka.bootstrap_servers[0]: "broker" is not an address: write host:port`}},
		"not yaml": {yaml: "data_dir: ./data\n\tprofile: impc\n",
			want: []string{"tributary.yaml:2: not valid YAML: found a tab character that violates indentation; look at the indentation (spaces, no tabs) and quotes around here"}},
		"two documents": {yaml: "data_dir: a\n---\ndata_dir: b\n",
			want: []string{"tributary.yaml:2: a second YAML document begins here: keep one, without ---"}},
		"environment names no key": {env: []string{"TRIBUTARY_CFG_KAFKA_TOPIC_PREFX=x"},
			want: []string{"environment TRIBUTARY_CFG_KAFKA_TOPIC_PREFX: names no key; did you mean TRIBUTARY_CFG_KAFKA_TOPIC_PREFIX?"}},
		"environment's value is bad": {yaml: "kafka:\n  partitions: 3\n", env: []string{"TRIBUTARY_CFG_KAFKA_PARTITIONS=many"},
			want: []string{`environment TRIBUTARY_CFG_KAFKA_PARTITIONS: kafka.partitions: "many" is not a whole number that fits: write digits only`}},
		"all at once, by line": {yaml: "log:\n  level: loud\nkafka:\n  partitions: x\ncolour: red\n", want: []string{
			`tributary.yaml:2: log.level: "loud" is not known: use debug, info, warn, error`,
			`tributary.yaml:4: kafka.partitions: "x" is not a whole number that fits: write digits only`,
			"tributary.yaml:5: colour: unknown key; known here: data_dir, profile, shadow_profile, engines_dir, sources, centres, kafka, schema_registry, postgres, clickhouse, blobs, schedule, poll, plan, publish, download, unzip, validate, sequence, insert, tracker, history, traces, notify, limits, http, web, log"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := write(t, tc.yaml)
			_, err := Load(path, tc.env, Options{})
			if err == nil {
				t.Fatal("Load accepted it")
			}
			dir := filepath.Dir(path)
			got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir+"/tributary.yaml", "tributary.yaml"), dir, "DIR")
			if diff := cmp.Diff(tc.want, strings.Split(got, "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells the secret: %v", err)
			}
		})
	}
}

func TestLoadNoFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil, Options{})
	if err == nil || !strings.Contains(err.Error(), "tributary init") {
		t.Fatalf("want an error that tells of tributary init, got %v", err)
	}
}

func TestLoadTenLines(t *testing.T) {
	path := write(t, `data_dir: ./data
profile: impc
sources:
  - id: harwell
    centre: H
    url: sftp://reader@files.example.org:22/outgoing
    identity_file: key
    known_hosts: hosts
  - id: ics-ftp
    centre: Ics
    url: ftp://reader@ftp.example.org/impc
    password: file:secret
`)
	got, err := Load(path, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	want := defaults(dir)
	want.Sources = []Source{
		{ID: "harwell", Centre: "H", URL: "sftp://reader@files.example.org:22/outgoing", IdentityFile: dir + "/key",
			KnownHosts: dir + "/hosts", Interval: want.Schedule.Interval, State: "available"},
		{ID: "ics-ftp", Centre: "Ics", URL: "ftp://reader@ftp.example.org/impc", Password: Secret("file:" + dir + "/secret"),
			Interval: want.Schedule.Interval, State: "available"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if secret, err := got.Sources[1].Password.Resolve(); err != nil || secret != "s3cret" {
		t.Errorf("Resolve = %q, %v", secret, err)
	}
}

// defaults is what an empty file in dir gives.
func defaults(dir string) Config {
	c := Default()
	c.Path, c.DataDir, c.Blobs.Dir = dir+"/tributary.yaml", dir+"/data", dir+"/data/blobs"
	c.Kafka.Partitions, c.Kafka.ReplicationFactor = 3, 1
	return c
}

func TestLoadEmptyIsDefault(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "comment": "# nothing\n", "keys without values": "kafka:\ndata_dir:\npoll:\n  timeout:\n"} {
		t.Run(name, func(t *testing.T) {
			path := write(t, text)
			got, err := Load(path, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(defaults(filepath.Dir(path)), got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverrides(t *testing.T) {
	path := write(t, source+"kafka:\n  partitions: 2\n")
	got, err := Load(path, []string{
		"TRIBUTARY_CFG_KAFKA_PARTITIONS=12", "TRIBUTARY_CFG_KAFKA_TOPIC_PREFIX=env", "TRIBUTARY_CFG_KAFKA_TLS_SERVER_NAME=n",
		"TRIBUTARY_CFG_KAFKA_TLS_ENABLED=true", "TRIBUTARY_CFG_KAFKA_BOOTSTRAP_SERVERS=a:1, b:2", "TRIBUTARY_CFG_DOWNLOAD_MAX_FILE_SIZE=1MB",
		"TRIBUTARY_CFG_SOURCES_0_CENTRE=Ics", "TRIBUTARY_CFG_SOURCES_0_PASSWORD=env:PW", "TRIBUTARY_CFG_SOURCES_1_ID=b",
		"TRIBUTARY_CFG_LIMITS_REPLY=128KiB", "TRIBUTARY_CFG_SOURCES_1_CENTRE=H", "TRIBUTARY_CFG_SOURCES_1_URL=file:///x", "PW=x",
		`TRIBUTARY_CFG_CENTRES=[{short_name: Zz, active: false}]`, "UNRELATED=1",
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, no := filepath.Dir(path), false
	want := defaults(dir)
	want.Kafka.Partitions, want.Kafka.TopicPrefix, want.Kafka.ReplicationFactor = 12, "env", 3
	want.Kafka.TLS = TLS{Enabled: true, ServerName: "n"}
	want.Kafka.BootstrapServers = []string{"a:1", "b:2"}
	want.Download.MaxFileSize = 1_000_000
	want.Limits.Reply = 128 << 10
	want.Sources = []Source{
		{ID: "a", Centre: "Ics", URL: "sftp://u@host/base", Password: "env:PW", IdentityFile: dir + "/key", KnownHosts: dir + "/hosts", Interval: want.Schedule.Interval, State: "available"},
		{ID: "b", Centre: "H", URL: "file:///x", Interval: want.Schedule.Interval, State: "available"},
	}
	want.Centres = []Centre{{ShortName: "Zz", Active: &no}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// Two keys must not have the same environment variable.
func TestOverrideNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, key := range Keys() {
		if other, twice := seen[envName(key)]; twice {
			t.Errorf("%s and %s are both %s", key, other, envName(key))
		}
		seen[envName(key)] = key
	}
}

func TestWithoutSourceSecrets(t *testing.T) {
	path := write(t, strings.Replace(source, "key", "nokey", 1)+"    password: env:NOT_THERE\n")
	if _, err := Load(path, nil, Options{WithoutSourceSecrets: true}); err != nil {
		t.Errorf("the secrets of sources are not needed, yet: %v", err)
	}
	if _, err := Load(path, nil, Options{}); err == nil {
		t.Error("Load accepted a source without its secrets")
	}
}

func TestMergeKey(t *testing.T) {
	path := write(t, "sources:\n  - &a {id: a, centre: H, url: 'file:///a', interval: 1h}\n  - {<<: *a, id: b}\n")
	got, err := Load(path, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Sources[1]; s.ID != "b" || s.Centre != "H" || s.Interval.String() != "1h" {
		t.Errorf("merged source = %+v", s)
	}
}

func TestAlsoNamesTheLine(t *testing.T) {
	path := write(t, source)
	_, err := Load(path, nil, Options{Also: func(cfg Config, report func(string, string, ...any)) {
		report("sources[0].centre", "%s is unknown", cfg.Sources[0].Centre)
	}})
	if want := path + ":3: sources[0].centre: H is unknown"; err == nil || err.Error() != want {
		t.Errorf("Load = %v, want %s", err, want)
	}
}
