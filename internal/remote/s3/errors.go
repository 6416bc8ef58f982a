package s3

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"tributary/internal/remote"
	remotehttp "tributary/internal/remote/http"
)

// s3Refusal is the document by which a server refuses something.
type s3Refusal struct{ Code, Message, Region string }

// refusal is the error of a response that isn't what was asked for. What it says is
// read as far as limits.reply.
func (s *s3Session) refusal(resp *http.Response, of remotehttp.Part) error {
	var e *remote.Error
	if !errors.As(remotehttp.Refusal(resp, of), &e) {
		return nil
	}
	var said s3Refusal
	if err := decodeXML(io.LimitReader(resp.Body, s.cfg.Limits.Reply), &said); err != nil {
		said = s3Refusal{} // another server's words, or none, as to HEAD
	}
	if said.Code != "" {
		e.Err = fmt.Errorf("%w (%s: %s)", e.Err, said.Code, said.Message)
	}
	region := cmp.Or(resp.Header.Get("X-Amz-Bucket-Region"), said.Region)
	class, exception := judge(said.Code)
	switch {
	case region != "" && region != s.region && (exception == "wrong_region" || remotehttp.Redirects(resp.StatusCode) || resp.StatusCode == http.StatusBadRequest):
		e.Class, e.Exception = remote.Misconfigured, "wrong_region"
		e.Err = fmt.Errorf("the bucket is in region %s, and asked was in %s: %w", region, s.region, e.Err)
	case remotehttp.Redirects(resp.StatusCode):
		e.Err = fmt.Errorf("%w: it sends on to another server, %s, which is not asked, since it would learn who asks", e.Err, resp.Header.Get("Location"))
	case exception == "wrong_region":
		e.Class = remote.Auth // it doesn't say which
	case exception == "clock_skewed":
		e.Class, e.Exception = class, exception
		e.Err = fmt.Errorf("%w; its clock shows %s, and ours %s", e.Err, cmp.Or(resp.Header.Get("Date"), "nothing"), time.Now().UTC().Format(http.TimeFormat))
	case class != remote.Unclassified:
		e.Class, e.Exception = class, exception
	case resp.StatusCode == http.StatusPreconditionFailed:
		e.Err = fmt.Errorf("%w: %w", remote.ErrNotResumed, e.Err)
	}
	return e
}

// judge is what a code of S3 means, where its status doesn't tell.
func judge(code string) (class remote.Class, exception string) {
	is := func(codes ...string) bool { return slices.Contains(codes, code) }
	switch {
	case is("NoSuchBucket"):
		return remote.Misconfigured, "bucket_not_found"
	case is("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"):
		return remote.Misconfigured, "wrong_region"
	case is("RequestTimeTooSkewed"):
		return remote.Auth, "clock_skewed"
	case is("InvalidObjectState"):
		return remote.Permission, "object_archived"
	case is("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "InvalidSecurity", "NotSignedUp", "XAdminUserNotFound"): // the last is versitygw's
		return remote.Auth, ""
	case is("SlowDown", "RequestLimitExceeded", "ServiceUnavailable"):
		return remote.Busy, ""
	}
	return remote.Unclassified, ""
}

// remedy says what a person can do about an error of a bucket; empty: what is to be
// done about one of any source.
func remedy(err error, _ remote.Config) string {
	switch remote.Exception(err) {
	case "wrong_region":
		return "set region of the source to that of the message"
	case "bucket_not_found":
		return "check the bucket's name in url, and endpoint: the bucket is not there"
	case "clock_skewed":
		return "set this machine's clock right (NTP), or ask the server's owner to set the server's"
	case "object_archived":
		return "ask the bucket's owner to restore the object from its archive class"
	case "permission_denied":
		return "ask the bucket's owner to allow the access key s3:ListBucket on the bucket, and s3:GetObject on what is below the prefix"
	case "login_failed":
		return "check the access key id in url, the secret access key in password, and region"
	}
	return ""
}
