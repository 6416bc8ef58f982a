-- +goose Up

-- People order a source's state beside the configuration, which only says it anew
-- where its own word has changed.
ALTER TABLE control.source ADD COLUMN declared_state text NOT NULL DEFAULT 'available';
UPDATE control.source SET declared_state = 'maintenance' WHERE state = 'maintenance';
COMMENT ON COLUMN control.source.declared_state IS 'the state that the configuration gave it last: available or maintenance';
