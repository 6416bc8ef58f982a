package config

import (
	"strings"

	"tributary/internal/remote"
)

// checkS3 looks at where a bucket is, and who asks for what is in it.
func (d *decoder) checkS3(s *Source, user, at string) {
	d.checkProxy(s, at)
	switch {
	case s.Password != "" && user == "":
		d.problem(at+".password", "is of nobody: url names no access key, write s3://ACCESSKEYID@bucket/prefix")
	case s.Password == "" && user != "":
		d.problem(at+".password", "is missing: url names an access key; write password: file:PATH, where its secret access key is, or take it out of url to ask without")
	}
	if s.Endpoint != "" {
		if _, err := remote.ParseEndpoint(s.Endpoint); err != nil {
			d.problem(at+".endpoint", "%s", strings.TrimPrefix(err.Error(), "endpoint "))
		}
	}
	if s.Region != "" {
		if err := remote.CheckRegion(s.Region); err != nil {
			d.problem(at+".region", "%s", strings.TrimPrefix(err.Error(), "region "))
		}
	}
}
