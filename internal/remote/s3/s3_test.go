package s3_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
	"tributary/internal/remote/connectors"
	"tributary/internal/remote/remotetest"
	"tributary/test/servers"
	"tributary/test/wait"
)

// store is an S3 server that answers as its test wants: to listings and to what is
// asked of objects. That a session logs in is answered well.
func store(t *testing.T, list, object http.HandlerFunc) (*remotetest.Site, remote.Config) {
	t.Helper()
	s := remotetest.NewSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("max-keys") == "1":
			keys(w, `<IsTruncated>false</IsTruncated>`)
		case q.Has("list-type"):
			list(w, r)
		default:
			object(w, r)
		}
	})
	return s, remote.Config{URL: "s3://AKIA@bucket/impc", Password: "s3cret", Endpoint: s.URL, IdleTimeout: wait.Patience(), Limits: remote.Limits{Listing: 2 << 20}}
}

func keys(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`+text+`</ListBucketResult>`)
}

func object(key, size, modified string) string {
	return "<Contents><Key>" + key + "</Key><LastModified>" + modified + "</LastModified><ETag>&quot;x&quot;</ETag><Size>" + size + "</Size><Owner><ID>x</ID></Owner></Contents>"
}

const (
	noon     = "2024-02-29T12:00:00.123Z"
	lastPage = "<IsTruncated>false</IsTruncated>"
	more     = "<IsTruncated>true</IsTruncated><NextContinuationToken>"
	moreEnd  = "</NextContinuationToken>"
)

// What a listing shows can be stored, whatever keys somebody has made.
func TestS3KeysOfAnyKind(t *testing.T) {
	long := strings.Repeat("k", 1100)
	_, c := store(t, func(w http.ResponseWriter, _ *http.Request) {
		// Some servers say how keys are written at the end.
		keys(w, lastPage+
			object("impc/add/", "0", noon)+object("impc/add/a%20b%2Bc+d.zip", "5", noon)+object("impc/add/two%0Alines.zip", "1", noon)+object("impc/add/nul%00.zip", "1", noon)+
			object("impc/add/..", "1", noon)+object("impc/add/.", "1", noon)+object("impc/add/caf%C3%A9.zip", "1", noon)+object("impc/add/"+long+".zip", "1", noon)+
			object("impc/add/negative.zip", "-5", noon)+object("impc/add/huge.zip", "99999999999999999999", noon)+object("impc/add/words.zip", "five", noon)+
			object("impc/add/never.zip", "1", "2024-02-31T12:00:00Z")+object("impc/add/late.zip", "1", "12024-01-01T00:00:00Z")+object("impc/add/deep/x.zip", "1", noon)+
			"<CommonPrefixes><Prefix>impc/add/sub/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>impc/add//</Prefix></CommonPrefixes><CommonPrefixes><Prefix>impc/add/../</Prefix></CommonPrefixes>"+
			"<EncodingType>url</EncodingType>")
	}, nil)
	var got []remote.Entry
	err := remotetest.Dial(t, c).List(t.Context(), "add", func(e remote.Entry) error {
		e.Message = ""
		got = append(got, e)
		return nil
	})
	at, tagged := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC), map[string]string{"etag": `"x"`}
	is := func(name string, size int64, kind remote.Kind) remote.Entry {
		return remote.Entry{Name: name, Size: size, Kind: kind, ModTime: at, Precision: time.Second, Attributes: tagged}
	}
	bad := func(e remote.Entry, exception string) remote.Entry {
		e.Invalid = exception
		return e
	}
	want := []remote.Entry{
		is("a b+c d.zip", 5, remote.File), is("two\nlines.zip", 1, remote.File), is("nul\x00.zip", 1, remote.Other), is("..", 1, remote.Other), is(".", 1, remote.Other),
		is("café.zip", 1, remote.File), bad(is(remote.ShortName(long+".zip"), 1, remote.File), "name_too_long"), bad(is("negative.zip", -1, remote.File), "listing_entry_invalid"),
		bad(is("huge.zip", -1, remote.File), "listing_entry_invalid"), bad(is("words.zip", -1, remote.File), "listing_entry_invalid"),
		{Name: "never.zip", Size: 1, Invalid: "listing_entry_invalid", Attributes: tagged}, {Name: "late.zip", Size: 1, Invalid: "listing_entry_invalid", Attributes: tagged}, is("deep/x.zip", 1, remote.Other),
		{Name: "sub", Size: -1, Kind: remote.Dir}, {Name: "", Size: -1, Kind: remote.Other}, {Name: "..", Size: -1, Kind: remote.Other},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("listing, %v (-want +got):\n%s", err, diff)
	}
}

// Each listing ends, soon and within little memory, and only where the server has
// said so is it a whole one.
func TestS3ListingsThatAreLies(t *testing.T) {
	entry := object("impc/add/a.zip", "5", noon)
	pages := func(text func(n int) string) http.HandlerFunc {
		n := 0
		return func(w http.ResponseWriter, _ *http.Request) {
			n++
			keys(w, text(n))
		}
	}
	body := func(all ...func(io.Writer)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { remotetest.Then(all...)(w) }
	}
	const head = "<ListBucketResult>"
	for about, tt := range map[string]struct {
		list http.HandlerFunc
		want string
	}{
		"the same page again and again":     {pages(func(int) string { return entry + more + "t" + moreEnd }), "protocol_error"},
		"pages that never end":              {pages(func(n int) string { return strings.Repeat(entry, 50) + more + fmt.Sprint(n) + moreEnd }), "listing_too_long"},
		"pages with nothing that never end": {pages(func(n int) string { return more + fmt.Sprint(n) + moreEnd }), "protocol_error"},
		"more, and no token":                {pages(func(int) string { return entry + more + moreEnd }), "protocol_error"},
		"not whether there are more":        {pages(func(int) string { return entry }), "protocol_error"},
		"whether there are more: perhaps":   {pages(func(int) string { return entry + "<IsTruncated>perhaps</IsTruncated>" }), "protocol_error"},
		"a token that is too long":          {pages(func(int) string { return entry + more + strings.Repeat("t", 9000) + moreEnd }), "protocol_error"},
		"keys of another directory":         {pages(func(int) string { return object("impc/edit/a.zip", "5", noon) + lastPage }), "protocol_error"},
		"keys of nowhere":                   {pages(func(int) string { return object("/etc/passwd", "5", noon) + lastPage }), "protocol_error"},
		"a key that isn't as it says": {pages(func(int) string {
			return object("impc/add/%zz", "5", noon) + lastPage + "<EncodingType>url</EncodingType>"
		}), "protocol_error"},
		"a key with a control character": {pages(func(int) string { return object("impc/add/\x01.zip", "5", noon) + lastPage }), "protocol_error"},
		"a key that is no UTF-8":         {pages(func(int) string { return object("impc/add/\xff.zip", "5", noon) + lastPage }), "protocol_error"},
		"a page without end":             {body(remotetest.Starts(head), remotetest.Endless(entry)), "listing_too_long"},
		"a key without end":              {body(remotetest.Starts(head+"<Contents><Key>"), remotetest.Endless("k")), "protocol_error"},
		"entries that say nothing":       {body(remotetest.Starts(head), remotetest.Endless("<Contents/>")), "listing_too_long"},
		"elements without end":           {body(remotetest.Starts(head), remotetest.Endless("<a>")), "protocol_error"},
		"attributes without end":         {body(remotetest.Starts("<ListBucketResult "), remotetest.Endless(`a="b" `)), "protocol_error"},
		"entities":                       {body(remotetest.Starts(`<!DOCTYPE x [<!ENTITY a "b">]><ListBucketResult><IsTruncated>&a;</IsTruncated></ListBucketResult>`)), "protocol_error"},
		"a page that is cut off":         {body(remotetest.Starts(head + entry)), "protocol_error"},
		"a connection that is cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = io.WriteString(w, head+entry)
		}, "connection_lost"},
		"silence":                       {func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timed_out"},
		"a page for people":             {body(remotetest.Starts("<html><body>log in</body></html>")), "protocol_error"},
		"an error as if it were a page": {body(remotetest.Starts("<Error><Code>InternalError</Code></Error>")), "protocol_error"},
		"nothing":                       {body(remotetest.Starts("")), "protocol_error"},
	} {
		t.Run(about, func(t *testing.T) {
			s, c := store(t, tt.list, nil)
			c.IdleTimeout = remotetest.Within(tt.want, 2*time.Second)
			session := remotetest.Dial(t, c)
			var err error
			used := remotetest.Allocated(func() { err = session.List(t.Context(), "add", func(remote.Entry) error { return nil }) })
			if remote.Exception(err) != tt.want {
				t.Fatalf("list: %v (%s), want %q", err, remote.Exception(err), tt.want)
			}
			remotetest.Fit(t, err)
			if asked := len(s.Asked()); used > 256<<20 || asked > 1100 {
				t.Errorf("listing took %d MiB and %d requests", used>>20, asked)
			}
		})
	}
}

// Each refusal has its name, of a listing and of an object, and the first says what
// to do.
func TestS3Refusals(t *testing.T) {
	refuse := func(status int, code, extra string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			if code != "" {
				_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>`+code+`</Code><Message>no `+strings.Repeat("\u202e", 10)+`</Message>`+extra+`</Error>`)
			}
		}
	}
	other := remotetest.NewSite(t, func(http.ResponseWriter, *http.Request) {})
	for about, tt := range map[string]struct {
		answer       http.HandlerFunc
		want, remedy string
	}{
		"another region, 301":           {refuse(301, "PermanentRedirect", "", "X-Amz-Bucket-Region", "eu-west-1", "Location", other.URL), "wrong_region", "region of the source"},
		"another region, 301 to HEAD":   {refuse(301, "", "", "X-Amz-Bucket-Region", "eu-west-1"), "wrong_region", "region of the source"},
		"another region, signed for it": {refuse(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"), "wrong_region", "region of the source"},
		"a region that isn't said":      {refuse(400, "AuthorizationHeaderMalformed", ""), "login_failed", "and region"},
		"another server":                {refuse(307, "TemporaryRedirect", "", "Location", other.URL+"/x"), "transfer_failed", ""},
		"no such bucket":                {refuse(404, "NoSuchBucket", ""), "bucket_not_found", "bucket's name"},
		"archived":                      {refuse(403, "InvalidObjectState", ""), "object_archived", "restore the object"},
		"denied":                        {refuse(403, "AccessDenied", ""), "permission_denied", "s3:ListBucket"},
		"denied, without a word":        {refuse(403, "", ""), "permission_denied", "s3:GetObject"},
		"no such access key":            {refuse(403, "InvalidAccessKeyId", ""), "login_failed", "secret access key"},
		"another secret":                {refuse(403, "SignatureDoesNotMatch", ""), "login_failed", "secret access key"},
		"another time":                  {refuse(403, "RequestTimeTooSkewed", "", "Date", "Mon, 01 Jan 2001 00:00:00 GMT"), "clock_skewed", "clock right"},
		"slow down":                     {refuse(503, "SlowDown", "", "Retry-After", "30"), "server_busy", "later"},
		"slow down, as another status":  {refuse(400, "SlowDown", ""), "server_busy", "later"},
		"too many":                      {refuse(429, "", ""), "server_busy", "later"},
		"an error of its own":           {refuse(500, "InternalError", ""), "connection_lost", ""},
		"words without end":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403); remotetest.Endless("<a>b")(w) }, "permission_denied", ""},
		"a code without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			remotetest.Then(remotetest.Starts("<Error><Code>"), remotetest.Endless("x"))(w)
		}, "permission_denied", ""},
	} {
		t.Run(about, func(t *testing.T) {
			s, c := store(t, tt.answer, tt.answer)
			session := remotetest.Dial(t, c)
			for op, err := range map[string]error{"list": session.List(t.Context(), "add", func(remote.Entry) error { return nil }), "open": remotetest.FetchAll(t, session)} {
				if remote.Exception(err) != tt.want {
					t.Errorf("%s: %v (%s), want %q", op, err, remote.Exception(err), tt.want)
					continue
				}
				remotetest.Fit(t, err)
			}
			steps := connectors.All().Check(t.Context(), c, []string{"add"})
			if last := steps[len(steps)-1]; last.OK || !strings.Contains(last.Remedy, tt.remedy) {
				t.Errorf("the last step is %+v, want a remedy about %q", last, tt.remedy)
			}
			for _, asked := range s.Asked() {
				if strings.Contains(asked, "s3cret") {
					t.Errorf("the secret is sent: %s", asked)
				}
			}
		})
	}
	if asked := other.Asked(); len(asked) > 0 {
		t.Errorf("another server was asked: %v", asked)
	}
}

// What can't be asked for at all is known once the session is opened.
func TestS3LogsIn(t *testing.T) {
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	remotetest.Put(t, dir, "add/one.zip", "1234567890")
	s3, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: t.TempDir(), Root: filepath.Dir(dir)})
	servers.Need(t, err)
	t.Cleanup(s3.Stop)
	good := bucket(s3, filepath.Base(dir))
	for about, tt := range map[string]struct {
		change func(*remote.Config)
		want   string
	}{
		"as it should":      {func(*remote.Config) {}, ""},
		"another secret":    {func(c *remote.Config) { c.Password = "another" }, "login_failed"},
		"another key":       {func(c *remote.Config) { c.URL = strings.Replace(c.URL, s3.KeyID, "AKIAOTHER", 1) }, "login_failed"},
		"a key, no secret":  {func(c *remote.Config) { c.Password = "" }, "bad_source_configuration"},
		"another region":    {func(c *remote.Config) { c.Region = "eu-west-1" }, "wrong_region"},
		"another bucket":    {func(c *remote.Config) { c.URL = s3.URL("nothing-here", "") }, "bucket_not_found"},
		"nobody":            {func(c *remote.Config) { c.URL, c.Password = "s3://"+filepath.Base(dir), "" }, "permission_denied"},
		"a bad endpoint":    {func(c *remote.Config) { c.Endpoint = "127.0.0.1" }, "bad_source_configuration"},
		"TLS it hasn't got": {func(c *remote.Config) { c.Endpoint = "https://" + s3.Addr }, "protocol_error"},
	} {
		t.Run(about, func(t *testing.T) {
			c := good
			tt.change(&c)
			session, err := connectors.All().Dial(t.Context(), c)
			if err == nil {
				_, err = remotetest.Listed(t, session, "add")
				_ = session.Close()
			}
			if remote.Exception(err) != tt.want {
				t.Errorf("%v (%s), want %q", err, remote.Exception(err), tt.want)
			}
		})
	}
}

// The bytes are held against the checksum that the server keeps, if it is one of the
// whole object.
func TestS3Checksums(t *testing.T) {
	const text = "123456789"
	sum := sha256.Sum256([]byte(text))
	right := base64.StdEncoding.EncodeToString(sum[:])
	for about, tt := range map[string]struct{ name, value, kind, want string }{
		"sha256":        {"Sha256", right, "FULL_OBJECT", ""},
		"another":       {"Sha256", base64.StdEncoding.EncodeToString(make([]byte, 32)), "", "transfer_failed"},
		"of parts":      {"Sha256", base64.StdEncoding.EncodeToString(make([]byte, 32)), "COMPOSITE", ""},
		"of parts, -2":  {"Sha256", right[:43] + "=-2", "", ""},
		"crc64nvme":     {"Crc64nvme", "rosUhgp5mIg=", "FULL_OBJECT", ""}, // the check value of CRC-64/NVME
		"another crc64": {"Crc64nvme", "rosUhgp5mIk=", "FULL_OBJECT", "transfer_failed"},
		"crc32c":        {"Crc32c", "4waSgw==", "FULL_OBJECT", ""}, // that of CRC-32C
		"crc32":         {"Crc32", "y/Q5Jg==", "FULL_OBJECT", ""},  // that of CRC-32
		"another crc32": {"Crc32", "y/Q5Jw==", "FULL_OBJECT", "transfer_failed"},
		"none":          {"Sha256", "", "", ""},
		"noise":         {"Sha256", "?", "", ""},
	} {
		_, c := store(t, nil, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Checksum-Mode") != "ENABLED" || r.Method != http.MethodGet {
				t.Errorf("asked is %s %v", r.Method, r.Header)
			}
			w.Header().Set("X-Amz-Checksum-"+tt.name, tt.value)
			w.Header().Set("X-Amz-Checksum-Type", tt.kind)
			_, _ = io.WriteString(w, text)
		})
		session := remotetest.Dial(t, c)
		if err := remotetest.FetchAll(t, session); remote.Exception(err) != tt.want {
			t.Errorf("%s: copy: %v (%s), want %q", about, err, remote.Exception(err), tt.want)
		}
		r, err := session.Open(t.Context(), "add/x.zip", 9)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(struct{ io.Reader }{r})
		if remote.Exception(err) != tt.want || string(got) != text {
			t.Errorf("%s: read %q: %v (%s), want %q", about, got, err, remote.Exception(err), tt.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A transfer goes on where the object is the same by its ETag, whatever the server
// makes of conditions.
func TestS3GoesOnWithTheSameObjectAlone(t *testing.T) {
	const text, tag = "0123456789", `"abc-2"`
	part := func(etag string, status int, of string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if match := r.Header.Get("If-Match"); match != tag || r.Header.Get("Range") != "bytes=4-" {
				t.Errorf("asked is If-Match %s, Range %s", match, r.Header.Get("Range"))
			}
			w.Header().Set("ETag", etag)
			w.Header().Set("Content-Range", of)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text[4:])
		}
	}
	for about, tt := range map[string]struct {
		answer  http.HandlerFunc
		resumed bool
	}{
		"the same":         {part(tag, 206, "bytes 4-9/10"), true},
		"refused":          {part(tag, 412, ""), false},
		"another":          {part(`"def"`, 206, "bytes 4-9/10"), false},
		"one without name": {part("", 206, "bytes 4-9/10"), false},
		"another part":     {part(tag, 206, "bytes 0-9/10"), false},
		"the whole":        {part(tag, 200, ""), false},
		"out of range":     {part(tag, 416, "bytes */4"), false},
	} {
		_, c := store(t, nil, tt.answer)
		r, err := remotetest.Dial(t, c).(remote.Resumer).OpenAt(t.Context(), "add/x.zip", 4, tag)
		if tt.resumed != (err == nil) || err != nil && !errors.Is(err, remote.ErrNotResumed) {
			t.Errorf("%s: %v", about, err)
		}
		if err != nil {
			continue
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text[4:] || remote.Version(r) != tag {
			t.Errorf("%s: %q, %v, version %s", about, got, err, remote.Version(r))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What was uploaded has an ETag and a checksum, by which the real server lets a
// transfer go on, and by which damage on its disk shows.
func TestS3UploadedObjects(t *testing.T) {
	dir := remotetest.Mkdir(t, remotetest.Served(t))
	s3, err := servers.StartVersityGW(t.Context(), servers.VersityGWOptions{Dir: t.TempDir(), Root: filepath.Dir(dir)})
	servers.Need(t, err)
	t.Cleanup(s3.Stop)
	data := bytes.Repeat([]byte("0123456789"), 20_000)
	upload(t, s3, filepath.Base(dir)+"/add/x.zip", data)
	session := remotetest.Dial(t, bucket(s3, filepath.Base(dir)))
	shown, err := session.Stat(t.Context(), "add/x.zip")
	if err != nil {
		t.Fatal(err)
	}
	r, err := session.Open(t.Context(), "add/x.zip", -1)
	if err != nil {
		t.Fatal(err)
	}
	version := remote.Version(r)
	// Each answer says of which version its bytes are, as HEAD does.
	if diff := cmp.Diff(&shown, remote.Whose(r)); diff != "" {
		t.Errorf("whose bytes come (-HEAD +GET):\n%s", diff)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) || !strings.HasPrefix(version, `"`) {
		t.Fatalf("%d bytes, %v, version %s", len(got), err, version)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	rest, err := session.(remote.Resumer).OpenAt(t.Context(), "add/x.zip", 100_000, version)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&shown, remote.Whose(rest)); diff != "" {
		t.Errorf("whose rest comes (-HEAD +GET):\n%s", diff)
	}
	if got, err := io.ReadAll(rest); err != nil || !bytes.Equal(got, data[100_000:]) {
		t.Errorf("the rest: %d bytes, %v", len(got), err)
	}
	if err := rest.Close(); err != nil {
		t.Error(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "add/x.zip"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("X"), 50)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := remotetest.FetchAll(t, session); remote.Exception(err) != "transfer_failed" || !strings.Contains(fmt.Sprint(err), "sha256") {
		t.Errorf("a damaged object: %v (%s)", err, remote.Exception(err))
	}
}

// No key, no directory: that is not an empty one. A bucket is there without any.
func TestS3PrefixWithoutKeys(t *testing.T) {
	_, c := store(t, func(w http.ResponseWriter, _ *http.Request) { keys(w, lastPage) }, nil)
	session := remotetest.Dial(t, c)
	for _, dir := range []string{"", "add"} {
		if got, err := remotetest.Listed(t, session, dir); remote.ClassOf(err) != remote.NotExist || len(got) > 0 {
			t.Errorf("%q below a prefix: %v, %v", dir, got, err)
		}
	}
	c.URL = "s3://AKIA@bucket"
	if got, err := remotetest.Listed(t, remotetest.Dial(t, c), ""); err != nil || len(got) > 0 {
		t.Errorf("an empty bucket: %v, %v", got, err)
	}
}
