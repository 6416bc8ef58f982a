// Package xsdtree answers what an XML schema allows: which elements below
// which, in which order and how often, with which attributes, and what their
// texts and values are.
//
// It is no validator. It reads the schema itself, independently of the one
// that judges documents, for what a validator doesn't tell: whether a profile's
// mapping fits the schema, and what would have been right where a document is
// wrong. What it can't tell (wildcards, types that documents may choose) is
// said in the field Open of what is concerned. Types that a document names by
// xsi:type are not considered.
//
// Reading is bounded, stays within one file system, and follows relative
// schemaLocations of xs:import and xs:include only.
package xsdtree

// Unbounded is a Child's Max where any number is allowed.
const Unbounded = -1

// Schema is what a schema and the schemas it refers to allow. It is not to be
// changed; then it is safe for use by several goroutines.
type Schema struct {
	// Roots are the elements that a document may begin with: all global
	// elements that aren't abstract, those of the entry file first, then those
	// of other files, each in the order of the file.
	Roots []*Element
}

// Root returns the root element of that local name, or nil.
func (s *Schema) Root(name string) *Element {
	for _, e := range s.Roots {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Element is a declaration of an element. Where types are recursive, an
// element is found below itself: walks need to end by themselves.
type Element struct {
	// Name is the local name.
	Name string
	// Namespace is the namespace that documents use it in; "" for none.
	Namespace string
	// Children are the elements allowed directly below, in schema order. A
	// name is there twice where the schema has it twice.
	Children []Child
	// Attributes are in schema order, those of base types first.
	Attributes []Attribute
	// Text is the type of the text content. It is nil if no text is allowed.
	Text *Type
	// Mixed is true if text may stand between children.
	Mixed bool
	// Nillable is true if documents may leave it empty with xsi:nil.
	Nillable bool
	// Default and Fixed are the values that the schema gives; nil for none.
	Default, Fixed *string
	// Open is "" if nothing is allowed but what is listed here. Otherwise more
	// may be, and it says why, and in which file and line.
	Open string
	// File and Line tell where it is declared.
	File string
	Line int

	model *particle
}

// Child is an element at a place in its parent.
type Child struct {
	*Element
	// Min and Max are how often it may be there, the groups around it
	// included. Max is Unbounded (-1) where there is no limit.
	Min, Max int
	// Choice is the number, from 1 within the parent, of the innermost choice
	// with several alternatives that it belongs to; 0 if it is in none.
	Choice int
}

// Attribute is an attribute that an element may have.
type Attribute struct {
	// Name is the local name.
	Name string
	// Namespace is "" for most: attributes are in none unless the schema
	// declares them globally or as qualified.
	Namespace string
	Type      Type
	Required  bool
	// Default and Fixed are the values that the schema gives; nil for none.
	Default, Fixed *string
}

// Type is a simple type: what a text or a value may be.
type Type struct {
	// Name is the schema's name for it; "" if it has none of its own.
	Name string
	// Base is the built-in type of XML Schema it comes from: string, date,
	// integer and so on, without prefix. For a list it is that of its items;
	// for a union that of its members if they agree, otherwise anySimpleType.
	Base string
	// List is true for a list of such values, separated by white space.
	List bool
	// Union are the members of a union; nil for any other type.
	Union []Type
	// Enum are the only values allowed, in schema order; nil for any.
	Enum []string
	// Patterns are regular expressions of XML Schema: those of one step of
	// restriction are one entry, joined by |, and all entries must match.
	Patterns []string
	// MinLength and MaxLength are in characters (bytes of binary types, items
	// of lists). MaxLength is -1 where there is no limit.
	MinLength, MaxLength int
	// MinInclusive and the other bounds are as the schema writes them; "" for
	// none.
	MinInclusive, MinExclusive, MaxInclusive, MaxExclusive string
	// TotalDigits and FractionDigits limit decimals; -1 for no limit.
	TotalDigits, FractionDigits int
}

// Child returns the child of that local name, or nil.
func (e *Element) Child(name string) *Element {
	for _, c := range e.Children {
		if c.Name == name {
			return c.Element
		}
	}
	return nil
}

// Attr returns the attribute of that local name, or nil.
func (e *Element) Attr(name string) *Attribute {
	for i := range e.Attributes {
		if e.Attributes[i].Name == name {
			return &e.Attributes[i]
		}
	}
	return nil
}

// plain returns a type that allows all of a built-in type.
func plain(base string) Type {
	return Type{Base: base, MaxLength: -1, TotalDigits: -1, FractionDigits: -1}
}
