package broker

import (
	"encoding/base64"
	"strings"
	"testing"
)

// A client may not care what the server proves: the server must.
func TestAWrongProofIsNoLogin(t *testing.T) {
	c, err := newCredentials(map[string]string{Reader: "reads"})
	if err != nil {
		t.Fatal(err)
	}
	for name, user := range map[string]string{"known": Reader, "unknown": "admin"} {
		s := &scram{c: c}
		first, err := s.first([]byte("n,,n=" + user + ",r=clientnonce"))
		if err != nil {
			t.Fatal(err)
		}
		nonce, _, _ := strings.Cut(string(first), ",")
		proof := base64.StdEncoding.EncodeToString(make([]byte, 32))
		if _, err := s.final([]byte("c=biws," + nonce + ",p=" + proof)); err == nil {
			t.Errorf("%s: a wrong proof is taken", name)
		}
		if _, err := s.final([]byte("c=biws,r=another,p=" + proof)); err == nil {
			t.Errorf("%s: a proof of another login is taken", name)
		}
	}
}

func TestFirstMessagesThatAreNone(t *testing.T) {
	c, err := newCredentials(map[string]string{Reader: "reads"})
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{"", "n", "n,,", "p=tls-unique,,n=reader,r=clientnonce", "n,,n=reader", "n,,r=clientnonce,n=reader",
		"n,,n=reader,r=", "n,a=admin,n=reader,r=clientnonce", "n,x,n=reader,r=clientnonce"} {
		if _, err := (&scram{c: c}).first([]byte(message)); err == nil {
			t.Errorf("%q begins a login", message)
		}
	}
}
