package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"tributary/internal/config"
	"tributary/internal/infile"
)

// securityOpts encrypt the connections and log in, as configured.
func securityOpts(cfg config.Kafka) ([]kgo.Opt, error) {
	var opts []kgo.Opt
	if cfg.TLS.Enabled {
		t, err := tlsConfig(cfg.TLS)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(t))
	}
	if cfg.SASL.Mechanism != "" {
		m, err := saslMechanism(cfg.SASL)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	return opts, nil
}

func tlsConfig(cfg config.TLS) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cfg.ServerName}
	if cfg.CAFile != "" {
		pem, err := infile.Read(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("kafka.tls.ca_file: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka.tls.ca_file: %s holds no certificate in PEM form", cfg.CAFile)
		}
	}
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return nil, fmt.Errorf("kafka.tls: cert_file and key_file belong together: set both or neither")
	}
	if cfg.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("kafka.tls.cert_file and key_file: %w", err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	return t, nil
}

func saslMechanism(cfg config.SASL) (sasl.Mechanism, error) {
	password, err := cfg.Password.Resolve()
	if err != nil {
		return nil, fmt.Errorf("kafka.sasl.password: %w", err)
	}
	switch cfg.Mechanism {
	case "plain":
		return plain.Auth{User: cfg.Username, Pass: password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: cfg.Username, Pass: password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: cfg.Username, Pass: password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("kafka.sasl.mechanism %q: use plain, scram-sha-256 or scram-sha-512", cfg.Mechanism)
}
