-- level: warn
-- on: specimen
-- describes: A mouse was born before 1990, long before any data of this format.
-- example: DOB="0013-05-02" instead of DOB="2013-05-02".
SELECT s.position, s.record, s.ordinal, s.line,
    format('specimen %s was born on %s, before 1990: check DOB', left(s.specimen_id, 200), to_char(s.dob, 'YYYY-MM-DD')) AS message
  FROM candidate_specimen s
  WHERE s.dob < DATE '1990-01-01'
