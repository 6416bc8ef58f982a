package config

import "net/url"

func (d *decoder) checkTraces(t Traces) {
	if t.Endpoint != "" {
		u, err := url.Parse(t.Endpoint)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			d.problem("traces.endpoint", "can't be read as an address: write http://host:4318 or https://host")
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			d.problem("traces.endpoint", "holds more than host and path: write who asks as traces.authorization, file:PATH or env:NAME")
		}
	} else if t.Authorization != "" || t.CAFile != "" {
		d.problem("traces.endpoint", "is missing, though other keys of traces are set: add it, or take them out")
	}
	if t.Authorization != "" && !t.Authorization.IsReference() {
		d.problem("traces.authorization", "is written plainly: put it into a file or the environment and write file:PATH or env:NAME")
	}
	d.readable("traces.ca_file", t.CAFile)
}
