package monitoring

// trial are series on which an alert fires, and others on which it must not.
type trial struct{ on, notOn []string }

// firing are the trials of each alert; values come each minute.
func firing() map[string]trial {
	return map[string]trial{
		"TributaryMemberDown": {
			on:    []string{`up{job="tributary",role="insert",instance="a:8080"} 1x5 0x10`},
			notOn: []string{`up{job="tributary",role="insert",instance="a:8080"} 1x5 0x3 1x10`, `up{job="others"} 0x20`},
		},
		"TributaryNothingMeasured": {
			on:    []string{`tributary_control_measured_timestamp_seconds 0x20`}, // read at 0, and never again
			notOn: []string{`tributary_control_measured_timestamp_seconds{instance="a"} 0+60x20`, `tributary_control_measured_timestamp_seconds{instance="b"} 0x20`},
		},
		"TributaryLeaseUnheld": {
			on:    []string{`tributary_lease_held{schema="warehouse",lease="insert",instance="a"} 1x3 0x10`, `tributary_lease_held{schema="warehouse",lease="insert",instance="b"} 1x3 0x10`},
			notOn: []string{`tributary_lease_held{schema="warehouse",lease="insert",instance="a"} 1x3 0x3 1x10`},
		},
		"TributaryInsertionStopped": {
			on:    []string{`tributary_insert_stopped{instance="a"} 0x5`, `tributary_insert_stopped{instance="b"} 0x1 1x5`},
			notOn: []string{`tributary_insert_stopped{instance="a"} 0 1 0 1 0 0`},
		},
		"TributaryChainBroken": {
			on:    []string{`tributary_insert_chain_broken 0x3 1`},
			notOn: []string{`tributary_insert_chain_broken 0x4`},
		},
		"TributaryInsertionSilent": {
			on: []string{`tributary_control_outstanding{what="sessions"} 2x120`, `tributary_insert_positions_total 7x120`},
			notOn: []string{`tributary_control_outstanding{what="sessions"} 2x120`, `tributary_control_outstanding{what="jobs"} 2x120`,
				`tributary_insert_positions_total{instance="a"} 7x120`, `tributary_insert_positions_total{instance="b"} 0x30 1x30 2x30 3x30`},
		},
		"TributaryOutboxWaits": {
			on:    []string{`tributary_outbox_oldest_seconds{outbox="control"} 0+60x15`},
			notOn: []string{`tributary_outbox_oldest_seconds{outbox="control"} 0+60x8 0x5`},
		},
		"TributaryPartitionBlocked": {
			on:    []string{`tributary_stage_blocked{stage="unzip",topic="t",partition="2",reason="unknown_schema"} 0 1x4`},
			notOn: []string{`tributary_stage_blocked{stage="unzip",topic="t",partition="2",reason="unknown_schema"} 0 1 0x4`},
		},
		"TributaryRecordsExpired": {
			on:    []string{`tributary_stage_expired_records_total{stage="unzip",topic="t"} _x3 5x3`}, // the counter appears with its first
			notOn: []string{`tributary_stage_expired_records_total{stage="unzip",topic="t"} 0x90`},
		},
		"TributaryStageStalled": {
			on: []string{`tributary_stage_lag_records{stage="tracker",partition="0"} 5x60`, `tributary_stage_last_progress_timestamp_seconds{stage="tracker"} 0x60`},
			notOn: []string{`tributary_stage_lag_records{stage="tracker",partition="0"} 0x60`, `tributary_stage_last_progress_timestamp_seconds{stage="tracker"} 0x60`,
				`tributary_stage_lag_records{stage="unzip",partition="0"} 5x60`, `tributary_stage_last_progress_timestamp_seconds{stage="unzip"} 0+60x60`},
		},
		"TributaryStageBehind": {
			on:    []string{`tributary_stage_lag_records{stage="history",partition="0"} 6000+10x120`, `tributary_stage_lag_records{stage="history",partition="1"} 6000x120`},
			notOn: []string{`tributary_stage_lag_records{stage="history",partition="0"} 90000-100x120`, `tributary_stage_lag_records{stage="unzip",partition="0"} 900+10x120`},
		},
		"TributaryDeadLetters": {
			on:    []string{`tributary_stage_dlq_records_total{stage="unzip",topic="t"} _x3 1x3`, `tributary_outbox_dead_letters{outbox="control"} 0x6`},
			notOn: []string{`tributary_stage_dlq_records_total{stage="unzip",topic="t"} 0x200`, `tributary_outbox_dead_letters{outbox="control"} 0x200`},
		},
		"TributaryAcquisitionDormant": {
			on:    []string{`tributary_acquisition_dormant 0 1x6`},
			notOn: []string{`tributary_acquisition_dormant 0 1x3 0x6`},
		},
		"TributaryDiskFills": {
			on:    []string{`tributary_blobs_free_bytes 150x20`, `tributary_blobs_min_free_bytes 100x20`},
			notOn: []string{`tributary_blobs_free_bytes 210x20`, `tributary_blobs_min_free_bytes 100x20`},
		},
		"TributaryBrokerLogLarge": {
			on:    []string{`tributary_broker_log_alarm 0 1`},
			notOn: []string{`tributary_broker_log_alarm 0 0`},
		},
		"TributarySourceSuspended": {
			on:    []string{`tributary_source_suspended{source="ics"} 0 1x6`, `tributary_source_suspended{source="bcm"} 0x7`},
			notOn: []string{`tributary_source_suspended{source="ics"} 0 1x3 0x6`},
		},
		"TributarySourceFails": {
			on:    []string{`tributary_source_failed_polls{source="ics"} 1 2 3x20`},
			notOn: []string{`tributary_source_failed_polls{source="ics"} 1 2x20`},
		},
		"TributarySourceLate": {
			on:    []string{`tributary_source_late{source="ics"} 0 1x11`},
			notOn: []string{`tributary_source_late{source="ics"} 0 1x5 0x11`},
		},
		"TributarySourceClockSkewed": {
			on:    []string{`tributary_source_clock_skew_seconds{source="ics"} 0 -7200x16`, `tributary_source_clock_skew_seconds{source="bcm"} 0x17`}, // behind
			notOn: []string{`tributary_source_clock_skew_seconds{source="ics"} 0 7200x10 0x10`, `tributary_source_clock_skew_seconds{source="bcm"} 300x20`},
		},
		"TributaryFetchesFail": {
			on:    []string{`tributary_download_files_total{source="ics",result="failed"} 0+1x30`, `tributary_download_files_total{source="ics",result="fetched"} 5x30`},
			notOn: []string{`tributary_download_files_total{source="ics",result="failed"} 0+1x30`, `tributary_download_files_total{source="ics",result="fetched"} 0+3x30`, `tributary_download_files_total{source="bcm",result="failed"} 0x10 1x20`},
		},
	}
}
