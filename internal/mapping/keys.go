package mapping

// KeyPart is one column of a natural key.
type KeyPart struct {
	Column string
	// Word is the value that the column has in every key of this form, such as
	// a kind; empty where the documents say it.
	Word string
}

// Keys lists the forms that the natural keys of a record table have: the
// columns in the order of the key, one form for each different one. Any other
// table has none.
func (m *Mapping) Keys(table string) [][]KeyPart {
	var forms [][]KeyPart
	seen := map[string]bool{}
	for _, k := range m.order {
		for _, r := range k.rules {
			if r.table.Name != table || !r.table.Record || seen[r.keyForm()] {
				continue
			}
			seen[r.keyForm()] = true
			form := make([]KeyPart, len(r.key))
			for n, i := range r.key {
				form[n] = KeyPart{Column: r.table.Columns[i].Name, Word: r.columns[i].word}
			}
			forms = append(forms, form)
		}
	}
	return forms
}
