"""A tour of the API with a client that others' generator has made of its document.

What the document does not know ends it: an answer of another status is an error of the
client, and one of another form can't be read.
"""

import os

from tributary_client import AuthenticatedClient
from tributary_client.api.default import (
    ask_question, ask_recipe, ask_sql, ask_why, count_changed, count_findings, delete_question, find_lineage, get_centre, get_dead_letter, get_document, get_file,
    get_file_lineage, get_lineage, get_pace, get_replay, get_session, get_source, get_source_standing, get_status, hold_file, keep_question, list_centres,
    list_changes, list_dead_letters, list_documents, list_failures, list_files, list_findings, list_questions, list_recipes, list_replays, list_sessions,
    list_source_errors, list_source_polls, list_source_revisions, list_sources, release_file, rename_question,
)
from tributary_client.models import ErrorModel, GetDocumentAction, GetFileAction, GetFileLineageAction, HoldFileAction, QuestionBody, QuestionBodyKind, ReleaseFileAction, RenamedBody, StatementBody, StatementBodyStore, Wish

client = AuthenticatedClient(base_url=os.environ["TRIBUTARY_URL"], token=os.environ["TRIBUTARY_TOKEN"], raise_on_unexpected_status=True, timeout=120.0)
name = os.environ["TRIBUTARY_FILE"]
asked = 0


def ask(operation, *args, status=200, **given):
    """Ask one operation; what it answers must be of the status, and of its schema."""
    global asked
    asked += 1
    answer = operation.sync_detailed(*args, client=client, **given)
    assert answer.status_code == status, f"{operation.__name__}: {answer.status_code} {answer.content!r}"
    assert answer.parsed is not None and (status == 200) != isinstance(answer.parsed, ErrorModel), f"{operation.__name__}: {answer.content!r}"
    return answer.parsed


assert ask(get_status).files, "nothing stands anywhere"
ask(get_status, as_of="2026-11-21T10:00:08.5Z")
ask(get_pace)
ask(list_failures)

after, files = {}, []
while True:
    page = ask(list_files, limit="1", sort="name", **after)
    files += page.rows
    if not page.next_:
        break
    after = {"after": page.next_}
assert name in [f.file for f in files], "the file is not listed"
for f in files:
    assert ask(get_file, GetFileAction(f.action), f.file).file == f.file
for d in ask(list_documents).rows:
    ask(get_document, GetDocumentAction(d.action), d.file, entry=d.document)
missing = ask(get_file, GetFileAction.ADD, "nothing.zip", status=404)
assert missing.type_ == "/problems/no_such_file", missing

for c in ask(list_centres):
    ask(get_centre, c.centre)
for s in ask(list_sources):
    ask(get_source, s.source)
    ask(list_source_polls, s.source)
    ask(list_source_errors, s.source)
    ask(list_source_revisions, s.source)
ask(get_source_standing, "harwell")
for s in ask(list_sessions).rows:
    ask(get_session, s.number)
for letter in ask(list_dead_letters):
    ask(get_dead_letter, letter.id)
for r in ask(list_replays):
    ask(get_replay, str(r.replay))
for f in ask(count_findings):
    ask(list_findings, f.centre, f.check)

for d in ask(get_file_lineage, GetFileLineageAction.ADD, name, status=404) and []:
    pass
ask(get_lineage, 3, 1, status=404)
ask(find_lineage, of=["3/1"], status=404)
assert ask(ask_why, path=name).answers[0].verdict
ask(count_changed, since="2026-11-21")
ask(list_changes, from_="2026-11-21T10:00:08.5Z", to="2026-11-21T10:00:16.5Z")

for r in ask(list_recipes):
    ask(ask_recipe, r.name)
assert ask(ask_sql, body=StatementBody(store=StatementBodyStore.TRACKER, statement="SELECT 1 AS one")).rows == [["1"]]

kept = ask(keep_question, body=QuestionBody(name="toured", kind=QuestionBodyKind.FILES, asks="sort=name"))
assert [f.file for f in ask(ask_question, kept.number).files.rows] == [f.file for f in files]
assert ask(rename_question, kept.number, body=RenamedBody(name="seen")).name == "seen"
assert [q.name for q in ask(list_questions)] == ["seen"]
ask(delete_question, kept.number)
ask(ask_question, kept.number, status=404)

refused = ask(hold_file, HoldFileAction.ADD, "nothing.zip", body=Wish(dry_run=True), status=409)
assert refused.type_ == "/problems/order_refused", refused
ask(release_file, ReleaseFileAction.ADD, name, body=Wish(dry_run=True), status=409)
print(f"{asked} requests of {len(files)} files and more, all answered as the document says")
