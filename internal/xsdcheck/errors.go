package xsdcheck

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jacoelho/xsd/xsderrors"

	"tributary/internal/xmlsource"
)

// Names of what is wrong with a document. They are stable.
const (
	// NotWellFormed is text that isn't XML.
	NotWellFormed = "xml_not_well_formed"
	// DoctypeRefused is a document type declaration, which is never accepted.
	DoctypeRefused = "xml_doctype_refused"
	// EntityRefused is a reference to an entity that XML doesn't predefine.
	EntityRefused = "xml_entity_refused"
	// BadEncoding is an encoding that isn't accepted, or bytes it doesn't have.
	BadEncoding = "xml_encoding"
	// BadVersion is a version of XML other than 1.0.
	BadVersion = "xml_version"
	// OverLimit is a document beyond one of the Options.
	OverLimit = "xml_limit"
	// Invalid is XML that doesn't follow the schema.
	Invalid = "xsd_invalid"
)

// MaxMessage is the length of the longest message, in bytes.
const MaxMessage = 500

// Error is one thing wrong with a document.
type Error struct {
	// Line and Column count from 1; columns in bytes of the UTF-8 form. Both
	// are 0 where no place is known.
	Line, Column int
	// Exception is one of the names above.
	Exception string
	// Message is for people, in valid UTF-8 without control characters and no
	// longer than MaxMessage.
	Message string
}

// finding is one thing wrong with a document, and what the engine said of it;
// engine is nil for what it isn't the engine that found.
type finding struct {
	Error
	engine *xsderrors.Error
}

// describe lists what the engine or the transcoder found in the document,
// sorted by position and, at one place, by kind. What is Invalid is not put into words yet. Findings that
// say nothing about the document, such as a fault of the engine, are returned
// as the error.
func describe(err error) ([]finding, error) {
	var encoding *xmlsource.EncodingError
	if errors.As(err, &encoding) {
		at := Error{Line: 1, Column: 1, Exception: BadEncoding, Message: clean(encoding.Message)}
		var found *xsderrors.Error
		if errors.As(err, &found) && found.Line > 0 {
			at.Line, at.Column = found.Line, max(found.Column, 1)
		}
		return []finding{{Error: at}}, nil
	}
	var over *tagError
	if errors.As(err, &over) {
		return []finding{{Error: Error{Exception: OverLimit, Message: over.message}}}, nil
	}
	var several xsderrors.Errors
	if !errors.As(err, &several) {
		several = xsderrors.Errors{err}
	}
	found := make([]finding, 0, len(several))
	for _, each := range several {
		var engine *xsderrors.Error
		if !errors.As(each, &engine) {
			return nil, err
		}
		if childOfEmpty(engine) {
			return []finding{{Error{Exception: Invalid}, engine}}, nil
		}
		exception, ok := exceptionOf(engine.Code)
		if !ok {
			return nil, err
		}
		switch {
		case engine.Code == xsderrors.CodeValidationRoot && engine.Line == 0:
			exception = NotWellFormed // there is no element at all
		case notUTF8(engine):
			exception = BadEncoding
		}
		if malformedHint(engine) {
			continue
		}
		f := finding{Error{Line: engine.Line, Column: column(engine), Exception: exception}, engine}
		if exception != Invalid {
			f.Message = message(exception, engine)
		}
		found = append(found, f)
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		// At one place the engine goes by the order in which the schema declares
		// attributes; schemas that allow the same are to give the same list.
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.engine.Message, b.engine.Message))
	})
	return found, nil
}

// notUTF8 recognises findings about bytes that the encoding doesn't have.
func notUTF8(engine *xsderrors.Error) bool {
	return engine.Err != nil && engine.Err.Error() == "invalid UTF-8"
}

// childOfEmpty recognises how the engine (v0.3.0) fails at a child of an element
// whose content model is empty: as a fault of its own, without a position. The
// project's schemas avoid such models; a user's may have them, and a document
// must not be able to stop the pipeline by this.
func childOfEmpty(finding *xsderrors.Error) bool {
	return finding.Code == xsderrors.CodeInternalInvariant && finding.Message == "content model state is invalid"
}

// malformedHint recognises findings about xsi:schemaLocation itself. It is only
// a hint, never followed here, and other validators let a bad one pass: in real
// documents it may name a path on its author's disk.
func malformedHint(finding *xsderrors.Error) bool {
	return finding.Code == xsderrors.CodeValidationAttribute &&
		(finding.Message == "xsi:schemaLocation must contain namespace/location pairs" ||
			strings.HasPrefix(finding.Message, "invalid xsi:schemaLocation URI ") ||
			strings.HasPrefix(finding.Message, "invalid xsi:noNamespaceSchemaLocation URI "))
}

// count returns how many findings an error of the engine holds.
func count(err error) int {
	var several xsderrors.Errors
	if errors.As(err, &several) {
		return len(several)
	}
	return 1
}

// column counts from 1 wherever there is a line: the engine says 0 for what it
// meets at the very end of a line.
func column(finding *xsderrors.Error) int {
	if finding.Line > 0 {
		return max(finding.Column, 1)
	}
	return 0
}

// exceptionOf names a finding of the engine. It is false for what says nothing
// about the document: faults of the engine and of how it is used.
func exceptionOf(code xsderrors.Code) (string, bool) {
	switch code {
	case xsderrors.CodeUnsupportedDTD:
		return DoctypeRefused, true
	case xsderrors.CodeUnsupportedExternal, xsderrors.CodeUnsupportedEntity:
		return EntityRefused, true
	case xsderrors.CodeUnsupportedNonUTF8:
		return BadEncoding, true
	case xsderrors.CodeUnsupportedXML11:
		return BadVersion, true
	case xsderrors.CodeValidationXML:
		return NotWellFormed, true
	case xsderrors.CodeValidationLimit:
		return OverLimit, true
	case xsderrors.CodeValidationRoot, xsderrors.CodeValidationElement, xsderrors.CodeValidationAttribute,
		xsderrors.CodeValidationText, xsderrors.CodeValidationType, xsderrors.CodeValidationFacet,
		xsderrors.CodeValidationContent, xsderrors.CodeValidationNil, xsderrors.CodeValidationIdentity,
		xsderrors.CodeUnsupportedSchemaHint:
		return Invalid, true
	}
	return "", false
}

// message puts what makes a document unreadable into words.
func message(exception string, engine *xsderrors.Error) string {
	text := strings.TrimPrefix(engine.Message+": ", ": ")
	if engine.Err != nil {
		text += engine.Err.Error()
	}
	text = strings.TrimSuffix(text, ": ")
	switch {
	case exception == DoctypeRefused:
		text = "a document type declaration (DOCTYPE) is not accepted: remove it"
	case exception == BadEncoding && engine.Code == xsderrors.CodeValidationXML:
		text = "bytes that are not UTF-8: if the document is in another encoding, its XML declaration must say so"
	case exception == BadEncoding:
		text = "the XML declaration names no encoding that is accepted: use UTF-8"
	case exception == EntityRefused:
		text = "only the entities lt, gt, amp, apos and quot, and character references, are accepted"
	case text == "":
		text = string(engine.Code)
	}
	return withPath(engine.Path, text)
}

// clean makes text safe to store and to print: valid UTF-8, no control
// characters, no longer than MaxMessage.
func clean(text string) string {
	text = strings.ToValidUTF8(cut(text, 2*MaxMessage), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7F && r < 0xA0 {
			return ' '
		}
		return r
	}, text)
	return cut(text, MaxMessage)
}

// cut shortens text to n bytes at most, between characters, and says so.
func cut(text string, n int) string {
	const mark = "..."
	if len(text) <= n {
		return text
	}
	end := n - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
