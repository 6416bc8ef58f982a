package kafka

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"tributary/test/ports"
)

// Secure is a listener for users beside the one for tests: TLS, SASL and access
// control lists, where nobody may do anything that no list allows.
type Secure struct {
	Address  string // localhost and a free port
	Keystore string // PEM file of a key (PKCS #8) and its certificate for localhost
	Admin    string // password of the user admin, who may do everything, by the mechanism PLAIN
}

// StartSecure is Start with brokers that users reach by TLS and SASL: admin by
// PLAIN, all others by SCRAM-SHA-512. It returns the addresses at which they do.
func StartSecure(ctx context.Context, dir string, brokers int, keystore, admin string) (*Cluster, []string, error) {
	free, err := ports.Free(brokers)
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: %w", err)
	}
	var secure []*Secure
	var addresses []string
	for _, p := range free {
		address := "localhost:" + strconv.Itoa(int(p.Port()))
		secure = append(secure, &Secure{Address: address, Keystore: keystore, Admin: admin})
		addresses = append(addresses, address)
	}
	c, err := start(ctx, dir, brokers, secure)
	return c, addresses, err
}

// properties are the settings of the listener. They come after the others, and
// the last of a name counts.
func (s *Secure) properties(client, controller string) string {
	if s == nil {
		return ""
	}
	return strings.Join([]string{
		"listeners=PLAINTEXT://" + client + ",CONTROLLER://" + controller + ",SECURE://" + s.Address,
		"advertised.listeners=PLAINTEXT://" + client + ",SECURE://" + s.Address,
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
		"sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN",
		`listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="` + s.Admin + `";`,
		"listener.name.secure.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"ssl.keystore.type=PEM",
		"ssl.keystore.location=" + s.Keystore,
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"allow.everyone.if.no.acl.found=false",
		"super.users=User:ANONYMOUS;User:admin", // brokers and tests come without a name
	}, "\n")
}

// Tool is the command line that runs a tool of Kafka's, such as
// kafka.admin.ConfigCommand. Jars are those that it needs beside the brokers'.
func Tool(class string, jars ...string) (string, error) {
	dir, err := Locate()
	if err != nil {
		return "", err
	}
	for _, j := range jars {
		if j == "" {
			return "", errors.New("kafka: a tool needs a jar that is not given")
		}
	}
	path := strings.Join(append([]string{filepath.Join(dir, "lib", "*")}, jars...), ":")
	return "java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '" + path + "' " + class, nil
}
