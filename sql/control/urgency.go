package control

// Urgency is the priority that a person has given a file, in place of its source's:
// until the file is fetched.
type Urgency struct {
	Priority                *int // 0 to MostPriority; nil: nobody has given it one
	PriorityBy, PriorityWhy string
}

// Given is who gave the file its priority, and why, for people.
func (u Urgency) Given() string {
	return Decision{By: u.PriorityBy, Reason: u.PriorityWhy}.Said("given")
}

// urgent are the columns of an Urgency, of a file.
const urgent = `priority, priority_by, priority_why`
