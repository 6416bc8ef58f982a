-- level: error
-- on: specimen
-- describes: A mouse was born after the date of the file that submits it.
-- example: DOB="2031-05-02" in a file of 2013-06-19.
SELECT c.position, c.record, s.ordinal, s.line,
    format('specimen %s was born on %s, after the file''s date %s: correct DOB', left(s.specimen_id, 200), to_char(s.dob, 'YYYY-MM-DD'), d.file_date) AS message
  FROM candidate c
  JOIN warehouse.claimed_specimen s ON s.position = c.position AND s.record = c.record
  JOIN warehouse.document d ON d.position = c.position
  WHERE to_char(s.dob, 'YYYY-MM-DD') > d.file_date
