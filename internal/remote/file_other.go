//go:build !unix

package remote

// openNonblock is only needed where a directory may hold pipes.
const openNonblock = 0
