// Package connectors lists the connectors that this program has, each a folder beside
// it: to add one is to add its folder, and its line in [All].
package connectors
