package expect

const (
	FindsSQL = findsSQL
	MaxPolls = maxPolls
	MaxFinds = maxFinds
)
