-- +goose Up

-- Whoever asks for a lease sees whether it was taken when the clock was ahead, however
-- long its holder takes leases for. Members of older programs leave the column as it is,
-- and go by their own TTL.
ALTER TABLE warehouse.lease ADD COLUMN IF NOT EXISTS taken_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN warehouse.lease.taken_at IS 'when the lease was taken or renewed last, by the database''s clock';
