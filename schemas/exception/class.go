package exception

import "slices"

// Class is a kind of trouble with a source. The set is closed; the bits are those of
// the distributed crawler's ErrorMask that mean the same.
type Class struct {
	Name       string
	Bit        int
	Exceptions []string // that count
}

// Classes are the classes of what goes wrong with sources, by their bits. What is an
// order of ours, or the fault of one file's name, is in none.
func Classes() []Class {
	return []Class{
		{"address", 0, []string{"host_not_found", "bucket_not_found", "wrong_region", "bad_source_configuration", "protocol_unknown", "misconfigured", "base_missing", "base_emptied", "directory_missing", "directory_shrunk", "schedule_invalid", "writing_unsupported"}},
		{"timeout", 1, []string{"timed_out", "too_slow", "poll_timed_out"}},
		{"server", 2, []string{"server_busy", "transfer_failed", "protocol_error", "no_index_page", "reply_too_long", "entry_refused", "listing_entry_invalid", "file_unverifiable", "target_exists", "object_archived"}},
		{"content", 3, []string{"transfer_truncated", "file_changed", "file_gone", "checksum_mismatch", "checksum_unreadable", "changed_since_insertion"}},
		{"connection", 5, []string{"connection_failed", "connection_lost"}},
		{"size", 8, []string{"file_too_large", "listing_too_long"}},
		{"authorization", 9, []string{"login_failed", "clock_skewed", "host_key_unknown", "host_key_mismatch", "host_key_revoked", "host_key_not_offered", "certificate_not_trusted", "encryption_refused", "permission_denied", "robots_forbidden"}},
		{"storage", 10, []string{"no_room", "poll_unrecorded"}},
		{"max_errors", 14, []string{"source_suspended"}},
		{"max_resources", 15, []string{"too_many_entries"}},
	}
}

// ClassOf returns the class in which an exception counts; ok is false where it counts
// in none.
func ClassOf(name string) (c Class, ok bool) {
	for _, c := range Classes() {
		if slices.Contains(c.Exceptions, name) {
			return c, true
		}
	}
	return Class{}, false
}
