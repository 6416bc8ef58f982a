package exception

import "slices"

// Move is whose turn it is once something has failed.
type Move string

const (
	// Us is the data centre: nothing goes on until somebody here acts, be it that they
	// ask the owner of a server.
	Us Move = "us"
	// Centre is the producing centre, which has to correct something and to send it again.
	Centre Move = "centre"
	// Nobody is to do anything: it is tried again by itself, or has ended as it should.
	Nobody Move = "nobody"
)

// Moves lists them, those first that need somebody here.
func Moves() []Move { return []Move{Us, Centre, Nobody} }

// MoveOf returns whose turn it is after an exception. What is not known here, such as
// what a newer program gives, is for us to look at. Findings of data checks are no
// exceptions: they are always for the centre.
func MoveOf(name string) Move {
	for move, names := range moves() {
		if slices.Contains(names, name) {
			return move
		}
	}
	return Us
}

func moves() map[Move][]string {
	return map[Move][]string{
		Us: {
			"host_key_unknown", "host_key_mismatch", "host_key_revoked", "host_key_not_offered", "login_failed", "permission_denied",
			"bad_source_configuration", "misconfigured", "schedule_invalid", "source_suspended", "centre_not_hosted_here", "held_by_hand",
			"base_missing", "base_emptied", "directory_missing", "directory_shrunk",
			"listing_too_long", "too_many_entries", "certificate_not_trusted", "encryption_refused", "bucket_not_found", "wrong_region", "clock_skewed", "no_index_page", "protocol_unknown", "robots_forbidden", "listing_entry_invalid", "entry_refused", "reply_too_long", "poll_unrecorded",
			"announced_action_unknown", "announced_change_unknown", "announced_entry_invalid", "announced_file_mismatch", "announced_filtered",
			"announced_source_removed", "announced_source_unknown",
			"zip_name_centre", "zip_ratio", "document_name_centre", "document_unreadable", "passed_over", "row_refused",
			"blob_lost", "event_too_large", "quarantined", "unnamed", "writing_unsupported", "target_exists", "file_unverifiable",
		},
		Centre: {
			"object_archived", "checksum_mismatch", "checksum_unreadable", "file_too_large", "name_too_long", "name_twin",
			"zip_name_date", "zip_name_extension", "zip_name_pattern",
			"corrupted_at_producer", "no_documents", "zip_crc_mismatch", "zip_duplicate_entry", "zip_encrypted", "zip_name_invalid", "zip_name_mismatch",
			"zip_nested", "zip_not_an_archive", "zip_overlapping_entries", "zip_path_absolute", "zip_path_backslash", "zip_path_slip",
			"zip_size_mismatch", "zip_symlink", "zip_too_large", "zip_too_many_entries", "zip_truncated", "zip_unsupported_method",
			"document_name_date", "document_name_extension", "document_name_kind", "document_name_pattern",
			"xml_doctype_refused", "xml_encoding", "xml_entity_refused", "xml_limit", "xml_not_well_formed", "xml_version", "xsd_invalid",
			"centre_mismatch", "duplicate_key", "element_too_large", "value_out_of_range",
		},
		Nobody: {
			"host_not_found", "connection_failed", "connection_lost", "timed_out", "server_busy", "protocol_error", "poll_timed_out",
			"transfer_failed", "transfer_truncated", "file_changed", "too_slow", "no_room", "not_tried", "cancelled", "blob_damaged",
			"source_unavailable", "source_removed", "file_gone", "gone", "announced_gone", "cancelled_by_hand", "changed_since_insertion",
		},
	}
}
