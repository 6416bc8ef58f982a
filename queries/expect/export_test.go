package expect

const (
	FindsSQL   = findsSQL
	FetchesSQL = fetchesSQL
	MaxFinds   = maxFinds
	MaxFetches = maxFetches
)
