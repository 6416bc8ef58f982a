package badinput

import "strings"

// nameCases are names of files as a listing gives them. Bytes that are no
// printable UTF-8 come percent-encoded from poll; they are given as they are
// here too, since other producers may announce files.
func nameCases() []bad {
	const pattern, extension, date, centre = "zip_name_pattern", "zip_name_extension", "zip_name_date", "zip_name_centre"
	return []bad{
		named("centre in capitals passes", "WTSI.2013-10-31.14.impc.zip", ""),
		named("centre in small letters passes", "wtsi.2013-10-31.14.impc.zip", ""),
		named("increment 01 passes", "H.2012-10-02.01.impc.zip", ""),
		named("increment 00000 passes", "H.2012-10-02.00000.impc.zip", ""),
		named("29 February passes", "H.2012-02-29.1.impc.zip", ""),
		named("empty", "", extension, ".zip"),
		named("extension in capitals", "H.2012-10-02.1.impc.ZIP", extension, ".zip"),
		named("two extensions", "H.2012-10-02.1.impc.zip.zip", pattern, "CENTRE.YYYY-MM-DD"),
		named("unfinished upload", "H.2012-10-02.1.impc.zip.filepart", extension, ".filepart"),
		named("IMPC in capitals", "H.2012-10-02.1.IMPC.zip", pattern, "H.2012-10-02.1.IMPC.zip"),
		named("no increment", "H.2012-10-02.impc.zip", pattern),
		named("six digits of increment", "H.2012-10-02.123456.impc.zip", pattern),
		named("negative increment", "H.2012-10-02.-1.impc.zip", pattern),
		named("digits before the centre", "12H.2012-10-02.1.impc.zip", pattern),
		named("text before the name", "foo.H.2012-10-02.1.impc.zip", pattern),
		named("no dots", "UCD2013-06-17.impc.zip", pattern),
		named("no centre", ".2012-10-02.1.impc.zip", pattern),
		named("day of one digit", "H.2012-10-2.1.impc.zip", pattern),
		named("digits of another script", "H.２０１２-10-02.1.impc.zip", pattern),
		named("31 February", "H.2012-02-31.1.impc.zip", date, "2012-02-31"),
		named("29 February of no leap year", "H.2013-02-29.1.impc.zip", date, "2013-02-29"),
		named("month 13", "H.2013-13-01.1.impc.zip", date, "2013-13-01"),
		named("day 0", "H.2013-01-00.1.impc.zip", date, "2013-01-00"),
		named("year 0", "H.0000-01-01.1.impc.zip", date, "0000-01-01"),
		named("unknown centre", "Xyz.2013-02-01.1.impc.zip", centre, "Xyz"),
		named("centre that only folds to one", "\u212aRB.2013-02-01.1.impc.zip", pattern),
		named("line feed", "H.2012-10-02.1\n.impc.zip", pattern, `\n`),
		named("line feed at the end", "H.2012-10-02.1.impc.zip\n", pattern, `\n`),
		named("NUL", "H.2012-10-02.1.impc.zip\x00.zip", pattern, `\x00`),
		named("escape sequence", "\x1b[31mH.2012-10-02.1.impc.zip", pattern, `\x1b`),
		named("RTL override", "H.2012-10-02.1.\u202epiz.cpmi.zip", pattern, `\u202e`),
		named("not UTF-8", "H\xff.2012-10-02.1.impc.zip", pattern, `\xff`),
		named("percent-encoded", "H%ff.2012-10-02.1.impc.zip", pattern, "%ff"),
		named("encoded path", "%2e%2e%2fH.2012-10-02.1.impc.zip", pattern, "%2e"),
		named("path", "../H.2012-10-02.1.impc.zip", pattern, "../"),
		named("backslash", `..\H.2012-10-02.1.impc.zip`, pattern),
		named("leading space", " H.2012-10-02.1.impc.zip", pattern),
		named("leading dash", "-H.2012-10-02.1.impc.zip", pattern),
		named("composed accent", "H\u00e9.2012-10-02.1.impc.zip", pattern, "Hé"),
		named("decomposed accent", "He\u0301.2012-10-02.1.impc.zip", pattern),
		named("quotes", `H".'2012-10-02.1.impc.zip`, pattern, `\"`),
		named("SQL", "H'); DROP TABLE warehouse.specimen;--.2012-10-02.1.impc.zip", pattern, "DROP TABLE"),
		named("HTML", "<script>alert(1)</script>.2012-10-02.1.impc.zip", pattern, "<script>"),
		named("255 bytes", strings.Repeat("H", 255-len(".2012-10-02.1.impc.zip"))+".2012-10-02.1.impc.zip", centre, "..."),
		named("256 bytes", strings.Repeat("H", 256-len(".2012-10-02.1.impc.zip"))+".2012-10-02.1.impc.zip", pattern, "256 bytes", "255"),
		named("4096 bytes", strings.Repeat("é", 2046)+".zip", pattern, "4096 bytes"),
		named("a megabyte", strings.Repeat("H.", 1<<19)+"zip", pattern, "bytes"),
	}
}

// documentNameCases are names of entries that archives may have, but documents
// may not. The archive passes, and its good document too.
func documentNameCases() []bad {
	const pattern = "document_name_pattern"
	one := func(what, name, exception string, says ...string) bad {
		return bad{name: "document name: " + what, write: entries(good(specimen), part{name: name, data: []byte(mouse("", "", ""))}),
			end: end{"xml_name", exception}, ends: map[string]end{specimen: {"upload", ""}}, says: says}
	}
	return []bad{
		one("no increment", "UCD.2013-06-17.experiment.impc.xml", pattern, "CENTRE.YYYY-MM-DD"),
		one("no dots", "UCD2013-06-17experiment.impc.xml", pattern),
		one("kind in capitals", "H.2013-06-17.1.Specimen.impc.xml", pattern),
		one("unknown kind", "H.2013-06-17.1.line.impc.xml", "document_name_kind", "line", "specimen, experiment"),
		one("30 February", "H.2013-02-30.1.specimen.impc.xml", "document_name_date", "2013-02-30"),
		one("unknown centre", "Nobody.2013-02-03.1.specimen.impc.xml", "document_name_centre", "Nobody"),
		one("RTL override", "H.2013-06-17.1.\u202elmx.cpmi.xml", pattern, `\u202e`),
		one("a device's name", "NUL.xml", pattern, "NUL.xml"),
		one("an encoded path", "%2e%2e%2fetc%2fpasswd.xml", pattern),
		one("quotes and SQL", `H"'; DROP TABLE document;--.xml`, pattern, "DROP"),
		one("HTML", "<img src=x onerror=alert(1)>.xml", pattern, "<img"),
		one("256 bytes", strings.Repeat("n", 252)+".xml", pattern, "256 bytes"),
		one("1000 bytes", strings.Repeat("é", 498)+".xml", pattern, "1000 bytes"),
		one("leading dots", "..xml", pattern),
		one("leading dash", "-rf.xml", pattern),
		one("only an extension", ".xml", pattern),
		one("trailing space before the extension", "H.2013-06-17.1.specimen.impc .xml", pattern),
		one("Shift-JIS", "\x93\xfa\x96\x7b.xml", pattern),
		one("cp437", "Z\x81rich.xml", pattern, "Zürich"),
	}
}
