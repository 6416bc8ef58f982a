ALTER TABLE event ADD COLUMN IF NOT EXISTS generation UInt64 DEFAULT 0 COMMENT 'which filling of the table it belongs to: a rebuilt table has a new one, and takes no row of another'
