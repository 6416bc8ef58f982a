-- level: error
-- on: specimen
-- describes: The status code of a specimen is empty, or its date lies after the date of the file.
-- example: <statusCode date="2031-01-01"/>.
SELECT s.position, s.record, s.ordinal, s.line,
    format('the status code "%s" of specimen %s %s', left(s.status_code, 200), left(s.specimen_id, 200),
      CASE WHEN btrim(s.status_code, E' \t\r\n') = '' THEN 'is empty: give the code, or leave statusCode out'
        ELSE 'holds from ' || to_char(s.status_date, 'YYYY-MM-DD') || ', after the file''s date: correct date' END) AS message
  FROM candidate_specimen s
  CROSS JOIN LATERAL (SELECT d.file_date FROM warehouse.document d WHERE d.position = s.position OFFSET 0) d
  WHERE btrim(s.status_code, E' \t\r\n') = '' OR to_char(s.status_date, 'YYYY-MM-DD') > d.file_date
