-- +goose Up

-- Sessions that found nothing close without a position while others are given: whoever
-- closes one sees here when the last was.
ALTER TABLE control.position ADD COLUMN given_at timestamptz;
COMMENT ON COLUMN control.position.given_at IS 'when the last position was given, by the clock of who gave it; null: not known, as after control restore';
