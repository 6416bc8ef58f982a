package schemas

import "strings"

// listedPrefix begins the names of what a source's listing says of a file, for people,
// among the attributes of an event that tells of a look: so they are no others' names.
const listedPrefix = "listed."

// Listed are what a listing says of a file, by name, as attributes of an event.
func Listed(said map[string]string) map[string]string {
	attributes := make(map[string]string, len(said)+1)
	for name, text := range said {
		attributes[listedPrefix+name] = text
	}
	return attributes
}

// ListedOf is what an event says that a listing says of the file, by name; nil: nothing.
func ListedOf(e *StatusChanged) map[string]string {
	var said map[string]string
	for name, text := range e.Attributes {
		if of, is := strings.CutPrefix(name, listedPrefix); is && text != "" {
			if said == nil {
				said = map[string]string{}
			}
			said[of] = text
		}
	}
	return said
}
