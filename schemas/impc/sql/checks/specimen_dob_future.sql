-- level: error
-- on: specimen
-- describes: A mouse was born after the date of the file that submits it.
-- example: DOB="2031-05-02" in a file of 2013-06-19.
SELECT s.position, s.record, s.ordinal, s.line,
    format('specimen %s was born on %s, after the file''s date %s: correct DOB', left(s.specimen_id, 200), to_char(s.dob, 'YYYY-MM-DD'), d.file_date) AS message
  FROM candidate_specimen s
  CROSS JOIN LATERAL (SELECT d.file_date FROM warehouse.document d WHERE d.position = s.position OFFSET 0) d
  WHERE to_char(s.dob, 'YYYY-MM-DD') > d.file_date
