-- +goose Up

-- Offsets mean something in one topic only. One that was deleted and made anew
-- has the same name and another id.
CREATE TABLE control.consumed_topic (
  consumer_group text NOT NULL, topic text NOT NULL, topic_id uuid NOT NULL,
  PRIMARY KEY (consumer_group, topic));
COMMENT ON TABLE control.consumed_topic IS 'which topic the offsets of control.consumed belong to';
COMMENT ON COLUMN control.consumed_topic.consumer_group IS 'as in control.consumed';
COMMENT ON COLUMN control.consumed_topic.topic IS 'its name';
COMMENT ON COLUMN control.consumed_topic.topic_id IS 'the id that the broker gave the topic when it was made';
