package file

import "tributary/internal/remote"

// about says what the connector can.
func about() remote.About {
	return remote.About{
		Reads:    "a directory of this machine, a mounted share among them",
		Listings: "as the system lists them; on Linux inotify tells that something happens there, which brings the next poll forward and proves nothing",
		Times:    "as the file system keeps them, to the nanosecond at best",
		LogsIn:   "not at all: the members that poll and download must be able to read it",
		Trust:    "by its path; a share whose server is gone is an error, not an empty directory",
		Resumes:  "while size and time are the same",
		Checks:   "none",
		Sessions: "4 files",
		Versions: "none",
		Besides:  "links and devices are shown as such and never followed",
	}
}
