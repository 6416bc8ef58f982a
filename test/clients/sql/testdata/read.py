"""Reads as a notebook does: from the environment's address, by a cursor at the server."""
import threading

import psycopg2
import psycopg2.extensions

conn = psycopg2.connect("")
conn.set_session(readonly=True)
with conn, conn.cursor(name="phases") as cur:
    cur.itersize = 3
    cur.execute("SELECT short_name, last_update FROM tracker.phase ORDER BY id")
    rows = list(cur)
print("rows:", len(rows))
print("zone:", rows[0][1].tzinfo is not None)
with conn, conn.cursor() as cur:
    cur.execute("SELECT short_name FROM tracker.phase WHERE id = %s", (1,))
    print("parameter:", cur.fetchone()[0])
timer = threading.Timer(0.5, conn.cancel)
timer.start()
try:
    with conn, conn.cursor() as cur:
        cur.execute("SELECT pg_sleep(1000)")
except psycopg2.extensions.QueryCanceledError:
    print("cancelled: True")
try:
    with conn, conn.cursor() as cur:
        cur.execute("DELETE FROM tracker.phase")
except psycopg2.Error as e:
    print("refused:", e.pgcode in ("25006", "42501"))
