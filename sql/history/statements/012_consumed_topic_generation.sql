ALTER TABLE consumed_topic ADD COLUMN IF NOT EXISTS generation UInt64 DEFAULT 0 COMMENT 'filling of the table event that it was read into'
