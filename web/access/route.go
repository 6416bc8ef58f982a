package access

import "net/http"

// Route is one address and who may ask for it.
type Route struct {
	// Pattern is as http.ServeMux has it, below the prefix: GET /files/{action}/{name}.
	Pattern string
	// Least is the least role that may ask; Nobody: everyone.
	Least   Role
	Handler http.Handler
}
