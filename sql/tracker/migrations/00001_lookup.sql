-- +goose Up

CREATE TABLE tracker.consumed (
  consumer_group text NOT NULL, topic text NOT NULL, partition int NOT NULL,
  next_offset bigint NOT NULL,
  PRIMARY KEY (consumer_group, topic, partition));
COMMENT ON TABLE tracker.consumed IS 'next offset to read per consumer group, topic and partition, moved in the transaction that holds the rows';
COMMENT ON COLUMN tracker.consumed.consumer_group IS 'the Kafka consumer group';
COMMENT ON COLUMN tracker.consumed.topic IS 'the topic, with prefix and version';
COMMENT ON COLUMN tracker.consumed.partition IS 'the partition';
COMMENT ON COLUMN tracker.consumed.next_offset IS 'the first offset that is not in the tracker yet';

CREATE TABLE tracker.unreadable (
  topic text NOT NULL, partition int NOT NULL, log_offset bigint NOT NULL,
  reason text NOT NULL,
  PRIMARY KEY (topic, partition, log_offset));
COMMENT ON TABLE tracker.unreadable IS 'records of the log that are no events, which the tracker passed over';
COMMENT ON COLUMN tracker.unreadable.topic IS 'the topic, with prefix and version';
COMMENT ON COLUMN tracker.unreadable.partition IS 'the partition';
COMMENT ON COLUMN tracker.unreadable.log_offset IS 'the record''s offset';
COMMENT ON COLUMN tracker.unreadable.reason IS 'why it could not be read';

-- The order of ids is a contract: what is later, or more severe, is higher.
CREATE TABLE tracker.phase (
  id smallint PRIMARY KEY, short_name text NOT NULL UNIQUE, description text NOT NULL, last_update timestamptz NOT NULL);
COMMENT ON TABLE tracker.phase IS 'the processing phases; a later phase has a higher id';
COMMENT ON COLUMN tracker.phase.id IS 'processing phase code, 1 to 11';
COMMENT ON COLUMN tracker.phase.short_name IS 'the short name of the processing phase';
COMMENT ON COLUMN tracker.phase.description IS 'what happens in this phase';
COMMENT ON COLUMN tracker.phase.last_update IS 'when this row was last changed';
INSERT INTO tracker.phase VALUES
  (1, 'zip_name', 'the name of the zip is checked against the naming convention', '2026-11-21Z'),
  (2, 'download', 'the zip is fetched from one of its sources', '2026-11-21Z'),
  (3, 'zip_md5', 'the bytes received are compared with the checksum beside the file, if there is one', '2026-11-21Z'),
  (4, 'unzip', 'every entry of the zip is checked, and its documents are announced', '2026-11-21Z'),
  (5, 'xml_name', 'the name of the document is checked against the naming convention', '2026-11-21Z'),
  (6, 'xsd', 'the document is validated against its schema', '2026-11-21Z'),
  (7, 'upload', 'the document is loaded into the warehouse', '2026-11-21Z'),
  (8, 'data', 'what was loaded is checked against what else the warehouse holds', '2026-11-21Z'),
  (9, 'context', 'the context of what was loaded is computed', '2026-11-21Z'),
  (10, 'overview', 'the overviews of what was loaded are computed', '2026-11-21Z'),
  (11, 'qc', 'the data are looked at by people', '2026-11-21Z');

CREATE TABLE tracker.a_status (
  id smallint PRIMARY KEY, short_name text NOT NULL UNIQUE, rgba char(8) NOT NULL, description text NOT NULL, last_update timestamptz NOT NULL);
COMMENT ON TABLE tracker.a_status IS 'how a phase stands, by severity';
COMMENT ON COLUMN tracker.a_status.id IS 'progress status code, 1 to 5';
COMMENT ON COLUMN tracker.a_status.short_name IS 'the short name of the status';
COMMENT ON COLUMN tracker.a_status.rgba IS 'red, green, blue and alpha of its colour, in hex';
COMMENT ON COLUMN tracker.a_status.description IS 'what the status means';
COMMENT ON COLUMN tracker.a_status.last_update IS 'when this row was last changed';
INSERT INTO tracker.a_status VALUES
  (1, 'pending', 'aaaaaa00', 'the phase waits to be begun', '2026-11-21Z'),
  (2, 'running', '0000ff00', 'the phase is being worked on', '2026-11-21Z'),
  (3, 'done', '00ff0000', 'the phase was completed', '2026-11-21Z'),
  (4, 'cancelled', '77007700', 'superseded before insertion, source or centre removed, or stopped by a person', '2026-11-21Z'),
  (5, 'failed', 'ff000000', 'the phase ended with an exception', '2026-11-21Z');

CREATE TABLE tracker.processing_type (
  id smallint PRIMARY KEY, short_name text NOT NULL UNIQUE, description text NOT NULL, last_update timestamptz NOT NULL);
COMMENT ON TABLE tracker.processing_type IS 'what the directory of a file asks for';
COMMENT ON COLUMN tracker.processing_type.id IS 'processing type code, 1 to 3';
COMMENT ON COLUMN tracker.processing_type.short_name IS 'the unique name of the processing type';
COMMENT ON COLUMN tracker.processing_type.description IS 'what the process does with a file';
COMMENT ON COLUMN tracker.processing_type.last_update IS 'when this row was last changed';
INSERT INTO tracker.processing_type VALUES
  (1, 'add', 'add the contents of the file', '2026-11-21Z'),
  (2, 'edit', 'update the warehouse with the contents of the file', '2026-11-21Z'),
  (3, 'delete', 'retract what corresponds to the contents of the file', '2026-11-21Z');

CREATE TABLE tracker.source_protocol (
  id smallint PRIMARY KEY, short_name text NOT NULL UNIQUE, description text NOT NULL, last_update timestamptz NOT NULL);
COMMENT ON TABLE tracker.source_protocol IS 'the protocols by which sources are reached';
COMMENT ON COLUMN tracker.source_protocol.id IS 'protocol code';
COMMENT ON COLUMN tracker.source_protocol.short_name IS 'the name of the communication protocol';
COMMENT ON COLUMN tracker.source_protocol.description IS 'what the protocol is';
COMMENT ON COLUMN tracker.source_protocol.last_update IS 'when this row was last changed';
INSERT INTO tracker.source_protocol VALUES
  (1, 'ftp', 'file transfer protocol', '2026-11-21Z'),
  (2, 'sftp', 'SSH file transfer protocol', '2026-11-21Z'),
  (3, 'http', 'hypertext transfer protocol', '2026-11-21Z'),
  (4, 'file', 'a directory of this machine', '2026-11-21Z');

CREATE TABLE tracker.resource_state (
  id smallint PRIMARY KEY, short_name text NOT NULL UNIQUE, description text NOT NULL, last_update timestamptz NOT NULL);
COMMENT ON TABLE tracker.resource_state IS 'the states of sources';
COMMENT ON COLUMN tracker.resource_state.id IS 'state code';
COMMENT ON COLUMN tracker.resource_state.short_name IS 'the unique short name of the state';
COMMENT ON COLUMN tracker.resource_state.description IS 'what the state means';
COMMENT ON COLUMN tracker.resource_state.last_update IS 'when this row was last changed';
INSERT INTO tracker.resource_state VALUES
  (1, 'available', 'the source is polled and fetched from', '2026-11-21Z'),
  (2, 'maintenance', 'the source is under maintenance and left alone', '2026-11-21Z'),
  (3, 'removed', 'the source is no longer configured', '2026-11-21Z'),
  (4, 'suspended', 'too many errors: a person or a successful probe resumes it', '2026-11-21Z');

CREATE TABLE tracker.an_exception (
  id uuid PRIMARY KEY, short_name text NOT NULL UNIQUE, description text);
COMMENT ON TABLE tracker.an_exception IS 'the exceptions seen so far, made as they occur';
COMMENT ON COLUMN tracker.an_exception.id IS 'follows from the name';
COMMENT ON COLUMN tracker.an_exception.short_name IS 'the short name of the exception';
COMMENT ON COLUMN tracker.an_exception.description IS 'what it means, where that is known';
