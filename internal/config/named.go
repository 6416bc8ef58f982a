package config

// NamedSecret is a secret with the key that holds it.
type NamedSecret struct {
	Key    string
	Secret Secret
}

// Secrets are the secrets that the configuration refers to, those of sources last.
// The addresses of databases are among them.
func (c Config) Secrets() []NamedSecret {
	all := []NamedSecret{
		{"kafka.sasl.password", c.Kafka.SASL.Password}, {"schema_registry.password", c.Registry.Password},
		{"traces.authorization", c.Traces.Authorization}, {"web.oidc.client_secret", c.Web.OIDC.ClientSecret},
		{"postgres.url", c.Postgres.URL}, {"clickhouse.url", c.ClickHouse.URL},
		{"notify.smtp.password", c.Notify.SMTP.Password}, {"notify.watchdog.heartbeat", c.Notify.Watchdog.Heartbeat},
	}
	for i, t := range c.Notify.Targets {
		at := item("notify.targets", i)
		all = append(all, NamedSecret{at + ".webhook", t.Webhook}, NamedSecret{at + ".secret", t.Secret})
	}
	for i, s := range c.Sources {
		at := item("sources", i)
		all = append(all, NamedSecret{at + ".password", s.Password}, NamedSecret{at + ".identity_passphrase", s.IdentityPassphrase}, NamedSecret{at + ".token", s.Token},
			NamedSecret{at + ".cookie", s.Cookie}, NamedSecret{at + ".headers", s.Headers}, NamedSecret{at + ".proxy_password", s.ProxyPassword})
	}
	given := all[:0]
	for _, s := range all {
		if s.Secret != "" {
			given = append(given, s)
		}
	}
	return given
}

// NamedFile is a file with the key that names it.
type NamedFile struct {
	Key, Path string
	Private   bool // it holds a private key
}

// Files are the files that the configuration names for keys and certificates, those
// of sources last; what secrets refer to is not among them.
func (c Config) Files() []NamedFile {
	all := []NamedFile{
		{"kafka.tls.ca_file", c.Kafka.TLS.CAFile, false}, {"kafka.tls.cert_file", c.Kafka.TLS.CertFile, false}, {"kafka.tls.key_file", c.Kafka.TLS.KeyFile, true},
		{"schema_registry.ca_file", c.Registry.CAFile, false}, {"traces.ca_file", c.Traces.CAFile, false},
		{"notify.smtp.ca_file", c.Notify.SMTP.CAFile, false}, {"web.cert_file", c.Web.CertFile, false}, {"web.key_file", c.Web.KeyFile, true},
	}
	for i, s := range c.Sources {
		at := item("sources", i)
		all = append(all, NamedFile{at + ".identity_file", s.IdentityFile, true}, NamedFile{at + ".known_hosts", s.KnownHosts, false}, NamedFile{at + ".ca_file", s.CAFile, false})
	}
	given := all[:0]
	for _, f := range all {
		if f.Path != "" {
			given = append(given, f)
		}
	}
	return given
}
