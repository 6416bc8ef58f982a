package hostile

import (
	"bytes"
	"fmt"
	"strings"
)

// answers sends one of several answers.
func answers(of ...[]byte) func(*wire, []byte) error {
	return func(w *wire, _ []byte) error { return w.answer(anyOf(w, of...)) }
}

func (w *wire) answer(b []byte) error {
	_, err := w.Write(b)
	return err
}

// s3Pages sends page after page, each another.
func s3Pages(page func(s *server, n int) []byte) func(*wire, []byte) error {
	return func(w *wire, _ []byte) error {
		_, err := w.Write(page(w.s, int(w.s.named.Add(1))))
		return err
	}
}

// s3Keys sends a page of keys, some of which break things.
func s3Keys(text func(w *wire) string) func(*wire, []byte) error {
	return func(w *wire, _ []byte) error {
		_, err := w.Write(s3Page(s3Last + text(w)))
		return err
	}
}

// s3Headed sends the good answer with other headers in front.
func s3Headed(headers ...string) func(*wire, []byte) error {
	return func(w *wire, well []byte) error {
		_, err := w.Write(bytes.Replace(well, []byte("\r\n"), []byte("\r\n"+anyOf(w, headers...)+"\r\n"), 1))
		return err
	}
}

// percent writes a key as a listing with EncodingType url has it.
func percent(key string) string {
	var b strings.Builder
	for _, c := range []byte(key) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// s3Kinds are the ways of servers of buckets, beside those of all HTTP servers.
func s3Kinds() []kind {
	c := stepsS3
	index, file := []string{"index"}, []string{"file"}
	busy, refused := []string{"server_busy"}, []string{"login_failed", "permission_denied"}
	broken := []string{"protocol_error"}
	begun := opening("application/xml", s3Begin)
	return []kind{
		{name: "s3-slow-down", steps: c, strike: answers(s3Refusal("503 Slow Down", "SlowDown"), s3Refusal("503 x", "ServiceUnavailable", "Retry-After: 1"), s3Refusal("503 x", "RequestLimitExceeded", "Retry-After: 99999999999999999999")), ends: busy},
		{name: "s3-internal-error", steps: c, strike: answers(s3Refusal("500 x", "InternalError"), s3Refusal("501 x", "NotImplemented"), s3Refusal("400 x", "InvalidArgument"))},
		{name: "s3-expired-token", steps: c, strike: answers(s3Refusal("400 Bad Request", "ExpiredToken"), s3Refusal("403 x", "InvalidAccessKeyId"), s3Refusal("403 x", "SignatureDoesNotMatch")), ends: refused},
		{name: "s3-clock-skewed", steps: c, strike: answers(s3Refusal("403 Forbidden", "RequestTimeTooSkewed"), s3Refusal("403 x", "RequestTimeTooSkewed", "Date: Fri, 31 Dec 9999 23:59:59 GMT")), ends: []string{"clock_skewed"}},
		{name: "s3-other-region", steps: c, strike: answers(s3Refusal("301 Moved Permanently", "PermanentRedirect", "x-amz-bucket-region: eu-west-9"), s3Refusal("400 x", "AuthorizationHeaderMalformed", "x-amz-bucket-region: eu-west-9")), ends: []string{"wrong_region"}},
		{name: "s3-other-region-odd", steps: c, strike: answers(s3Refusal("301 x", "PermanentRedirect", "x-amz-bucket-region: "+strings.Repeat("a", 100_000)), s3Refusal("400 x", "AuthorizationHeaderMalformed"), s3Refusal("301 x", "PermanentRedirect"))},
		{name: "s3-redirect", steps: c, strike: func(w *wire, _ []byte) error {
			_, port, _ := strings.Cut(w.s.listener.Addr().String(), ":")
			to := anyOf(w, "http://localhost:"+port+s3Elsewhere, "http://"+w.s.listener.Addr().String()+s3Elsewhere, s3Elsewhere, "https://127.0.0.1:"+port+s3Elsewhere, "file:///etc/passwd", "")
			return w.answer(s3Refusal(anyOf(w, "307 Temporary Redirect", "302 x", "308 x", "301 x"), "TemporaryRedirect", "Location: "+to))
		}, ends: []string{"transfer_failed", "wrong_region"}},
		{name: "s3-no-such-bucket", steps: c, strike: answers(s3Refusal("404 Not Found", "NoSuchBucket")), ends: []string{"bucket_not_found"}},
		{name: "s3-denied", steps: c, strike: answers(s3Refusal("403 Forbidden", "AccessDenied"), s3Refusal("403 x", "AccountProblem"), s3Refusal("401 x", "AccessDenied")), ends: refused},
		{name: "s3-error-text", steps: c, strike: answers(s3Refusal("500 x", "<![CDATA["+strings.NewReplacer("\x00", "", "\x1b", "", "\xff", "", "\xfe", "", "\x07", "").Replace(nasty)+"]]>"), s3Refusal("400 x", strings.Repeat("A", 500_000)), s3Refusal("403 x", "a</Code><Code>b"))},
		{name: "s3-error-endless", steps: c, strike: after("HTTP/1.1 500 x\r\nContent-Type: application/xml\r\n\r\n<Error><Code>", "A")},
		{name: "s3-error-deep", steps: c, strike: after("HTTP/1.1 403 x\r\nContent-Type: application/xml\r\n\r\n", "<Error>")},
		{name: "s3-error-in-200", steps: []string{"login", "index"}, strike: answers(s3Refusal("200 OK", "InternalError"), s3Refusal("200 OK", "SlowDown")), ends: append(broken, busy...)},
		{name: "s3-hang", steps: c, strike: hang},
		{name: "s3-cut", steps: c, strike: partly(cut)},
		{name: "s3-drips", steps: c, strike: slowly},
		{name: "s3-token-again", steps: index, strike: s3Pages(func(s *server, _ int) []byte { return s3More("again", s.s3Object()) }), ends: broken},
		{name: "s3-tokens-in-a-loop", steps: index, strike: s3Pages(func(s *server, n int) []byte { return s3More(fmt.Sprint("loop", n%3), s.s3Object()) }), ends: []string{"listing_too_long", "poll_timed_out"}},
		{name: "s3-tokens-without-end", steps: index, strike: s3Pages(func(_ *server, n int) []byte { return s3More(fmt.Sprint("next", n), "") }), ends: append(broken, "poll_timed_out", "timed_out")},
		{name: "s3-keys-without-end", steps: index, strike: s3Pages(func(_ *server, n int) []byte {
			return s3More(fmt.Sprint("next", n), s3Key(fmt.Sprintf("add/readme%d.txt", n), "1", s3Time))
		}), ends: []string{"listing_too_long", "poll_timed_out"}},
		{name: "s3-token-missing", steps: index, strike: answers(s3Page("<IsTruncated>true</IsTruncated>"), s3Page("<IsTruncated>true</IsTruncated><NextMarker>add/x</NextMarker>"), s3Page("<KeyCount>0</KeyCount>"), s3Page("<IsTruncated>perhaps</IsTruncated>")), ends: broken},
		{name: "s3-token-huge", steps: index, strike: answers(s3More(strings.Repeat("t", 9000), ""), s3More(strings.Repeat("t", 5<<20), "")), ends: broken},
		{name: "s3-token-odd", steps: index, strike: s3Pages(func(s *server, n int) []byte {
			if n%2 == 0 {
				return s3Page(s3Last + s.s3Object())
			}
			return s3More("&#13;&#10;Host: x&amp;prefix=other/&#9;../"+percent("\x00\r\n")+"\u202e", s.s3Object())
		}), ends: []string{honest}},
		{name: "s3-key-count-lies", steps: index, strike: func(w *wire, _ []byte) error {
			_, err := w.Write(s3Page("<KeyCount>" + anyOf(w, "0", "-1", "99999999999999999999", "many") + "</KeyCount><MaxKeys>0</MaxKeys>" + s3Last + w.s.s3Object()))
			return err
		}, ends: []string{honest}},
		{name: "s3-page-too-long", steps: index, strike: s3Keys(func(*wire) string {
			var b strings.Builder
			for i := range 6000 {
				b.WriteString(s3Key(fmt.Sprintf("add/readme%d.txt", i), "1", s3Time))
			}
			return b.String()
		}), ends: []string{"listing_too_long"}},
		{name: "s3-unsorted-and-twice", steps: index, strike: s3Keys(func(w *wire) string {
			var b strings.Builder
			for i := range 2000 {
				b.WriteString(s3Key("add/"+onJ(9, 7-i%7), fmt.Sprint(i), s3Time))
			}
			return b.String() + w.s.s3Object() + w.s.s3Object()
		})},
		{name: "s3-xml-cut", steps: index, strike: func(w *wire, _ []byte) error {
			_, err := w.Write(whole("200 OK", "application/xml", anyOf(w, s3Begin+w.s.s3Object(), s3Begin+s3Last+"<Contents><Key>add/", s3Begin, s3Begin+s3Last+"</Contents>"+s3End)))
			return err
		}, ends: broken},
		{name: "s3-xml-entities", steps: []string{"login", "index"}, strike: pageOf("application/x-s3", `<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><ListBucketResult>`+s3Last+`<Contents><Key>add/&b;</Key></Contents></ListBucketResult>`, `<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]><ListBucketResult>`+s3Last+`<Contents><Key>add/&f;</Key></Contents></ListBucketResult>`), ends: broken},
		{name: "s3-xml-deep", steps: []string{"login", "index"}, strike: after(begun, "<Contents>"), ends: append(broken, "timed_out")},
		{name: "s3-xml-endless-attributes", steps: []string{"login", "index"}, strike: after(opening("application/xml", "<ListBucketResult "), "a='b' "), ends: append(broken, "poll_timed_out", "timed_out")},
		{name: "s3-xml-endless-key", steps: []string{"login", "index"}, strike: after(begun+"<Contents><Key>add/", "k"), ends: append(broken, "poll_timed_out", "timed_out")},
		{name: "s3-xml-endless-keys", steps: []string{"login", "index"}, strike: after(begun, s3Key("add/J.2022-01-01.1.impc.zip", "1", s3Time)), ends: append(broken, "listing_too_long", "poll_timed_out", "timed_out")},
		{name: "s3-xml-charset", steps: []string{"login", "index"}, strike: pageOf("application/x-s3", "<?xml version='1.0' encoding='klingon'?><ListBucketResult/>", "<?xml version='1.0' encoding='utf-16'?><ListBucketResult/>", "<ListBucketResult>\xff\xfe</ListBucketResult>", "\x00<ListBucketResult/>"), ends: broken},
		{name: "s3-of-another-kind", steps: []string{"login", "index"}, strike: pageOf("text/html", "<html><form><input type=password></form></html>", "", "{}", "<ListAllMyBucketsResult/>", nasty), ends: broken},
		{name: "s3-keys-not-asked-for", steps: index, strike: s3Keys(func(w *wire) string {
			return s3Key(anyOf(w, "edit/x.zip", "", "/add/x.zip", "ad", "../add/x.zip"), "1", s3Time) + w.s.s3Object()
		}), ends: broken},
		{name: "s3-keys-badly-encoded", steps: index, strike: s3Keys(func(w *wire) string {
			return "<EncodingType>url</EncodingType>" + s3Key("add/"+anyOf(w, "%zz.zip", "%", "%4", "a%0.zip"), "1", s3Time)
		}), ends: broken},
		{name: "s3-key-names", steps: index, strike: s3Keys(func(w *wire) string {
			b := "<EncodingType>url</EncodingType>" + w.s.s3Object()
			for _, n := range append(badNames(w.s.seed), "", "/", "//x.zip", "x.zip/", "a/../b.zip", strings.Repeat("k/", 500)) {
				b += s3Key("add/"+percent(n), "5", s3Time)
			}
			return b
		})},
		{name: "s3-key-names-as-they-are", steps: index, strike: s3Keys(func(w *wire) string {
			b := w.s.s3Object()
			for _, n := range []string{"%2e%2e%2fx.zip", "%00.zip", "a+b.zip", "..", ".", "//x.zip", "x.zip/", "&lt;script&gt;.zip", "&#8238;gpj.zip", "a&#13;&#10;b.zip", strings.Repeat("L", 3000) + ".zip"} {
				b += s3Key("add/"+n, "5", s3Time)
			}
			return b
		})},
		{name: "s3-prefixes-odd", steps: index, strike: s3Keys(func(w *wire) string {
			b := w.s.s3Object()
			for _, p := range []string{"add/", "add//", "add/../", "add/" + strings.Repeat("d", 3000) + "/", "add/x", "add/J.2022-01-01.1.impc.zip/"} {
				b += "<CommonPrefixes><Prefix>" + p + "</Prefix></CommonPrefixes>"
			}
			return b
		}), ends: []string{honest}},
		{name: "s3-sizes-and-times", steps: index, strike: s3Keys(func(*wire) string {
			b := ""
			for i, size := range []string{"-1", "9223372036854775807", "9223372036854775808", "99999999999999999999999", "0x10", "", " 5", "1e3"} {
				for j, at := range []string{"0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "12024-01-01T00:00:00Z", "2024-02-31T00:00:00Z", "now", ""} {
					b += s3Key("add/"+onJ(1+i, 100+j), size, at)
				}
			}
			return b
		})},
		{name: "s3-object-vanishes", steps: file, strike: answers(s3Refusal("404 Not Found", "NoSuchKey"), s3Refusal("404 x", "NoSuchVersion"), s3Refusal("404 x", "NoSuchKey", "x-amz-delete-marker: true")), ends: []string{"file_gone"}},
		{name: "s3-object-archived", steps: file, strike: answers(s3Refusal("403 Forbidden", "InvalidObjectState", "x-amz-storage-class: GLACIER")), ends: []string{"object_archived"}},
		{name: "s3-object-changes", steps: file, strike: func(w *wire, well []byte) error {
			now := fmt.Appendf(nil, "Last-Modified: Mon, 01 Jan 2024 00:%02d:00 GMT", w.s.named.Add(1)%60)
			_, err := w.Write(bytes.Replace(well, []byte("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"), now, 1))
			return err
		}, ends: []string{"file_changed"}},
		{name: "s3-etag-changes", steps: file, strike: func(w *wire, well []byte) error {
			_, err := w.Write(bytes.Replace(well, []byte("0123456789abcdef"), fmt.Appendf(nil, "%016x", w.s.named.Add(1)), 1))
			return err
		}, ends: []string{honest}},
		{name: "s3-etag-odd", steps: file, strike: func(w *wire, well []byte) error {
			tag := anyOf(w, `"0123456789abcdef0123456789abcdef-9999"`, `W/"x"`, `"`, "", strings.Repeat("e", 50_000), `"a" "b"`)
			_, err := w.Write(bytes.Replace(well, []byte(`"0123456789abcdef0123456789abcdef"`), []byte(tag), 1))
			return err
		}, ends: []string{honest}},
		{name: "s3-checksum-wrong", steps: file, strike: s3Headed("x-amz-checksum-crc32: AAAAAA==", "x-amz-checksum-crc32c: AAAAAA==", "x-amz-checksum-crc64nvme: AAAAAAAAAAA=", "x-amz-checksum-sha256: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\nx-amz-checksum-type: FULL_OBJECT"), ends: []string{"transfer_failed"}},
		{name: "s3-checksum-odd", steps: file, strike: s3Headed("x-amz-checksum-crc32: AAA", "x-amz-checksum-sha256: "+strings.Repeat("A", 50_000), "x-amz-checksum-sha256: \x7f", "x-amz-checksum-crc32: AAAAAA==\r\nx-amz-checksum-type: COMPOSITE", "x-amz-checksum-crc32: AAAAAA==-7"), ends: []string{honest, "protocol_error"}},
		{name: "s3-file-other-range", steps: file, strike: func(w *wire, well []byte) error {
			_, err := w.Write(bytes.Replace(well, []byte("200 OK"), []byte("206 Partial Content\r\nContent-Range: "+anyOf(w, "bytes 100-200/9999", "bytes */0", "x", "bytes 0-99999999999999999999/5")), 1))
			return err
		}, ends: []string{"transfer_failed"}},
		{name: "s3-file-is-an-error", steps: file, strike: answers(s3Refusal("200 OK", "InternalError"), s3Refusal("200 OK", "SlowDown"))},
		{name: "s3-file-short", steps: file, strike: func(w *wire, well []byte) error {
			if _, err := w.Write(well[:len(well)-10]); err != nil {
				return err
			}
			return w.cut()
		}, ends: []string{"connection_lost"}},
		{name: "s3-file-endless", steps: file, strike: after("HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\n\r\n", "P"), size: 1 << 10},
		{name: "s3-file-slow", size: 4 << 20, steps: file, strike: slowly, ends: []string{"too_slow", "timed_out", "connection_lost"}},
		{name: "s3-file-packed", steps: file, strike: s3Headed("Content-Encoding: gzip", "Content-Encoding: aws-chunked")},
	}
}
