package kafka

// Headers of a dead letter, beside the original ones. A stage writes them, and
// whoever looks at dead letters reads them.
const (
	HeaderTopic        = "tributary_original_topic"
	HeaderPartition    = "tributary_original_partition"
	HeaderOffset       = "tributary_original_offset"
	HeaderTimestamp    = "tributary_original_timestamp" // RFC 3339
	HeaderStage        = "tributary_stage"
	HeaderErrorClass   = "tributary_error_class"
	HeaderError        = "tributary_error"
	HeaderStack        = "tributary_stack" // of a panic, its beginning
	HeaderAttempts     = "tributary_attempts"
	HeaderFirstFailure = "tributary_first_failure" // RFC 3339
	HeaderLastFailure  = "tributary_last_failure"  // RFC 3339
	HeaderTruncated    = "tributary_truncated"     // bytes of the original, of which only the beginning is kept; else missing
)
