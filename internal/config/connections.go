package config

// Kafka says how the brokers are reached and topics are made.
type Kafka struct {
	BootstrapServers  []string `yaml:"bootstrap_servers"`  // empty: the embedded broker
	ListenAddress     string   `yaml:"listen_address"`     // of the embedded broker, for users with a password; empty: it is reached through its unix socket only
	LogAlarmShare     float64  `yaml:"log_alarm_share"`    // of the memory: an embedded broker's log that is larger raises the alarm; default 0.25
	TopicPrefix       string   `yaml:"topic_prefix"`       // default tributary
	Partitions        int32    `yaml:"partitions"`         // of every topic but document.ordered; default 3 embedded, 6 otherwise
	ReplicationFactor int16    `yaml:"replication_factor"` // default 1 embedded, 3 otherwise
	GroupProtocol     string   `yaml:"group_protocol"`     // classic (default, cooperative-sticky) or consumer (KIP-848)
	InstanceID        string   `yaml:"instance_id"`        // static membership: stable per process
	SessionTimeout    Duration `yaml:"session_timeout"`    // of group members; default 45s
	TLS               TLS      `yaml:"tls"`
	SASL              SASL     `yaml:"sasl"`
}

// TLS secures connections to brokers.
type TLS struct {
	Enabled    bool   `yaml:"enabled"`
	CAFile     string `yaml:"ca_file"`   // default: the system's roots
	CertFile   string `yaml:"cert_file"` // client certificate
	KeyFile    string `yaml:"key_file"`
	ServerName string `yaml:"server_name"`
}

// SASL authenticates with brokers.
type SASL struct {
	Mechanism string `yaml:"mechanism"` // plain, scram-sha-256 or scram-sha-512
	Username  string `yaml:"username"`
	Password  Secret `yaml:"password"`
}

// Registry says where schemas register publishes the events' schemas; nothing
// else asks it.
type Registry struct {
	URL      string `yaml:"url"`      // http://host:8081 or https://…, as Confluent's API is served
	Username string `yaml:"username"` // for basic authentication; empty: none
	Password Secret `yaml:"password"` // env:NAME or file:PATH
	CAFile   string `yaml:"ca_file"`  // default: the system's roots
}

// Postgres says where control, tracker and warehouse live.
type Postgres struct {
	URL            Secret `yaml:"url"`             // postgres://…; empty: the embedded engine. A reference, or a plain URL without a password
	Listen         string `yaml:"listen"`          // of the embedded engine, on loopback, for others who read; empty: it is reached through its unix socket only
	MaxConnections int32  `yaml:"max_connections"` // per role and process; default 8
}

// ClickHouse says where the history lives.
type ClickHouse struct {
	URL       Secret `yaml:"url"`        // clickhouse://… or http://…; empty: the embedded engine
	Database  string `yaml:"database"`   // default tributary
	MaxMemory Bytes  `yaml:"max_memory"` // of the embedded engine; default 2GiB
}

// Blobs says where the bytes of downloaded files live.
type Blobs struct {
	Dir          string  `yaml:"dir"`            // default <data_dir>/blobs
	MinFree      Bytes   `yaml:"min_free"`       // free space below which nothing is fetched; default 1GiB, 0: fetch until the disk is full
	MinFreeShare float64 `yaml:"min_free_share"` // the same as a share of the file system; the lesser counts; default 0.05
	ServerShare  float64 `yaml:"server_share"`   // of the room above that, for the files of one server that are being fetched; default 0.5
}
