-- +goose Up

-- Servers show times as exactly as they can, in zones that they don't name, and by clocks
-- of their own. How exact the time of a hosting is says what it may be compared with. An
-- older member stores none, which means as exact as it looks.
ALTER TABLE control.hosting ADD COLUMN mtime_precision int NOT NULL DEFAULT 0;
COMMENT ON COLUMN control.hosting.mtime_precision IS 'how exact mtime is, in milliseconds; 0: as exact as it looks';
ALTER TABLE control.source ADD COLUMN clock jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN control.source.clock IS 'what its polls have learned of the clock of its server, and of how that shows times; {}: nothing';
