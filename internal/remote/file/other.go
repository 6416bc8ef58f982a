//go:build !unix

package file

// openNonblock is only needed where a directory may hold pipes.
const openNonblock = 0
