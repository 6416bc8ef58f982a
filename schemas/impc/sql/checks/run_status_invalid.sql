-- level: error
-- on: procedure_run
-- describes: The status code of a run is empty, or its date lies after the date of the file.
-- example: <statusCode date="2031-01-01">IMPC_PSC_003</statusCode>.
SELECT x.position, x.record, x.ordinal, x.line,
    format('the status code "%s" %s', left(x.status_code, 200),
      CASE WHEN coalesce(btrim(x.status_code, E' \t\r\n'), '') = '' THEN 'is empty: give the code, or leave statusCode out'
        ELSE 'holds from ' || to_char(x.status_date, 'YYYY-MM-DD') || ', after the file''s date: correct date' END) AS message
  FROM candidate_run_status x
  CROSS JOIN LATERAL (SELECT d.file_date FROM warehouse.document d WHERE d.position = x.position OFFSET 0) d
  WHERE coalesce(btrim(x.status_code, E' \t\r\n'), '') = '' OR to_char(x.status_date, 'YYYY-MM-DD') > d.file_date
