ALTER TABLE event ADD COLUMN IF NOT EXISTS passed.version_of Array(LowCardinality(String)) COMMENT 'phases done on the way to this one, in the same transaction'
