package ftp

import "tributary/internal/remote"

// about says what the connectors can, by what is read and how the server is known.
func about(reads, trust string) remote.About {
	return remote.About{
		Reads:    reads,
		Listings: "`MLSD`, else `LIST` as Unix and Windows servers write it; lines that can't be read are counted and kept",
		Times:    "to the second with `MLSD`; of `LIST` to the minute, or to the day where it shows the year, and by `MDTM`, for files that may have changed, to the second. The zone of `LIST` is learned",
		LogsIn:   "`password`; without a user in the url as anonymous",
		Trust:    trust,
		Resumes:  "by `REST`, while size and time are the same",
		Checks:   "none",
		Sessions: "one file",
		Versions: "none",
		Besides:  "data connections are passive (`EPSV`, or `PASV` with `disable_epsv`), and go to the host of the control connection alone",
	}
}
