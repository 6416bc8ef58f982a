#!/usr/bin/env python3
"""What a data engineer would write instead: fetch over SFTP what is new, validate, load.

ingest.py CONFIG.json, which has sources (ID, Server, Path, Identity and KnownHosts of
each), inbox (a folder), xsd (a folder) and dsn. It may be run again: a zip whose size and
time are those of the last run is left alone, and a zip's rows are replaced. It knows no
status of a file, no versions, no order and no history.
"""
import io
import json
import logging
import os
import sys
import threading
import zipfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from urllib.parse import urlparse

import paramiko
import psycopg
from lxml import etree

ACTIONS = ("add", "edit", "delete")
TOGETHER = 25  # zips in a transaction
KINDS = {"simpleParameter": "simple", "ontologyParameter": "ontology", "seriesParameter": "series", "procedureMetadata": "metadata"}
DDL = """
CREATE TABLE IF NOT EXISTS specimen (zip text, document text, line int, kind text, centre text, specimen_id text, colony_id text, strain_id text,
  is_baseline bool, gender text, zygosity text, litter_id text, pipeline text, project text, dob date);
CREATE TABLE IF NOT EXISTS procedure_run (zip text, document text, n int, kind text, centre text, pipeline text, project text, experiment_id text,
  sequence_id text, date_of_experiment date, colony_id text, procedure_id text, specimen_ids text[]);
CREATE TABLE IF NOT EXISTS measurement (zip text, document text, n int, kind text, parameter_id text, sequence_id bigint, unit text, value text, status text, series jsonb);
CREATE INDEX IF NOT EXISTS specimen_zip ON specimen (zip);
CREATE INDEX IF NOT EXISTS specimen_id ON specimen (centre, specimen_id);
CREATE INDEX IF NOT EXISTS procedure_run_zip ON procedure_run (zip);
CREATE INDEX IF NOT EXISTS measurement_zip ON measurement (zip, document, n);
"""
log = logging.getLogger("ingest")
here = threading.local()


def sftp(source):
    """The thread's own connection to a source."""
    sessions = here.__dict__.setdefault("sessions", {})
    if source["ID"] not in sessions:
        at = urlparse(source["Server"])
        client = paramiko.SSHClient()
        client.load_host_keys(source["KnownHosts"])
        client.connect(at.hostname, at.port, at.username, key_filename=source["Identity"], timeout=15, look_for_keys=False, allow_agent=False)
        sessions[source["ID"]] = client, client.open_sftp()
    return sessions[source["ID"]][1]


def new(source, inbox):
    """What a source shows and the inbox lacks."""
    out = []
    for action in ACTIONS:
        try:
            entries = sftp(source).listdir_attr(f"{source['Path']}/{action}")
        except FileNotFoundError:
            continue
        os.makedirs(os.path.join(inbox, source["ID"], action), exist_ok=True)
        for e in entries:
            if not e.filename.endswith(".zip"):
                continue
            path = os.path.join(inbox, source["ID"], action, e.filename)
            try:
                known = os.stat(path)
                if (known.st_size, int(known.st_mtime)) == (e.st_size, e.st_mtime):
                    continue
            except FileNotFoundError:
                pass
            out.append((source, f"{source['Path']}/{action}/{e.filename}", e, path))
    return out


def fetch(source, remote, entry, path):
    for attempt in range(3):
        try:
            with sftp(source).open(remote, bufsize=256 << 10) as f:
                f.prefetch(entry.st_size)
                content = f.read()
            if len(content) != entry.st_size:
                raise OSError(f"{len(content)} bytes of {entry.st_size}")
            with open(path + ".part", "wb") as out:
                out.write(content)
            os.utime(path + ".part", (entry.st_mtime, entry.st_mtime))
            return path
        except Exception as err:
            log.warning("%s: attempt %d: %s", remote, attempt + 1, err)
            here.sessions.pop(source["ID"], None)
    log.error("%s: not fetched", remote)
    return None


def begin(config):
    """What each loading process works with."""
    global CFG, XSD, DB
    CFG = config
    XSD = {kind: etree.XMLSchema(etree.parse(f"{config['xsd']}/{kind}.xsd")) for kind in ("specimen", "experiment")}
    DB = psycopg.connect(config["dsn"])


def tag(element):
    return etree.QName(element).localname


def children(element):
    return element.iterchildren(tag=etree.Element)


def rows(root, kind, zipname, document, into):
    for centre in children(root):
        for n, el in enumerate(children(centre)):
            get = el.get
            if kind == "specimen":
                into["specimen"].append((zipname, document, el.sourceline, tag(el), centre.get("centreID"), get("specimenID"), get("colonyID"), get("strainID"),
                                         get("isBaseline"), get("gender"), get("zygosity"), get("litterId"), get("pipeline"), get("project"), get("DOB")))
                continue
            ids, procedure = [], None
            for c in children(el):
                if tag(c) == "specimenID":
                    ids.append(c.text)
                elif tag(c) == "procedure":
                    procedure = c
            into["procedure_run"].append((zipname, document, n, tag(el), centre.get("centreID"), centre.get("pipeline"), centre.get("project"), get("experimentID"),
                                          get("sequenceID"), get("dateOfExperiment"), get("colonyID"), None if procedure is None else procedure.get("procedureID"), ids))
            for p in () if procedure is None else children(procedure):
                if tag(p) not in KINDS:
                    continue
                value = status = None
                series = []
                for c in children(p):
                    what = tag(c)
                    if what == "parameterStatus":
                        status = c.text
                    elif what == "value" and tag(p) == "seriesParameter":
                        series.append([c.get("incrementValue"), c.text])
                    elif what == "value":
                        value = c.text
                    elif what == "term":
                        value = c.text if value is None else value + "|" + c.text
                into["measurement"].append((zipname, document, n, KINDS[tag(p)], p.get("parameterID"), p.get("sequenceID"), p.get("unit"), value, status,
                                            json.dumps(series) if series else None))


def load(paths):
    """Loads some zips in one transaction. One that can't be read is left for the next run."""
    names, good, invalid, into = [], [], 0, {"specimen": [], "procedure_run": [], "measurement": []}
    for path in paths:
        name = os.path.relpath(path, CFG["inbox"])
        try:
            with open(path + ".part", "rb") as f, zipfile.ZipFile(io.BytesIO(f.read())) as z:
                for info in z.infolist():
                    if not info.filename.endswith(".xml"):
                        continue
                    kind = info.filename.split(".")[-3]
                    try:
                        root = etree.fromstring(z.read(info), etree.XMLParser(resolve_entities=False, no_network=True))
                        XSD[kind].assertValid(root)
                    except (etree.XMLSyntaxError, etree.DocumentInvalid, KeyError) as err:
                        log.error("%s/%s: %s", name, info.filename, err)
                        invalid += 1
                        continue
                    rows(root, kind, name, info.filename, into)
        except (OSError, zipfile.BadZipFile, IndexError) as err:
            log.error("%s: %s", name, err)
            continue
        names.append(name)
        good.append(path)
    with DB.transaction(), DB.cursor() as cur:
        for table, data in into.items():
            cur.execute(f"DELETE FROM {table} WHERE zip = ANY(%s)", (names,))
            with cur.copy(f"COPY {table} FROM STDIN") as c:
                for row in data:
                    c.write_row(row)
    for path in good:
        os.rename(path + ".part", path)
    return len(good), invalid


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("paramiko").setLevel(logging.WARNING)
    with open(sys.argv[1]) as f:
        config = json.load(f)
    with psycopg.connect(config["dsn"]) as db:
        db.execute(DDL)
    loaded = invalid = 0
    with ThreadPoolExecutor(8) as net, ProcessPoolExecutor(os.cpu_count(), initializer=begin, initargs=(config,)) as cpu:
        jobs = [job for found in [net.submit(new, s, config["inbox"]) for s in config["sources"]] for job in found.result()]
        loads, some = [], []
        for done in as_completed([net.submit(fetch, *job) for job in jobs]):
            if done.result():
                some.append(done.result())
            if len(some) == TOGETHER:
                loads.append(cpu.submit(load, some))
                some = []
        if some:
            loads.append(cpu.submit(load, some))
        for done in loads:
            zips, bad = done.result()
            loaded, invalid = loaded + zips, invalid + bad
    log.info("found %d, loaded %d zips, %d documents invalid", len(jobs), loaded, invalid)
    return 0 if loaded == len(jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
