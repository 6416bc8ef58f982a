package plan

import (
	"tributary/internal/blob"
	"tributary/schemas"
)

// corrupted is the end of an archive that is damaged wherever it can be had:
// the fault is its producer's.
const corrupted = "corrupted_at_producer"

// damage tells the exceptions of an archive whose bytes were spoiled from
// those of one that is refused for what it holds, which no other copy mends.
func damage(exception string) bool {
	switch exception {
	case "zip_not_an_archive", "zip_truncated", "zip_crc_mismatch", "zip_size_mismatch", "zip_name_mismatch":
		return true
	}
	return false
}

// hopeless tells the failures that the same hosting would only repeat.
func hopeless(exception string) bool {
	switch exception {
	case "file_gone", "permission_denied", "file_too_large", "misconfigured", "bad_source_configuration", "protocol_unknown", "login_failed",
		"host_key_mismatch", "host_key_unknown", "host_key_revoked", "host_key_not_offered", "certificate_not_trusted", "encryption_refused", "robots_forbidden", "bucket_not_found", "wrong_region", "clock_skewed", "object_archived":
		return true
	}
	return false
}

// retriable tells the failures that time may mend.
func retriable(phase, exception string) bool {
	return phase == string(schemas.Download) || phase == string(schemas.ZipMD5) || exception == corrupted || exception == blob.LostName
}
