package config

import (
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
)

func (d *decoder) checkSources(sources []Source) {
	first := map[string]int{}
	for i := range sources {
		d.checkSource(&sources[i], item("sources", i))
		if id := sources[i].ID; id != "" {
			if j, twice := first[id]; twice {
				d.problem(item("sources", i)+".id", "%q is the id of %s too (line %d): ids are unique and stay, choose another", id, item("sources", j), d.where(item("sources", j)+".id").line)
			} else {
				first[id] = i
			}
		}
	}
}

// mostDescription is how many characters a source's description may have: it goes along
// with each job.
const mostDescription = 500

func (d *decoder) checkSource(s *Source, at string) {
	d.checkPlain(reflect.ValueOf(s).Elem(), at)
	if s.ID == "" {
		d.problem(at+".id", "is missing: give the source a short name that stays")
	} else if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`).MatchString(s.ID) {
		d.problem(at+".id", "%q is not a plain name: use up to 63 letters, digits, dots, dashes and _", s.ID)
	}
	if s.Centre == "" {
		d.problem(at+".centre", "is missing: write the short name of the centre that runs the source")
	}
	d.checkHosts(s, at+".hosts")
	d.checkFilters(s.Filters, at+".filters")
	d.checkDoneFile(s, at+".done_file")
	d.checkBounds(s, at)
	if s.Server != "" && !regexp.MustCompile(`^[A-Za-z0-9[][A-Za-z0-9.:_[\]-]{0,254}$`).MatchString(s.Server) {
		d.problem(at+".server", "%q is no name of a server: write the host:port of the source whose sessions are counted with this one's, or a name for both of up to 255 letters, digits, dots, dashes, _ and colons", s.Server)
	}
	d.checkRank(s.Priority, at+".priority")
	d.checkRank(s.Preference, at+".preference")
	if n := utf8.RuneCountInString(s.Description); n > mostDescription || hidden(s.Description) {
		d.problem(at+".description", "has %d characters, or hidden ones: write up to %d that can be seen, and the address of what says more", n, mostDescription)
	}
	d.checkTimes(s, at)
	d.checkThrottles(s, at+".throttle")
	d.oneOf(at+".state", s.State, StateAvailable, StateMaintenance)
	t := d.sourceURL(s, at+".url")
	d.applicable(s, t.Scheme, at)
	switch t.Scheme {
	case "sftp":
		if s.KnownHosts == "" && len(s.HostKey) == 0 {
			d.problem(at+".known_hosts", "is missing, as is host_key: a server's identity is always verified; name a known_hosts file (ssh-keyscan writes its lines, compare the fingerprint with what the server's owner tells you), or pin host_key: SHA256:…")
		}
		if s.Password == "" && s.IdentityFile == "" && s.IdentityAgent == "" {
			d.problem(at+".identity_file", "is missing, as is password: say how to log in, with identity_file: PATH or password: file:PATH")
		}
		d.checkJump(s, at)
	case "http", "https":
		d.checkHTTP(s, t.User, at)
	case "s3":
		d.checkS3(s, t.User, at)
	}
	if _, err := s.Done(); err != nil {
		d.problem(at+".done_with", "%s", err)
	}
	if text, err := s.Definition(); err != nil {
		d.problem(at, "can't be stored: %s", err)
	} else if len(text) > MaxDefinition {
		d.problem(at, "has %d bytes: no more than %d go along with each job, so shorten hosts (all stands for every centre) or host_key (a fingerprint does)", len(text), MaxDefinition)
	}
	for i, pin := range s.CertificatePin {
		if !strings.HasPrefix(pin, "sha256//") {
			d.problem(item(at+".certificate_pin", i), "is no pin: write sha256// and the base64 of the public key's hash, as tributary sources check shows it")
		}
	}
	for i, key := range s.HostKey {
		if !strings.HasPrefix(key, "SHA256:") && !strings.Contains(key, " ") {
			d.problem(item(at+".host_key", i), "is neither a fingerprint (SHA256:…) nor a public key line (ssh-ed25519 AAAA…)")
		}
	}
}

// checkHTTP looks at how a source logs in, and whether it does.
func (d *decoder) checkHTTP(s *Source, user, at string) {
	switch {
	case s.Token != "" && (s.Password != "" || user != ""):
		d.problem(at+".token", "is one way to log in, and the user of url with password another: keep one")
	case s.Password != "" && user == "":
		d.problem(at+".password", "is of nobody: url names no user, write https://user@host/path")
	case s.Password == "" && user != "":
		d.problem(at+".password", "is missing: url names a user; write password: file:PATH, or take the user out of url")
	}
	d.checkProxy(s, at)
	if u, err := url.Parse(s.Feed); err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Fragment != "" {
		d.problem(at+".feed", "is no path: write where the feed is, relative to url, such as news/atom.xml")
	}
	if s.Feed != "" && s.WebDAV {
		d.problem(at+".webdav", "is one way to see what there is, and feed another: keep one")
	}
	if s.DoneWith != "" && !s.WebDAV {
		d.problem(at+".done_with", "can be done over HTTP by WebDAV alone: set webdav: true where the server has it, or take it out")
	}
	if s.Robots != "" {
		d.oneOf(at+".robots", s.Robots, RobotsObey, RobotsIgnore)
	}
}

// checkProxy looks at the way to a server of HTTP or S3.
func (d *decoder) checkProxy(s *Source, at string) {
	user := ""
	if s.Proxy != "" {
		u, err := remote.ParseProxy(s.Proxy)
		if err != nil {
			d.problem(at+".proxy", "%s", strings.TrimPrefix(err.Error(), "proxy "))
			return
		}
		user = u.User.Username()
	}
	if (user == "") != (s.ProxyPassword == "") {
		d.problem(at+".proxy_password", "and the user in proxy belong together: write proxy: http://user@host:port and proxy_password: file:PATH, or neither")
	}
}

// sourceURL checks a source's address and returns what it says, without a scheme
// where that is nothing good. A message never repeats a password that the URL may hold.
func (d *decoder) sourceURL(s *Source, at string) remote.Target {
	if s.URL == "" {
		d.problem(at, "is missing: write %s", connectors.All().Examples())
		return remote.Target{}
	}
	t, err := connectors.All().ParseURL(s.URL)
	if err != nil && !d.hasProblem(at) {
		d.problem(at, "%s", strings.TrimPrefix(err.Error(), "url "))
	}
	return t
}

// applicable refuses keys that say nothing of how a source with such a URL is
// reached: whoever has written one expects something of it.
func (d *decoder) applicable(s *Source, scheme, at string) {
	if scheme == "" {
		return
	}
	v := reflect.ValueOf(s).Elem()
	for _, f := range fieldsOf(v.Type()) {
		with := connectors.All().SchemesWith(f.name)
		if len(with) > 0 && !slices.Contains(with, scheme) && !v.FieldByIndex(f.index).IsZero() {
			d.problem(at+"."+f.name, "is a key of %s sources, and this one is reached by %s: take it out, or correct url", strings.Join(with, ", "), scheme)
		}
	}
}

// checkRank checks a number that says which comes first.
func (d *decoder) checkRank(n *int, at string) {
	if n != nil && (*n < 0 || *n > 9) {
		d.problem(at, "is %d: write a number from 0 to 9, of which 9 comes first", *n)
	}
}
