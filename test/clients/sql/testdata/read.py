"""Reads as a notebook does: from the environment's address, by a cursor at the server."""
import psycopg2

conn = psycopg2.connect("")
conn.set_session(readonly=True)
with conn, conn.cursor(name="phases") as cur:
    cur.itersize = 3
    cur.execute("SELECT short_name, last_update FROM tracker.phase ORDER BY id")
    rows = list(cur)
print("rows:", len(rows))
print("zone:", rows[0][1].tzinfo is not None)
try:
    with conn, conn.cursor() as cur:
        cur.execute("DELETE FROM tracker.phase")
except psycopg2.Error as e:
    print("refused:", e.pgcode in ("25006", "42501"))
