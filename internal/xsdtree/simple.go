package xsdtree

import (
	"slices"
	"strings"
)

// builtins are the simple types that XML Schema 1.0 has.
const builtins = ` anySimpleType string normalizedString token language NMTOKEN NMTOKENS Name NCName
	ID IDREF IDREFS ENTITY ENTITIES boolean base64Binary hexBinary float double decimal integer
	nonPositiveInteger negativeInteger long int short byte nonNegativeInteger unsignedLong unsignedInt
	unsignedShort unsignedByte positiveInteger duration dateTime time date gYearMonth gYear gMonthDay gDay
	gMonth anyURI QName NOTATION `

func builtin(n *node, name string) (*Type, error) {
	if !slices.Contains(strings.Fields(builtins), name) {
		return nil, n.failf("XML Schema 1.0 has no type %q", name)
	}
	t := plain(name)
	switch name {
	case "NMTOKENS", "IDREFS", "ENTITIES":
		t = plain(strings.TrimSuffix(strings.TrimSuffix(name, "S"), "IE"))
		if name == "ENTITIES" {
			t.Base = "ENTITY"
		}
		t.List, t.MinLength = true, 1
	}
	return &t, nil
}

// simpleNamed returns the simple type of that name.
func (l *loader) simpleNamed(n *node, text string) (*Type, error) {
	name, err := n.qname(text)
	if err != nil {
		return nil, err
	}
	if name.Space == xsdNS {
		return builtin(n, name.Local)
	}
	t, err := l.find(n, "type", text)
	if err != nil {
		return nil, err
	}
	if t.name != "simpleType" {
		return nil, n.failf("%q is a complex type, and only a simple one can stand here", text)
	}
	return l.simpleType(t)
}

// simpleType returns the type that an xs:simpleType defines.
func (l *loader) simpleType(n *node) (*Type, error) {
	if t := l.simple[n]; t != nil {
		return t, nil
	}
	if err := l.enter(n); err != nil {
		return nil, err
	}
	defer l.leave(n)
	how := n.child("restriction", "list", "union")
	if how == nil {
		return nil, n.failf("a simple type is neither restriction nor list nor union")
	}
	var t *Type
	var err error
	switch how.name {
	case "restriction":
		var base *Type
		if name := how.get("base"); name != "" {
			base, err = l.simpleNamed(how, name)
			if err != nil {
				return nil, err
			}
		}
		t, err = l.restricted(how, base)
	case "list":
		t, err = l.list(how)
	default:
		t, err = l.union(how)
	}
	if err != nil {
		return nil, err
	}
	t.Name = n.get("name")
	l.simple[n] = t
	return t, nil
}

func (l *loader) list(n *node) (*Type, error) {
	var item *Type
	var err error
	if name := n.get("itemType"); name != "" {
		item, err = l.simpleNamed(n, name)
	} else if inner := n.child("simpleType"); inner != nil {
		item, err = l.simpleType(inner)
	} else {
		err = n.failf("xs:list has neither itemType nor a type within")
	}
	if err != nil {
		return nil, err
	}
	t := plain(item.Base)
	t.List = true
	return &t, nil
}

func (l *loader) union(n *node) (*Type, error) {
	t := plain("")
	for _, name := range strings.Fields(n.get("memberTypes")) {
		member, err := l.simpleNamed(n, name)
		if err != nil {
			return nil, err
		}
		t.Union = append(t.Union, *member)
	}
	for _, kid := range n.kids {
		if kid.name != "simpleType" {
			continue
		}
		member, err := l.simpleType(kid)
		if err != nil {
			return nil, err
		}
		t.Union = append(t.Union, *member)
	}
	if len(t.Union) == 0 {
		return nil, n.failf("xs:union has no members")
	}
	t.Base = t.Union[0].Base
	for _, member := range t.Union {
		if member.Base != t.Base || member.List {
			t.Base = "anySimpleType"
		}
	}
	return &t, nil
}

// restricted returns base with the facets of an xs:restriction. An inner
// simpleType takes the place of base.
func (l *loader) restricted(n *node, base *Type) (*Type, error) {
	if inner := n.child("simpleType"); inner != nil {
		var err error
		if base, err = l.simpleType(inner); err != nil {
			return nil, err
		}
	}
	if base == nil {
		return nil, n.failf("xs:restriction has no base")
	}
	t := *base
	t.Name = ""
	var enum, patterns []string
	for _, facet := range n.kids {
		text := facet.get("value")
		var err error
		switch facet.name {
		case "enumeration":
			if raw := facet.value("value"); raw != nil {
				enum = append(enum, *raw)
			}
		case "pattern":
			patterns = append(patterns, text)
		case "length":
			t.MinLength, err = number(facet, facet.name, text)
			t.MaxLength = t.MinLength
		case "minLength":
			t.MinLength, err = number(facet, facet.name, text)
		case "maxLength":
			t.MaxLength, err = number(facet, facet.name, text)
		case "totalDigits":
			t.TotalDigits, err = number(facet, facet.name, text)
		case "fractionDigits":
			t.FractionDigits, err = number(facet, facet.name, text)
		case "minInclusive":
			t.MinInclusive, t.MinExclusive = text, ""
		case "minExclusive":
			t.MinExclusive, t.MinInclusive = text, ""
		case "maxInclusive":
			t.MaxInclusive, t.MaxExclusive = text, ""
		case "maxExclusive":
			t.MaxExclusive, t.MaxInclusive = text, ""
		case "whiteSpace", "simpleType", "attribute", "attributeGroup", "anyAttribute":
		default:
			err = facet.failf("xs:%s is not understood here", facet.name)
		}
		if err != nil {
			return nil, err
		}
	}
	if enum != nil {
		t.Enum = enum
	}
	if patterns != nil {
		t.Patterns = append(slices.Clone(t.Patterns), strings.Join(patterns, "|"))
	}
	return &t, nil
}
