package xsdcheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"tributary/internal/xmlsource"
)

// FuzzValidate looks for documents that get no verdict, which would stop a
// pipeline; for messages that can't be stored; for verdicts that depend on how
// the document arrives, or on the messages; and for valid documents that other
// readers of XML can't read, as the one that fills the warehouse.
func FuzzValidate(f *testing.F) {
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	specimens, experiments := ours(f, "specimen"), ours(f, "experiment")
	own := schemaOf(f, `<xs:element name="r" xmlns:t="urn:t"><xs:complexType mixed="true"><xs:choice minOccurs="0" maxOccurs="unbounded"><xs:element ref="r"/><xs:element name="e"><xs:complexType><xs:attribute name="id" type="xs:ID"/><xs:attribute name="to" type="xs:IDREF"/></xs:complexType></xs:element>
		<xs:element name="a" type="A" nillable="true"/><xs:element name="w"><xs:complexType><xs:sequence><xs:any processContents="lax"/></xs:sequence><xs:anyAttribute processContents="skip"/></xs:complexType></xs:element></xs:choice></xs:complexType>
			<xs:key name="k"><xs:selector xpath="t:a"/><xs:field xpath="@x"/></xs:key></xs:element>
		<xs:complexType name="A"><xs:sequence><xs:element name="b" type="xs:int" minOccurs="2" maxOccurs="3"/></xs:sequence><xs:attribute name="x" type="xs:date" use="required"/></xs:complexType>
		<xs:complexType name="B"><xs:complexContent><xs:extension base="A"/></xs:complexContent></xs:complexType>`)
	for _, seed := range []string{
		"", "<a/>", complete(f, "specimen"), complete(f, "experiment"), small("", "", "<genotype/>"),
		small("", xsi+` xsi:nil="true"`, "x"), small("", xsi+` xsi:type="embryoRecord"`, ""),
		small("", xsi+` xsi:type="x:y" xsi:schemaLocation="a b c"`, ""), small("<!DOCTYPE a>", "", ""),
		small("", "", `<statusCode`+xsi+` xsi:nil="1"/>`), "\xFF\xFE<\x00a\x00/\x00>\x00",
		small("", "", "<genotype>t<x/></genotype><o:bad xmlns:o='u' o:a='1'><![CDATA[]]]]></o:bad>text<!-- - --><?p i?>"),
		oneExperiment("<specimenID>1</specimenID><statusCode/><procedure procedureID='&lt;&#x41;'/>"),
		latin1(small(`<?xml version="1.0" encoding="ISO-8859-1"?>`, ` colonyID="Zürich"`, "")), wide(binary.BigEndian, small("", "", "<bad/>")),
		`<r xmlns="urn:t"` + xsi + `>x<r/><e id="a" to="b"/><a x="2020-01-01"><b>1</b><b> 2 </b></a><a xsi:nil="true" x=""/><a xsi:type="B"/><w q="1"><r/></w></r>`,
		`<r xmlns="urn:t"><e><a/></e><a x='2020-01-01'/><a x='2020-01-01'><b/><b/><b/><b/></a></r>`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document string) {
		for _, s := range []*Schema{specimens, experiments, own} {
			result := validate(t, s, document)
			at := [2]int{}
			for _, e := range result.Errors {
				here := [2]int{e.Line, e.Column}
				if slices.Compare(here[:], at[:]) < 0 || e.Exception == "" || e.Message == "" || len(e.Message) > MaxMessage || !utf8.ValidString(e.Message) || strings.ContainsAny(e.Message, "\x00\n\x1b") {
					t.Fatalf("error %+v", e)
				}
				at = here
			}
			inPieces, err := s.Validate(context.Background(), iotest.OneByteReader(strings.NewReader(document)))
			if err != nil || lines(inPieces.Errors) != lines(result.Errors) {
				t.Fatalf("at once:\n%sin pieces:\n%s%v", lines(result.Errors), lines(inPieces.Errors), err)
			}
			blind := &Schema{engine: s.engine, opts: s.opts}
			if plain := validate(t, blind, document); plain.Valid != result.Valid || len(plain.Errors) != len(result.Errors) {
				t.Fatalf("with messages:\n%swithout:\n%s", lines(result.Errors), lines(plain.Errors))
			}
			if result.Valid {
				readable(t, document)
			}
		}
	})
}

// readable fails if the standard library can't read a document, or the guard
// lost its way in it.
func readable(t *testing.T, document string) {
	text, err := xmlsource.Reader(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	utf8Form, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	var g guard
	if _, err := g.advance(utf8Form); err != nil || g.depth != 0 || g.force != 0 || g.state != inText {
		t.Fatalf("the guard is lost: %+v, %v", g, err)
	}
	decoder := xml.NewDecoder(bytes.NewReader(utf8Form))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("valid, but: %v", err)
		}
	}
}
