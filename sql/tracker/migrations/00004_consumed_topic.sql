-- +goose Up

-- Offsets mean something in one topic only. One that was deleted and made anew
-- has the same name and another id.
CREATE TABLE tracker.consumed_topic (
  consumer_group text NOT NULL, topic text NOT NULL, topic_id uuid NOT NULL,
  PRIMARY KEY (consumer_group, topic));
COMMENT ON TABLE tracker.consumed_topic IS 'which topic the offsets of tracker.consumed belong to';
COMMENT ON COLUMN tracker.consumed_topic.consumer_group IS 'as in tracker.consumed';
COMMENT ON COLUMN tracker.consumed_topic.topic IS 'its name';
COMMENT ON COLUMN tracker.consumed_topic.topic_id IS 'the id that the broker gave the topic when it was made';

