package file_test

import (
	"testing"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

// However many entries are listed, few are held.
func TestListsAnyNumber(t *testing.T) {
	n := remotetest.HowMany()
	remotetest.Lists(t, remote.Config{URL: "file://" + remotetest.Many(t, n)}, n, 0)
}
