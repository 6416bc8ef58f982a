ALTER TABLE schema_version
    ADD COLUMN IF NOT EXISTS digest UInt64 COMMENT 'FNV-1a of the statement, as it was executed',
    ADD COLUMN IF NOT EXISTS object UUID COMMENT 'the table or view that it made or altered: what takes its place is brought up to date anew'
