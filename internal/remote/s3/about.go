package s3

import "tributary/internal/remote"

// about says what the connector can.
func about() remote.About {
	return remote.About{
		Reads:    "a bucket of Amazon S3, or of another server that speaks its API (`endpoint`)",
		Listings: "keys below a prefix, a page at a time; of a bucket with versions the current ones",
		Times:    "to the second",
		LogsIn:   "the access key id as user in the url and its secret as `password`, which signs and is not sent; without a user nobody logs in; the proxy by `proxy_password`",
		Trust:    "by its certificate: the system's authorities, `ca_file` or `certificate_pin`; an `endpoint` without TLS is not verified",
		Resumes:  "by `Range`, with the version that it began with, or else while the `ETag` is the same",
		Checks:   "the object's checksum where the store keeps one of the whole (SHA-256, CRC-64/NVME, CRC-32C, CRC-32, SHA-1)",
		Sessions: "one request",
		Versions: "`ETag` and version ids",
		Besides:  "archived objects (Glacier) are not restored; redirects to another region are not followed",
	}
}
