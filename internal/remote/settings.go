package remote

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// ParseProxy checks the address of a proxy, http://user@host:port. Its errors never
// repeat a password.
func ParseProxy(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("proxy is no address of one: write http://host:port or http://user@host:port")
	}
	if _, ok := u.User.Password(); ok {
		return nil, errors.New("proxy holds a password: take it out, put it into a file and write proxy_password: file:PATH")
	}
	return &url.URL{Scheme: u.Scheme, User: u.User, Host: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))}, nil
}

// MaxJumps is how many jump hosts a server may lie behind.
const MaxJumps = 3

// ParseJump checks a jump host, user@host:port as OpenSSH's ProxyJump writes one; the
// port is 22 by default. Its errors never repeat a password.
func ParseJump(raw string) (Target, error) {
	hop := Connector{Scheme: "sftp", Port: "22", NeedsUser: true}
	t, err := Registry{hop}.ParseURL("sftp://" + raw)
	if err != nil || strings.ContainsAny(raw, "/?#, ") {
		return Target{}, errors.New("is no jump host: write user@host:port, without a password, each as an item of its own")
	}
	return t, nil
}

// ParseEndpoint checks the address of an S3 server, https://host:port.
func ParseEndpoint(raw string) (Target, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return Target{}, errors.New("endpoint is no address of a server: write https://host or https://host:port")
	}
	t := Target{Scheme: u.Scheme, Host: strings.ToLower(u.Hostname()), Port: u.Port(), Base: "/"}
	if t.Port == "" {
		t.Port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return t, nil
}

// CheckRegion says what is wrong with a region's name.
func CheckRegion(region string) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`).MatchString(region) {
		return fmt.Errorf("region %q is no name of one: write small letters, digits and dashes, such as eu-west-1", region)
	}
	return nil
}
