package xsdtree

import "slices"

// attributes adds the attributes that stand in n, replacing those of the base.
func (l *loader) attributes(c *content, n *node) error {
	for _, kid := range n.kids {
		switch kid.name {
		case "attribute":
			a, prohibited, err := l.attribute(kid)
			if err != nil {
				return err
			}
			same := func(other Attribute) bool { return other.Name == a.Name && other.Namespace == a.Namespace }
			at := slices.IndexFunc(c.attrs, same)
			switch {
			case prohibited && at >= 0:
				c.attrs = slices.Delete(c.attrs, at, at+1)
			case prohibited:
			case at >= 0:
				c.attrs[at] = a
			default:
				c.attrs = append(c.attrs, a)
			}
			if len(c.attrs) > maxChildren {
				return kid.failf("there are more than %d attributes", maxChildren)
			}
		case "attributeGroup":
			group, err := l.find(kid, "attributeGroup", kid.get("ref"))
			if err != nil {
				return err
			}
			if err := l.enter(group); err != nil {
				return err
			}
			if err := l.attributes(c, group); err != nil {
				return err
			}
			l.leave(group)
		case "anyAttribute":
			if c.open == "" {
				c.open = "xs:anyAttribute allows further attributes (" + kid.where() + ")"
			}
		}
	}
	return nil
}

// attribute returns the attribute that n declares or refers to.
func (l *loader) attribute(n *node) (a Attribute, prohibited bool, err error) {
	decl := n
	if ref := n.get("ref"); ref != "" {
		name, err := n.qname(ref)
		if err != nil {
			return a, false, err
		}
		decl = l.global[component{"attribute", name}]
		switch {
		case decl == nil && name.Space == xmlNS:
			a.Type = plain("string")
		case decl == nil:
			return a, false, n.failf("there is no attribute %q", ref)
		}
		a.Name, a.Namespace = name.Local, name.Space
	} else {
		a.Name = n.get("name")
		form, has := n.attr("form")
		if form == "qualified" || !has && n.file.qualifiedAttrs {
			a.Namespace = n.file.target
		}
	}
	if a.Name == "" {
		return a, false, n.failf("an attribute has neither name nor ref")
	}
	if decl != nil {
		a.Default, a.Fixed = decl.value("default"), decl.value("fixed")
		t, err := l.attributeType(decl)
		if err != nil {
			return a, false, err
		}
		a.Type = *t
	}
	if own := n.value("default"); own != nil {
		a.Default = own
	}
	if own := n.value("fixed"); own != nil {
		a.Fixed = own
	}
	a.Required = n.get("use") == "required"
	return a, n.get("use") == "prohibited", nil
}

func (l *loader) attributeType(n *node) (*Type, error) {
	if name := n.get("type"); name != "" {
		return l.simpleNamed(n, name)
	}
	if t := n.child("simpleType"); t != nil {
		return l.simpleType(t)
	}
	t := plain("anySimpleType")
	return &t, nil
}
