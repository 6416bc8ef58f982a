package doctor

// Problem is the stable name of what is wrong, for programs.
type Problem string

// The problems. Their names don't change; there may be more of them.
const (
	ConfigInvalid      Problem = "config_invalid"
	SecretUnresolved   Problem = "secret_unresolved"
	SecretOpen         Problem = "secret_open"
	FileUnreadable     Problem = "file_unreadable"
	CertificateInvalid Problem = "certificate_invalid"
	CertificateEnds    Problem = "certificate_ends"
	WebWithoutTLS      Problem = "web_without_tls"
	DirMissing         Problem = "directory_missing"
	DirUnusable        Problem = "directory_unusable"
	DirOpen            Problem = "directory_open"
	DirForeign         Problem = "directory_foreign"
	BlobsNotMarked     Problem = "blobs_not_marked"
	DiskLow            Problem = "disk_low"
	LogLarge           Problem = "log_large"
	EnginesStopped     Problem = "engines_stopped"
	ServerUnreachable  Problem = "server_unreachable"
	ServerSlow         Problem = "server_slow"
	LoginRefused       Problem = "login_refused"
	SecurityMismatch   Problem = "security_mismatch"
	ServerTooOld       Problem = "server_too_old"
	DatabaseMissing    Problem = "database_missing"
	RightsMissing      Problem = "rights_missing"
	SchemaForeign      Problem = "schema_foreign"
	ReadOnly           Problem = "read_only"
	ConnectionsFew     Problem = "connections_few"
	EncodingWrong      Problem = "encoding_wrong"
	NotDurable         Problem = "not_durable"
	MigrationsBehind   Problem = "migrations_behind"
	MigrationsAhead    Problem = "migrations_ahead"
	MigrationsSkipped  Problem = "migrations_skipped"
	ClockDiffers       Problem = "clock_differs"
	RecordsFromFuture  Problem = "records_from_the_future"
	BrokersFew         Problem = "brokers_few"
	TopicMissing       Problem = "topic_missing"
	TopicPartitions    Problem = "topic_partitions"
	TopicReplication   Problem = "topic_replication"
	TopicRetention     Problem = "topic_retention"
	TopicCompaction    Problem = "topic_compaction"
	TopicSetting       Problem = "topic_setting"
	PartitionOffline   Problem = "partition_offline"
	ReplicasAway       Problem = "replicas_away"
	SchemasMissing     Problem = "schemas_missing"
	SchemaConflict     Problem = "schema_conflict"
	PortTaken          Problem = "port_taken"
	PortUnusable       Problem = "port_unusable"
	WatchesExhausted   Problem = "watches_exhausted"
	IssuerDiffers      Problem = "issuer_differs"
	SourceUnreachable  Problem = "source_unreachable"
	CheckFailed        Problem = "check_failed"
)

// Described is a problem with what it means.
type Described struct {
	Problem Problem
	Warns   bool // things go on with it; else something does not work
	Means   string
}

// Problems are all of them with their meanings, in the order in which they are
// looked for.
func Problems() []Described {
	return []Described{
		{ConfigInvalid, false, "The configuration can't be read, or has a value that it may not have."},
		{SecretUnresolved, false, "A secret that the configuration refers to is not where it says."},
		{SecretOpen, true, "Others on this machine can read a file with a secret or a private key."},
		{FileUnreadable, false, "A file that the configuration names can't be read."},
		{CertificateInvalid, false, "A certificate can't be used: it is none, is over, or does not fit its key."},
		{CertificateEnds, true, "A certificate ends within two weeks."},
		{WebWithoutTLS, true, "The pages are served beyond this machine without TLS, as the configuration orders."},
		{DirMissing, true, "A directory for data is not there: nothing has started with this configuration here yet."},
		{DirUnusable, false, "What should be a directory for data is none, or can't be written."},
		{DirOpen, true, "Others on this machine can look into the directory for data."},
		{DirForeign, false, "The directory for data belongs to another account."},
		{BlobsNotMarked, false, "The directory for blobs is not the store that control knows, for example as its disk isn't mounted."},
		{DiskLow, false, "A disk has less room than `blobs.min_free` and `blobs.min_free_share` leave to others, so that nothing is fetched."},
		{LogLarge, true, "The embedded broker's log takes more of the memory than `kafka.log_alarm_share`."},
		{EnginesStopped, false, "No embedded engines run, and no address is configured in their place."},
		{ServerUnreachable, false, "Nobody answers at an address."},
		{ServerSlow, false, "Somebody answers so slowly that the check was not done within its time."},
		{LoginRefused, false, "A server refuses the user or the password."},
		{SecurityMismatch, false, "A server expects TLS or a login where none is configured, or the other way round."},
		{ServerTooOld, false, "A server's version is older than Tributary needs."},
		{DatabaseMissing, false, "A server has no database of the configured name."},
		{RightsMissing, false, "The user may not do in a store what Tributary does there."},
		{SchemaForeign, false, "One of Tributary's schemas belongs to another user of the database."},
		{ReadOnly, false, "The database takes no changes."},
		{ConnectionsFew, true, "The database allows fewer connections than one process with one role may open."},
		{EncodingWrong, false, "The database's encoding is not UTF-8, so that names can't be stored."},
		{NotDurable, true, "The database says that something is stored before it is on disk: a power cut loses what was decided."},
		{MigrationsBehind, false, "A store lacks migrations that this program has."},
		{MigrationsAhead, false, "A store has had migrations that this program doesn't know: a newer program has been here."},
		{MigrationsSkipped, false, "A store lacks a migration and has had later ones: something else has changed it."},
		{ClockDiffers, false, "This machine's clock and a server's differ by more than two seconds."},
		{RecordsFromFuture, false, "The newest record of the event log is of a time that has not come: the clock of a member is ahead, or this machine's is behind."},
		{BrokersFew, false, "There are fewer brokers than replicas are asked for."},
		{TopicMissing, false, "A topic is not there."},
		{TopicPartitions, false, "A topic has another number of partitions."},
		{TopicReplication, false, "A topic has another number of replicas."},
		{TopicRetention, false, "A topic's records are kept for another time or size: the record may be deleted."},
		{TopicCompaction, false, "A topic is compacted, which deletes events."},
		{TopicSetting, false, "Another setting of a topic is not what the catalogue says."},
		{PartitionOffline, false, "A partition has no leader: nothing can be read from it or written to it."},
		{ReplicasAway, true, "Some replicas of a partition are not in step."},
		{SchemasMissing, false, "The schema registry lacks schemas, so that others can't decode the events."},
		{SchemaConflict, false, "The schema registry has another schema under an id or version of ours."},
		{PortTaken, false, "Another program listens at an address that is configured for Tributary."},
		{PortUnusable, false, "An address to listen at is not one of this machine's."},
		{WatchesExhausted, true, "The system, or the program, watches no more directories, so that some local sources are polled by their interval alone."},
		{IssuerDiffers, false, "The provider for logging in calls itself otherwise than the configuration does."},
		{SourceUnreachable, false, "A source of the configuration can't be listed."},
		{CheckFailed, false, "A check could not be made, for a reason that has no name of its own."},
	}
}

// warns tells whether things go on with a problem.
func (p Problem) warns() bool {
	for _, d := range Problems() {
		if d.Problem == p {
			return d.Warns
		}
	}
	return false
}
