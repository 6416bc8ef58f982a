-- +goose Up

-- Which findings followed from claims for a while depends on how positions were
-- cut into transactions, so that a rebuild had others closed. They are deleted
-- now when they don't follow any more.
DELETE FROM warehouse.finding WHERE NOT open AND test IN ('already_present', 'resubmitted', 'edit_of_unknown', 'delete_of_unknown');
COMMENT ON TABLE warehouse.finding IS 'what data checks found in current records, and what follows from claims; an open one holds, a closed one did at a batch''s end';
