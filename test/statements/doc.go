// Package statements prepares every SQL statement of the program against the tables
// that its migrations make.
package statements
