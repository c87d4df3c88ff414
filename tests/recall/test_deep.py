"""What memory's search takes in and leaves out, through the hooks and the command."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import brimline
from tests.hooks.processes import run_hook
from tests.recall.worlds import ANSWER, QUESTION, SESSION, recorded, talked

from brimline.carry import ledger, notes
from brimline.fast import paths
from brimline.hooks import entry
from brimline.recall import deep, hits, hot, stored
from brimline.recall.deep import _LARGEST_FILE
from brimline.recall.record import Record
from brimline.settings import clientsettings
from brimline.state import forgotten
from brimline.testing import event, text_block

if TYPE_CHECKING:
    from tests.cli.conftest import Run

    from brimline.testing import SessionBuilder

__all__ = ["brimline"]


def found(brimline: Run, query: str, *more: str) -> list[dict[str, Any]]:
    """The hits of a search."""
    hits: list[dict[str, Any]]
    hits = brimline("memory", "search", query, "--json", *more).document["hits"]
    return hits


def answered(home_dir: str, session: SessionBuilder, name: str, **fields: Any) -> bytes:
    """What the hooks say to an event, housekeeping included."""
    turn = entry.open_turn(name, json.dumps(event(name, session, **fields)).encode(), home_dir)
    assert turn is not None
    said = entry.answer_turn(turn)
    if name == "SessionStart":
        entry.tidy(turn, 60.0)
    return said


@pytest.mark.row("S4-09", "S4-28", "S2-01")
def test_what_was_said_is_found_with_all_that_is_known(project_dir: str, brimline: Run) -> None:
    """Messages, replies, summaries; nothing of tools, no secret."""
    talked(project_dir)
    assert brimline("memory", "index", "--json").document["added"] == 6
    assert brimline("memory", "index", "--json").document["added"] == 0

    best = found(brimline, "why was the store dropped")[0]
    assert (best["text"], best["source"], best["group"]) == (QUESTION, "user", SESSION)
    assert best["project"] == os.path.realpath(project_dir)
    assert best["at"] == pytest.approx(1_790_000_001)
    assert found(brimline, "server of its own")[0]["text"] == ANSWER
    assert found(brimline, "rotating pepper")[0]["source"] == "summary"
    asked = ("middleware", "quibbling", "token deadline")
    everything = json.dumps([found(brimline, words, "--limit", "50") for words in asked])
    assert "quibbling" not in everything
    assert "look at the middleware" in everything
    assert "ghp_" not in everything
    assert "[masked]" in everything


def test_what_was_said_between_calls_is_one_hit_with_rows(project_dir: str, brimline: Run) -> None:
    """Read while the turn goes on and again later; the answer still follows the question."""
    session = recorded(project_dir)
    session.prompt(QUESTION)
    lines = ("The walrus cache is cold.", "The walrus lock is stale.", "Now the walrus tests.")
    for line in lines[:2]:
        session.reply(5_000, text_block(line))
        session.tool_result(session.tool_call(5_000, command="ls"), "output")
    brimline("memory", "index")
    session.reply(5_000, text_block(lines[2]))
    session.tool_result(session.tool_call(5_000, command="ls"), "output")
    session.reply(6_000, text_block(ANSWER))
    brimline("memory", "index")

    (hit,) = found(brimline, "walrus lock")
    assert (hit["text"], hit["source"]) == ("\n".join(lines), "step")
    rows = map(json.loads, Path(session.path).read_text(encoding="utf-8").splitlines())
    said = {row["uuid"]: row["message"]["content"] for row in rows}
    assert [said[name][0]["text"] for name in hit["rows"]] == list(lines)
    answer = found(brimline, "server of its own")[0]
    assert (answer["text"], answer["rows"]) == (ANSWER, [])
    shown = brimline("memory", "show", answer["key"], "--json").document["entries"]
    assert [entry["text"] for entry in shown] == [QUESTION, ANSWER]
    brimline("forget", "--session", SESSION, "--yes")
    with contextlib.closing(sqlite3.connect(f"{paths.data_dir()}/search/1-1.sqlite3")) as base:
        names = "SELECT name FROM facts WHERE name GLOB 'rows:*'"
        assert base.execute(names).fetchall() == []


@pytest.mark.parametrize(
    "query",
    ["snorkwomble frabjous vorpal", "best recipe for chocolate cake", "is the Kafka chart ready?"],
)
def test_a_question_about_something_else_gets_no_hit(
    query: str, project_dir: str, brimline: Run
) -> None:
    """`No matches` is an answer, with and without JSON."""
    talked(project_dir)
    brimline("memory", "index")

    assert found(brimline, query) == []
    answer = brimline("memory", "search", query)
    assert answer.out.startswith("No matches")
    assert "--everywhere" in answer.err
    assert "--everywhere" not in brimline("memory", "search", query, "--everywhere").err


def test_until_all_is_read_every_answer_says_so(project_dir: str, brimline: Run) -> None:
    """How many of how many sessions, and how to read the rest; then no more."""
    talked(project_dir)
    brimline("memory", "index")
    for number in (2, 3):
        talked(project_dir, f"0a1b2c3d-0000-4000-8000-00000000000{number}")

    told = brimline("memory", "search", "signed cookies", "--json")
    reading = told.document["reading"]
    assert (reading["read"], reading["sessions"]) == (1, 3)
    assert reading["seconds"] >= 1
    said = "1 of 3 sessions read; `brimline memory index` reads the rest (about 1 s)"
    assert said in brimline("memory", "search", "nothing of this").err
    brimline("memory", "index")
    assert found(brimline, "signed cookies")
    assert brimline("memory", "search", "signed cookies", "--json").document["reading"] is None
    assert brimline("memory", "search", "signed cookies").err == ""


def test_a_hit_shows_lines_that_fit_and_its_key_opens_it(project_dir: str, brimline: Run) -> None:
    """With project and time before it; the whole of it comes with its neighbours."""
    session = talked(project_dir)
    before = "\n".join(f"A line about nothing, number {number}." for number in range(12))
    session.prompt(f"{before}\nThe walrus tables move on Friday.\nAnd then we rest.")
    session.reply(9_000, text_block("The walrus tables are moved."))
    brimline("memory", "index")

    shown = brimline("memory", "search", "walrus tables on Friday").out
    head, line = next(part for part in shown.split("\n\n") if "Friday" in part).split("\n")[:2]
    key, *about = head.split()
    assert line == "  The walrus tables move on Friday."
    assert re.fullmatch(r"m\d+", key)
    assert os.path.basename(project_dir) in about
    assert SESSION[:8] in about
    whole = brimline("memory", "show", key).out
    assert "  > A line about nothing, number 0." in whole
    assert "  > The walrus tables are moved." in whole
    entries = brimline("memory", "show", key, "--json").document["entries"]
    assert [entry["key"] == key for entry in entries] == [False, True, False]


@pytest.mark.parametrize("key", ["m999999", "999", "sha256:12", ""])
def test_a_key_that_opens_nothing_is_a_sentence(key: str, project_dir: str, brimline: Run) -> None:
    """Whether it never was one or is gone."""
    talked(project_dir)
    brimline("memory", "index")

    done = brimline("memory", "show", "--", key)

    assert (done.code, done.err.count("\n")) == (1, 1)


def test_refusals_answers_and_queued_messages_are_the_users_words_too(
    project_dir: str, brimline: Run
) -> None:
    """Each once; what was taken back, and what a program printed, is not among them."""
    session = talked(project_dir)
    call = session.tool_call(8_000, command="psql prod")
    refused = "The user doesn't want to proceed with this tool use."
    said = f"{refused} The tool use was rejected. To tell you how to proceed, the user said:\n"
    text = said + "Never touch the pelican database."
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}
    session.row("user", message={"content": [block]}, toolUseResult=f"Error: {text}")
    call = session.tool_call(8_000, "AskUserQuestion", questions=[])
    answer = 'User has answered your questions: "Which bird?"="The heron". You can now continue'
    session.tool_result(call, answer, toolUseResult={})
    call = session.tool_call(8_000, command="cat log")
    session.tool_result(call, said + "Delete the flamingo.")
    for operation, content in (
        ("enqueue", "Mind the ostrich."),
        ("enqueue", "Forget the toucan."),
        ("popAll", "Forget the toucan."),
        ("enqueue", "And the kiwi."),
    ):
        session.row("queue-operation", uuid=None, operation=operation, content=content)
    session.prompt("And the kiwi.")
    brimline("memory", "index")

    for words in ("pelican database", "heron", "ostrich", "kiwi"):
        hits = [hit for hit in found(brimline, words) if words.split()[0] in hit["text"]]
        assert [hit["source"] for hit in hits] == ["user"], words
    for words in ("flamingo", "toucan"):
        assert words not in json.dumps(found(brimline, words))


def test_a_topic_that_was_shortened_leaves_nothing_of_its_former_parts(
    project_dir: str, brimline: Run
) -> None:
    """A long one is several entries; what its last part said is gone with it."""
    topic = ("memory", "add", "deploys", "--type", "project", "--description", "How we deploy")
    brimline(*topic, "By tag.\n\n" + "Wait for the green light. " * 80 + "\n\nAsk the flamingo.")
    assert found(brimline, "flamingo")[0]["id"].endswith("#3")

    path = Path(clientsettings.memory_folder(project_dir), "deploys.md")
    path.write_text(path.read_text().partition("Wait")[0])
    brimline("memory", "index")

    assert "flamingo" not in json.dumps(found(brimline, "flamingo"))
    assert [hit["id"].rpartition("/")[2] for hit in found(brimline, "tag")] == ["deploys.md"]


def test_notes_checkpoints_and_topics_are_found_and_go_with_their_files(
    home_dir: str, project_dir: str, brimline: Run
) -> None:
    """A topic that was edited is found by its new words only."""
    session = talked(project_dir)
    call = session.tool_call(8_000, "Edit", file_path=f"{project_dir}/toucan.py")
    session.tool_result(call, "The file was updated.")
    notes.append_note(home_dir, SESSION, ledger.KEEP, "Never touch the ostrich tables.")
    brimline("carry", "checkpoint", "--session", SESSION)
    topic = ("memory", "add", "deploys", "--type", "project", "--description", "How we deploy")
    brimline(*topic, "By tag.\n\nAsk.\n\nWait.\n\nFrom the flamingo branch.")
    assert [hit["source"] for hit in found(brimline, "flamingo")] == ["topic"]  # at once
    shown = brimline("memory", "search", "flamingo").out
    assert ("From the flamingo branch." in shown, "type:" in shown) == (True, False)
    assert "8 entries added, 9 in all." in brimline("memory", "index", "--rebuild").out

    assert found(brimline, "ostrich")[0]["source"] == "note"
    assert found(brimline, "flamingo")[0]["source"] == "topic"
    assert found(brimline, "toucan")[0]["source"] == "checkpoint"
    path = Path(clientsettings.memory_folder(project_dir), "deploys.md")
    path.write_text(path.read_text().partition("By tag")[0] + "From the pelican branch.")
    brimline("memory", "index")
    assert found(brimline, "pelican")[0]["source"] == "topic"
    assert "flamingo" not in json.dumps(found(brimline, "flamingo"))
    path.unlink()
    brimline("memory", "index")
    assert "topic" not in {hit["source"] for hit in found(brimline, "pelican")}
    assert os.path.exists(session.path)


@pytest.mark.row("S2-19", "S2-47")
@pytest.mark.parametrize("heading", ["## Lessons", "10. **Lessons:**", "10. Lessons learned:"])
def test_a_compaction_is_remembered_as_soon_as_the_session_goes_on(
    heading: str, home_dir: str, project_dir: str, brimline: Run
) -> None:
    """Summary and messages are taken in by the housekeeping of the start that follows it."""
    session = recorded(project_dir)
    session.prompt("Keep the ibis protocol.")
    summary = f"The heron design was agreed.\n\n{heading}\n- The kestrel tests need a clock.\n"
    session.compact(150_000, summary=summary)
    answered(home_dir, session, "SessionStart", source="compact")
    os.unlink(session.path)

    assert found(brimline, "heron")[0]["source"] == "summary"
    lesson = found(brimline, "kestrel")[0]
    assert (lesson["source"], lesson["text"]) == ("lesson", "The kestrel tests need a clock.")
    assert found(brimline, "ibis protocol")[0]["source"] == "user"


def test_a_hook_of_its_own_takes_in_what_was_said(
    world: Path, home_dir: str, project_dir: str, brimline: Run
) -> None:
    """Though hooks see no installed packages."""
    session = talked(project_dir)
    started = event("SessionStart", session, source="startup")
    for _ in range(5):  # on a busy machine the first may have no time left for this
        done = run_hook(world, "SessionStart", started)
        assert (done.returncode, done.stderr) == (0, b"")
        assert not Path(home_dir, "errors.jsonl").exists()
        if hits := found(brimline, "why was the store dropped"):
            break
    assert hits[0]["text"] == QUESTION
    brimline("memory", "index")
    assert brimline("memory", "status", "--json").document["entries"]["user"] == 2


def test_housekeeping_reads_as_far_as_time_allows(home_dir: str, project_dir: str) -> None:
    """A little at least, each time, until all is there."""
    session = recorded(project_dir)
    for number in range(6):
        session.prompt(f"Message {number} of the condor.")
        session.reply(5_000, text_block(f"Reply {number}."))
    steps = 0
    while deep.index_sources(home_dir, project_dir, until=0.0).added:
        steps += 1
    assert steps > 2
    assert len(hits.open_or_make_memory(home_dir).search("condor", 50)) == 12


def test_a_damaged_search_is_made_again_from_its_sources(
    home_dir: str, project_dir: str, brimline: Run
) -> None:
    """And topics work without it all the time."""
    talked(project_dir)
    brimline("memory", "index")
    for path in Path(home_dir, "search").iterdir():
        path.write_bytes(b"broken" * 2_000)
    topic = ("memory", "add", "one", "--type", "user", "--description", "About", "Text.")
    assert brimline(*topic).code == 0
    assert brimline("memory", "list", "--json").document["topics"][0]["name"] == "one"
    brimline("memory", "index")
    assert found(brimline, "why was the store dropped")[0]["text"] == QUESTION


@pytest.mark.row("S4-04", "S2-22", "S4-08")
def test_the_index_is_given_where_the_client_has_no_memory_of_its_own(
    home_dir: str, project_dir: str, session: SessionBuilder
) -> None:
    """At a session's start, within what a hook may say, with a mark where it is cut."""
    folder = Path(paths.project_transcripts_dir(project_dir), "memory")
    folder.mkdir(parents=True)
    index = folder / "MEMORY.md"
    index.write_text("- [One](one.md) — about one\n", encoding="utf-8")
    settings = Path(paths.client_config_dir(), "settings.json")
    assert b"about one" not in answered(home_dir, session, "SessionStart", source="startup")

    settings.write_text('{"autoMemoryEnabled": false}', encoding="utf-8")
    told = answered(home_dir, session, "SessionStart", source="startup").decode()
    assert "about one" in told
    assert "[truncated]" not in told
    long = [f"- [Topic {n}](t{n}.md) — {'words ' * 20}" for n in range(250)]
    index.write_text("\n".join(long), encoding="utf-8")
    told = answered(home_dir, session, "SessionStart", source="clear").decode()
    assert "Topic 20]" in told
    assert "Topic 249]" not in told
    assert "[truncated]" in told
    assert len(json.loads(told)["hookSpecificOutput"]["additionalContext"]) <= 9_000


def test_what_was_forgotten_stays_out_until_it_is_said_again(home_dir: str) -> None:
    """A session, a project with its folders, or what is older than a moment; nothing else."""
    forgotten.note_forgotten(home_dir, 100.0, {"session": "s1"})
    forgotten.note_forgotten(home_dir, 100.0, {"project": "/p"})
    forgotten.note_forgotten(home_dir, 100.0, {"before": 50.0})
    refused = deep.Refused(home_dir, [])

    def is_out(at: float, group: str = "s2", project: str = "/q") -> bool:
        return refused(Record("r", "t", group, at, "user", project))

    assert is_out(100.0, "s1") is True
    assert is_out(100.0, "s1/notes") is True
    assert is_out(100.1, "s1") is False
    assert is_out(100.0, project="/p/below") is True
    assert is_out(100.0, project="/pq") is False
    assert is_out(49.9) is True
    assert is_out(50.0) is False


def test_what_was_said_at_an_unknown_time_stays_in_when_others_are_forgotten(
    home_dir: str,
) -> None:
    """Nobody asked for its end."""
    forgotten.note_forgotten(home_dir, 100.0, {"session": "s1"})

    assert not deep.Refused(home_dir, [])(Record("r", "t", "s2"))
    assert deep.Refused(home_dir, ["/ex"])(Record("r", "t", "s2", project="/ex/a"))


@pytest.mark.parametrize(
    ("project", "excluded"),
    [("/a/b", True), ("/a/b/c", True), ("/a/bc", False), ("/x/tmp", True), ("", False)],
)
def test_a_project_is_excluded_with_all_below_it(project: str, excluded: bool) -> None:
    """By its name, or by a pattern."""
    assert deep.is_excluded_project(project, ["/a/b", "*/tmp"]) is excluded


def test_each_source_is_taken_in_once(home_dir: str, project_dir: str) -> None:
    """Without any nothing is made; what is unread is known by its size."""
    assert deep.index_sources(home_dir, project_dir) == deep.Taken(0, 0)
    assert not os.path.exists(stored.search_folder(home_dir))
    session = talked(project_dir)
    assert deep.bytes_of_unread_sources(home_dir, project_dir) == os.path.getsize(session.path)
    sizes: list[int] = []

    assert deep.index_sources(home_dir, project_dir, progress=sizes.append) == deep.Taken(6, 0)
    assert sizes == [os.path.getsize(session.path)]
    assert deep.index_sources(home_dir, project_dir, progress=sizes.append) == deep.Taken(0, 0)
    assert len(sizes) == 1
    assert deep.bytes_of_unread_sources(home_dir, project_dir) == 0


def test_without_time_one_source_is_read_in_any_case(home_dir: str, project_dir: str) -> None:
    """And the others are counted."""
    for number in (1, 2, 3):
        recorded(project_dir, f"{SESSION[:-1]}{number}").prompt(QUESTION)

    assert deep.index_sources(home_dir, project_dir, until=0.0) == deep.Taken(1, 2)
    assert deep.index_sources(home_dir, project_dir) == deep.Taken(2, 0)


def test_a_row_without_a_time_has_none() -> None:
    """And a turn's entries say where it begins."""
    rows: list[tuple[int, dict[str, Any]]] = [
        (7, {"type": "user", "uuid": "u", "message": {"role": "user", "content": "Hello."}}),
        (
            9,
            {
                "type": "assistant",
                "uuid": "a",
                "message": {"role": "assistant", "content": [text_block("Yes?")]},
            },
        ),
    ]

    spoken = list(deep.entries_of_what_was_said(rows))

    assert [(at, entry.at, entry.source) for at, entry in spoken] == [
        (7, 0.0, "user"),
        (7, 0.0, "reply"),
    ]


def test_a_note_is_as_old_as_it_says(home_dir: str, project_dir: str) -> None:
    """Not as old as its file."""
    note = notes.append_note(home_dir, SESSION, ledger.KEEP, "Never touch the ostrich tables.")
    path = f"{paths.carry_session_dir(home_dir, SESSION)}/{notes.FILE_NAME}"
    os.utime(path, (1_000, 1_000))

    deep.index_sources(home_dir, project_dir)

    rows = hits.open_or_make_memory(home_dir).run_on_database(
        lambda base: base.execute("SELECT ref, source, session, at FROM entries").fetchall()
    )
    assert [row[:3] for row in rows] == [(f"note:{SESSION}:{note}", "note", f"{SESSION}/notes")]
    assert rows[0][3] > 1_000_000


def test_a_checkpoint_that_says_nothing_new_is_no_entry(home_dir: str, project_dir: str) -> None:
    """Messages and notes are taken in by themselves."""
    folder = paths.carry_session_dir(home_dir, SESSION)
    os.makedirs(folder)
    for text, added in (
        ("# Head\n\n## Messages of the user\nx\n\n## Notes\ny\n", 0),
        ("# Head\n\n## Notes\ny\n\n## Files\na.py\n", 1),
    ):
        with open(f"{folder}/checkpoint.md", "w", encoding="utf-8") as file:
            file.write(text)
        assert deep.index_sources(home_dir, project_dir) == deep.Taken(added, 0)


@pytest.mark.parametrize(("more", "texts"), [(0, 1), (1, 2)])
def test_what_was_said_between_calls_is_joined_up_to_a_parts_size(
    project_dir: str, home_dir: str, more: int, texts: int
) -> None:
    """What is longer together stands alone."""
    half = deep._PIECE_CHARACTERS // 2
    session = recorded(project_dir)
    session.prompt(QUESTION)
    for text in ("a" * half, "b" * (half + more)):
        session.reply(5_000, text_block(text))
        session.tool_result(session.tool_call(5_000, command="ls"), "output")
    deep.index_sources(home_dir, project_dir)

    asked = "SELECT text, before FROM entries WHERE source = 'step'"
    rows = hits.open_or_make_memory(home_dir).run_on_database(
        lambda base: base.execute(asked).fetchall()
    )
    assert len(rows) == texts
    assert {before for _, before in rows} == {QUESTION}


def test_a_topic_is_taken_in_by_itself(home_dir: str, project_dir: str) -> None:
    """Nothing else is read; the project is that of the sessions beside it."""
    talked(project_dir)
    here = Path(clientsettings.memory_folder(project_dir))
    other = Path(paths.client_config_dir(), "projects", "-home-dev-other", "memory")
    for folder in (here, other):
        hot.add_topic(
            str(folder), "deploys", "project", "How we deploy", f"From {folder.parent.name}."
        )
    deep.reindex_topic(home_dir, project_dir, str(here / "deploys.md"))
    deep.reindex_topic(home_dir, project_dir, str(other / "deploys.md"))
    asked = "SELECT ref, project, text, source FROM entries ORDER BY id"

    def rows() -> list[Any]:
        found: list[Any] = hits.open_or_make_memory(home_dir).run_on_database(
            lambda base: base.execute(asked).fetchall()
        )
        return found

    assert rows() == [
        (
            str(here / "deploys.md"),
            os.path.realpath(project_dir),
            f"deploys: How we deploy\nFrom {here.parent.name}.",
            "topic",
        ),
        (
            str(other / "deploys.md"),
            "",
            "deploys: How we deploy\nFrom -home-dev-other.",
            "topic",
        ),
    ]


def test_what_changed_last_is_read_first(home_dir: str, project_dir: str) -> None:
    """So that what was said a moment ago is found, however much there is."""
    for number in (1, 2, 3):
        session = recorded(project_dir, f"{SESSION[:-1]}{number}")
        session.prompt(f"Wish {number}")
        os.utime(session.path, (1_000 + (number * 7) % 10,) * 2)

    deep.index_sources(home_dir, project_dir)

    asked = "SELECT text FROM entries ORDER BY id"
    rows = hits.open_or_make_memory(home_dir).run_on_database(
        lambda base: base.execute(asked).fetchall()
    )
    assert rows == [("Wish 1",), ("Wish 2",), ("Wish 3",)]


def test_of_a_large_topic_the_beginning_is_read(home_dir: str, project_dir: str) -> None:
    """A checkpoint the same; what cannot be read is as if it were not there."""
    folder = Path(clientsettings.memory_folder(project_dir))
    folder.mkdir(parents=True)
    head = "---\nname: a\ndescription: b\ntype: user\n---\n\n"
    blanks = " " * ((_LARGEST_FILE) - len(head) - 3)
    (folder / "a.md").write_text(f"{head}x{blanks}yz!")

    assert deep.index_sources(home_dir, project_dir).added == deep._MOST_PIECES
    path = str(folder / "a.md")
    (source,) = [one for one in deep.find_sources(home_dir, project_dir) if one.path == path]
    assert source.records("", 0.0)[0][0].text.endswith(" yz")
    assert source.stamp == f"{_LARGEST_FILE + 1}:{os.stat(path).st_mtime_ns}"
    assert source.size_bytes == _LARGEST_FILE + 1


def test_a_file_that_was_rewritten_is_read_from_its_start(home_dir: str, project_dir: str) -> None:
    """It is known by what stands before the place that was reached: the end of a line."""
    session = recorded(project_dir)
    for text in ("First wish", "Second wish"):
        session.prompt(text)
    whole = Path(session.path).read_bytes()
    place = whole.index(b"\n") + 1

    def texts(start: int) -> list[str]:
        return [one.text for one in deep._new_session_entries(session.path, start, float("inf"))[0]]

    assert texts(0) == ["First wish", "Second wish"]
    assert texts(place) == ["Second wish"]
    assert texts(place - 1) == texts(place + 1) == ["First wish", "Second wish"]
    entries, offset, is_whole = deep._new_session_entries(session.path, 0, float("inf"))
    assert (offset, is_whole) == (place, True)
    assert {(one.session, one.project) for one in entries} == {
        (SESSION, os.path.realpath(project_dir))
    }


def test_what_a_file_begins_with_behind_a_boundary_is_its_own_unless_another_has_it(
    session: SessionBuilder,
) -> None:
    """A fork begins with copies of what was said in the session that it is from."""
    session.prompt("Before it")
    session.compact(150_000)
    session.prompt("After it")
    lines = Path(session.path).read_text(encoding="utf-8").splitlines()
    before, boundary, *_, after = [(at, json.loads(line)) for at, line in enumerate(lines)]
    rows = [boundary, before, after]

    own = [entry.text for _, entry in deep.entries_of_what_was_said(rows)]
    fork = [entry.text for _, entry in deep.entries_of_what_was_said(rows, goes_on=True)]

    assert (own, fork) == (["Before it", "After it"], ["After it"])


def test_other_projects_are_searched_on_request_and_excluded_ones_never_taken_in(
    world: Path, project_dir: str, brimline: Run
) -> None:
    """What was taken in before a folder was excluded goes, and comes back when it no longer is."""
    talked(project_dir)
    other, secret = (world / "other"), (world / "secret" / "inner")
    for number, folder in enumerate((other, secret)):
        folder.mkdir(parents=True)
        session = recorded(str(folder), f"0a1b2c3d-0000-4000-8000-00000000001{number}")
        session.prompt(f"The {folder.name} albatross.")
    brimline("memory", "index")
    assert "albatross" not in json.dumps(found(brimline, "albatross"))
    assert len(found(brimline, "albatross", "--everywhere", "--limit", "2")) == 2

    brimline("config", "set", "memory.exclude", str((world / "sec*").resolve()))
    brimline("memory", "index")
    texts = [hit["text"] for hit in found(brimline, "albatross", "--everywhere")]
    assert "The other albatross." in texts
    assert "The inner albatross." not in texts
    brimline("memory", "index", "--rebuild")
    assert "The inner albatross." not in json.dumps(found(brimline, "inner", "--everywhere"))

    brimline("config", "set", "memory.exclude", "/")  # the documented way to switch it off
    brimline("memory", "index")
    assert brimline("memory", "status", "--json").document["entries"] == {}
    brimline("config", "unset", "memory.exclude")
    brimline("memory", "index")
    assert len(found(brimline, "albatross", "--everywhere", "--limit", "2")) == 2
