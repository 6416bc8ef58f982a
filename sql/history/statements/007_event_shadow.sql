ALTER TABLE event ADD COLUMN IF NOT EXISTS shadow UInt8 COMMENT '1 if the run is a shadow, whose results lie beside those that are live; else 0'
