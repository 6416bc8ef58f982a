package config

import "net/url"

func (d *decoder) checkRegistry(r Registry) {
	if r.URL != "" {
		u, err := url.Parse(r.URL)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			d.problem("schema_registry.url", "can't be read as an address: write http://host:8081 or https://host")
		case u.User != nil:
			d.problem("schema_registry.url", "holds a user: write it as schema_registry.username, and its password as file:PATH or env:NAME")
		}
	}
	if (r.Username == "") != (r.Password == "") {
		d.problem("schema_registry", "username and password belong together: set both or neither")
	}
	if r.Password != "" && !r.Password.IsReference() {
		d.problem("schema_registry.password", "is written plainly: put it into a file or the environment and write file:PATH or env:NAME")
	}
	d.readable("schema_registry.ca_file", r.CAFile)
}
