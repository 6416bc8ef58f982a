package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxRepeated is how many values the aliases of a file may repeat, all together. It is
// fixed: of a template for sources that is for thousands, and memory holds them.
const maxRepeated = 500_000

// repeats counts what aliases repeat, before anything follows them: a few lines of them can
// stand for more than there is memory, or for themselves.
type repeats struct {
	sizes map[*yaml.Node]int // of what has an anchor; 0 while it is counted
	all   int
}

// size is how many values there are in a node once its aliases are followed.
func (r *repeats) size(n *yaml.Node) (int, error) {
	if n.Kind == yaml.AliasNode {
		size, known := r.sizes[n.Alias]
		if known && size == 0 {
			return 0, fmt.Errorf("line %d: *%s stands within what it repeats: write out what is meant", n.Line, n.Value)
		}
		if r.all += size; r.all > maxRepeated {
			return 0, fmt.Errorf("line %d: up to *%s, aliases repeat more than %d values: write fewer, or split the file", n.Line, n.Value, maxRepeated)
		}
		return size, nil
	}
	if n.Anchor != "" {
		r.sizes[n] = 0
	}
	size := 1
	for _, c := range n.Content {
		more, err := r.size(c)
		if err != nil {
			return 0, err
		}
		size += more
	}
	if n.Anchor != "" {
		r.sizes[n] = size
	}
	return size, nil
}
