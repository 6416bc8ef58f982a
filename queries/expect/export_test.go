package expect

const (
	FindsSQL = findsSQL
	MaxFinds = maxFinds
)
