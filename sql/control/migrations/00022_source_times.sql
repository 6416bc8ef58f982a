-- +goose Up

-- When a source is polled follows from its definition; what statements ask for of it
-- stands here. An older member finds no window, no end of a maintenance and no
-- polls that were alike, and does what it did.
ALTER TABLE control.source
  ADD COLUMN unchanged integer NOT NULL DEFAULT 0,
  ADD COLUMN opens timestamptz,
  ADD COLUMN closes timestamptz,
  ADD COLUMN maintained_until timestamptz,
  ADD CHECK ((opens IS NULL) = (closes IS NULL));
COMMENT ON COLUMN control.source.unchanged IS 'complete polls in a row that found nothing new, changed or gone; its interval grows with them';
COMMENT ON COLUMN control.source.opens IS 'from when its window is open, or the next one; null: it is always open. Schedule moves it on';
COMMENT ON COLUMN control.source.closes IS 'from when that window is closed again: no poll and no job of it begins then';
COMMENT ON COLUMN control.source.maintained_until IS 'when its maintenance ends by itself; null: when a person says so';
