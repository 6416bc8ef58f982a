-- +goose Up

-- What programs have ordered with a key of their own, so that an order that is sent
-- again is not given again.
CREATE TABLE control.api_request (
  person text NOT NULL,
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
  digest bytea NOT NULL CHECK (length(digest) = 32),
  at timestamptz NOT NULL,
  answer bytea,
  PRIMARY KEY (person, key));
CREATE INDEX api_request_at ON control.api_request (at);
COMMENT ON TABLE control.api_request IS 'requests with an Idempotency-Key, for a day';
COMMENT ON COLUMN control.api_request.digest IS 'SHA-256 of what was asked: another request may not have the same key';
COMMENT ON COLUMN control.api_request.answer IS 'what was answered; null: it is being done, or whoever did it has died';
