package http

import (
	"encoding/xml"
	"strings"
	"time"

	"tributary/internal/remote"
)

// feedItem is an item of a feed while it is read.
type feedItem struct {
	enclosures, links []feedLink
	time              time.Time
	said              map[string]string // by the names of attributes
}

// read takes an element of the item, which has begun.
func (i *feedItem) read(m *markup, start xml.StartElement) (err error) {
	switch start.Name.Local {
	case "enclosure":
		i.enclosures = append(i.enclosures, linked(start, attribute(start, "url"), "length"))
	case "content":
		i.enclosures = append(i.enclosures, linked(start, attribute(start, "url")+attribute(start, "src"), "fileSize"))
	case "link":
		l := linked(start, attribute(start, "href"), "length")
		if l.to == "" {
			l.to, err = m.text()
		}
		i.links = append(i.links, l)
	default:
		if name := saidBy(start.Name.Local); name != "" {
			err = i.say(name, m, start)
		}
	}
	return err
}

// linked is a link by an element that may say how long the file is, and what it is.
func linked(start xml.StartElement, to, length string) feedLink {
	return feedLink{to: to, size: feedLength(attribute(start, length)), kind: attribute(start, "type")}
}

// saidBy is which attribute of a file an element of an item is: RSS, Atom and Dublin
// Core have words of their own for the same. Empty: none.
func saidBy(element string) string {
	switch element {
	case "guid", "id":
		return "id"
	case "title":
		return "title"
	case "description", "summary":
		return "description"
	case "author", "creator":
		return "author"
	case "category", "subject":
		return "categories"
	case "pubDate", "date", "published":
		return "published"
	case "updated":
		return "updated"
	}
	return ""
}

// say takes what the item says of itself: what it says first, and all categories.
func (i *feedItem) say(name string, m *markup, start xml.StartElement) error {
	text := attribute(start, "term") // how Atom writes categories
	read := m.words
	if name == "author" {
		read = m.person
	}
	if text == "" {
		var err error
		if text, err = read(); err != nil {
			return err
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if at := feedTime(text); !at.IsZero() && (name == "published" || name == "updated") {
		text = at.Format(time.RFC3339)
		if start.Name.Local != "published" { // which stays when what it is about changes
			i.time = at
		}
	}
	switch before := i.said[name]; {
	case before == "":
		i.said[name] = clipped(text)
	case name == "categories":
		i.said[name] = clipped(before + ", " + text)
	}
	return nil
}

// clipped is the beginning of a text, as long as attributes are.
func clipped(text string) string {
	const end = "…"
	if len(text) <= remote.MaxText {
		return text
	}
	return strings.ToValidUTF8(text[:remote.MaxText-len(end)], "") + end
}

// of is what the item says of the file to which a link of it leads.
func (i *feedItem) of(l feedLink) map[string]string {
	said := remote.AttributesOf(i.said)
	if kind := remote.AttributesOf(map[string]string{"content_type": clipped(l.kind)}); kind != nil {
		if said == nil {
			return kind
		}
		said["content_type"] = kind["content_type"]
	}
	return said
}
