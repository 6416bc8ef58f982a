ALTER TABLE event
    COMMENT COLUMN entity 'what it tells the state of: centre, source, session, task, hosting, file, download, document, batch, replay',
    COMMENT COLUMN note 'in a word what status does not say: no_checksum, matched, duplicate, superseded, unsettled, divergent_hosting, replayed, not_tried, unloaded; of a dead letter or a replay, what was done with it'
