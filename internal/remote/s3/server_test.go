package s3

import (
	"testing"

	"tributary/internal/remote"
)

// Where a bucket is: at the endpoint, or Amazon, by its own name or in the path.
func TestS3Server(t *testing.T) {
	for _, tt := range []struct {
		c      remote.Config
		want   string
		inPath bool
	}{
		{remote.Config{URL: "s3://bucket/x"}, "bucket.s3.us-east-1.amazonaws.com:443", false},
		{remote.Config{URL: "s3://bucket/x", Region: "eu-west-1"}, "bucket.s3.eu-west-1.amazonaws.com:443", false},
		{remote.Config{URL: "s3://my.bucket/x", Region: "eu-west-1"}, "s3.eu-west-1.amazonaws.com:443", true},
		{remote.Config{URL: "s3://bucket/x", Endpoint: "http://S3.example.org:9000/"}, "s3.example.org:9000", true},
		{remote.Config{URL: "s3://bucket/x", Endpoint: "http://s3.example.org"}, "s3.example.org:80", true},
		{remote.Config{URL: "s3://bucket/x", Endpoint: "https://s3.example.org", VirtualHosted: true}, "bucket.s3.example.org:443", false},
		{remote.Config{URL: "s3://my.bucket/x", Endpoint: "https://s3.example.org", VirtualHosted: true}, "s3.example.org:443", true},
		{remote.Config{URL: "s3://bucket/x", Endpoint: "s3.example.org"}, "", false},
		{remote.Config{URL: "s3://bucket/x", Endpoint: "https://u@s3.example.org"}, "", false},
		{remote.Config{URL: "s3://bucket/x", Endpoint: "https://s3.example.org/bucket"}, "", false},
		{remote.Config{URL: "s3://bucket/x", Region: "evil.org/"}, "", false},
	} {
		if got := Connectors().Server(tt.c); got != tt.want {
			t.Errorf("%+v: server %q, want %q", tt.c, got, tt.want)
		}
		target, err := Connectors().ParseURL(tt.c.URL)
		if err != nil {
			t.Fatal(err)
		}
		if to, err := s3TargetOf(tt.c, target); to.inPath != tt.inPath || (err == nil) != (tt.want != "") {
			t.Errorf("%+v: in the path %v, %v", tt.c, to.inPath, err)
		}
	}
}
