package pages_test

import "testing"

func TestDocuments(t *testing.T) {
	server := open(t)
	const invalid, fine = ">H.2012-10-02.1.experiment.impc.xml</bdi>", ">H.2012-10-02.1.specimen.impc.xml</bdi>"
	says(t, server, "/documents", 200, invalid, fine, `aria-current="page">Documents`, `href="/t/files/add/H.2012-10-02.01.impc.zip/documents/H.2012-10-02.1.experiment.impc.xml">2</a>`,
		`href="/t/documents?exception=xsd_missing"`, "<bdi>no id</bdi>", "tributary documents --sort newest")
	says(t, server, "/documents?status=failed", 200, invalid, "!"+fine)
	says(t, server, "/documents?source=nothing", 200, invalid, fine, "!nothing")
	says(t, server, "/documents?after=x", 400, "after")
}
