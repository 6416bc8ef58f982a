package file_test

import (
	"testing"
	"time"

	"tributary/internal/remote"
	"tributary/internal/remote/remotetest"
)

func TestLocalDirectoryConforms(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) remotetest.Fixture {
		dir := remotetest.Mkdir(t, remotetest.Served(t))
		return remotetest.Fixture{Root: dir, Config: remote.Config{URL: "file://" + dir}, Precision: time.Nanosecond}
	})
}
