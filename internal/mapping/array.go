package mapping

import "strings"

// parseArray reads the text form of a Postgres array of texts of one dimension
// without nulls. It reports false for anything else.
func parseArray(text string) ([]string, bool) {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return nil, false
	}
	rest := text[1 : len(text)-1]
	out := []string{}
	if rest == "" {
		return out, true
	}
	for {
		var b strings.Builder
		quoted := rest != "" && rest[0] == '"'
		i := 0
		if quoted {
			i = 1
		}
		closed := !quoted
		for ; i < len(rest); i++ {
			c := rest[i]
			if quoted && c == '"' {
				closed = true
				i++
				break
			}
			if !quoted && c == ',' {
				break
			}
			if !quoted && (c == '{' || c == '}' || c == '"') {
				return nil, false
			}
			if c == '\\' {
				if i++; i == len(rest) {
					return nil, false
				}
				c = rest[i]
			}
			b.WriteByte(c)
		}
		if !closed || !quoted && b.Len() == 0 {
			return nil, false
		}
		out = append(out, b.String())
		if i == len(rest) {
			return out, true
		}
		if rest[i] != ',' {
			return nil, false
		}
		rest = rest[i+1:]
	}
}
