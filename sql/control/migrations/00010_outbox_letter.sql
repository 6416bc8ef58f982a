-- +goose Up

-- What a broker refuses for good is set aside from the outbox, so that what is
-- behind it goes on.
CREATE TABLE control.outbox_letter (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL, event text NOT NULL, key text NOT NULL, subject text NOT NULL,
  class text NOT NULL, cause text NOT NULL, became text NOT NULL,
  size bigint NOT NULL, whole boolean NOT NULL, packed bytea NOT NULL,
  refused int NOT NULL DEFAULT 1, first_at timestamptz NOT NULL, last_at timestamptz NOT NULL,
  decision text NOT NULL DEFAULT '' CHECK (decision IN ('', 'retried', 'dropped')),
  decided_at timestamptz, decided_by text NOT NULL DEFAULT '', reason text NOT NULL DEFAULT '',
  UNIQUE (topic, event));
ALTER TABLE control.outbox_letter ALTER COLUMN packed SET STORAGE EXTERNAL;
COMMENT ON TABLE control.outbox_letter IS 'dead letters of the outbox: events that the broker refuses for good, and rows that nobody can read; the newest 1,000';
COMMENT ON COLUMN control.outbox_letter.id IS 'its number, by which people name it';
COMMENT ON COLUMN control.outbox_letter.topic IS 'to which it was to be published; empty for a row that nobody can read';
COMMENT ON COLUMN control.outbox_letter.event IS 'the event''s id, or the hash of the bytes';
COMMENT ON COLUMN control.outbox_letter.key IS 'the event''s key';
COMMENT ON COLUMN control.outbox_letter.subject IS 'what it is about, for people';
COMMENT ON COLUMN control.outbox_letter.class IS 'event_too_large, refused or undecodable';
COMMENT ON COLUMN control.outbox_letter.cause IS 'why, in words';
COMMENT ON COLUMN control.outbox_letter.became IS 'shortened: told in fewer words under the same id; failed: what waited for it has failed by name; nothing: nobody was told';
COMMENT ON COLUMN control.outbox_letter.size IS 'in bytes, of the event or the row';
COMMENT ON COLUMN control.outbox_letter.whole IS 'whether all of it is kept, or only its first bytes';
COMMENT ON COLUMN control.outbox_letter.packed IS 'the event as in control.outbox, or the row';
COMMENT ON COLUMN control.outbox_letter.refused IS 'how often it was refused';
COMMENT ON COLUMN control.outbox_letter.first_at IS 'when it was refused first';
COMMENT ON COLUMN control.outbox_letter.last_at IS 'when it was refused last';
COMMENT ON COLUMN control.outbox_letter.decision IS 'retried: put back into the outbox; dropped: hidden; empty: it waits for somebody';
COMMENT ON COLUMN control.outbox_letter.decided_at IS 'when somebody decided';
COMMENT ON COLUMN control.outbox_letter.decided_by IS 'who decided';
COMMENT ON COLUMN control.outbox_letter.reason IS 'why, as they said';
