"""`brimline session`: inspect, purge, repair and restore as a person meets them."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from brimline import output
from brimline.bulk import contents
from brimline.fast import paths
from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Refused, Run

LONG_AGO = 1_700_000_000
TEXT = "one line of what the tool printed\n" * 300
INSPECTION = (
    "session_id transcript size_bytes last_at turns requests compactions peak_tokens lines "
    "first_at models records occupancy_tokens context "
    "resume_tokens_estimated resume_undoes_a_compaction lost_thinking cleared largest_results "
    "faults notes"
)


def in_project(project_dir: str, name: str) -> SessionBuilder:
    """An empty session in the client's folder for a project."""
    path = f"{paths.project_transcripts_dir(project_dir)}/{name}.jsonl"
    return SessionBuilder(path, session_id=name, cwd=project_dir)


def filled(project_dir: str, name: str) -> str:
    """A session with two old large results, progress rows, and ten requests for two calls each."""
    session = in_project(project_dir, name)
    session.prompt("please build")
    for number in range(2):
        call_id = session.tool_call(40_000, command=f"make part{number}")
        asked = session.parent
        session.row("progress", data={"type": "bash_progress", "output": "x" * 500})
        session.parent = asked
        session.tool_result(call_id, f"{number} {TEXT}")
    for number in range(10):
        calls = [
            {"type": "tool_use", "id": f"toolu_{number}{n}", "name": "Bash", "input": {}}
            for n in "ab"
        ]
        session.reply(60_000, *calls)
        for call in calls:
            session.tool_result(str(call["id"]), "ok")
    return rested(session.path)


def rested(path: str) -> str:
    """Nobody has written to it for a while."""
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def content(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


@pytest.fixture
def recorded(project_dir: str) -> str:
    """The file of such a session."""
    return filled(project_dir, "abc")


@pytest.fixture
def working(session: SessionBuilder) -> SessionBuilder:
    """A session that read one file twice."""
    session.prompt("look around")
    for tokens in (30_000, 34_000):
        call = session.tool_call(tokens, "Read", file_path="/home/dev/project/big.py")
        session.tool_result(call, "line\n" * 2_000)
    session.reply(38_000, text_block("Done."))
    return session


@pytest.fixture
def broken(session: SessionBuilder) -> str:
    """A session with a lost parent, at rest."""
    session.prompt("first")
    session.reply(20_000, text_block("FIRST-END"))
    session.parent = "gone"
    session.prompt("second")
    return rested(session.path)


def test_an_inspection_has_its_keys_and_its_sums_are_right(
    working: SessionBuilder, brimline: Run
) -> None:
    """Tokens add up to the last request; results and reads are named."""
    found = brimline("session", "inspect", working.path, "--json").document

    assert " ".join(found) == INSPECTION
    context = found["context"]
    assert sum(one["tokens"] for one in context["parts"]) == context["occupancy_tokens"] == 38_000
    composed = brimline("status", "--composition", "--session", working.path, "--json").document
    assert composed["parts"] == context["parts"]
    assert found["occupancy_tokens"] == [30_000, 34_000, 38_000]
    assert found["largest_results"][0] == {
        "bytes": 10_000,
        "tool": "Read",
        "source": "/home/dev/project/big.py",
        "request": 1,
        "in_context": True,
        "moved_out": False,
        "cut_by_client": False,
    }
    (again,) = context["repeated_reads"]
    assert again["reads"] == 2
    assert again["tokens_repeated"] > 1_000


def test_an_empty_session_has_nothing_in_it(session: SessionBuilder, brimline: Run) -> None:
    """Zeros and unknowns, no failure."""
    session.raw(b"")

    found = brimline("session", "inspect", session.path, "--json").document

    assert (found["size_bytes"], found["requests"], found["peak_tokens"]) == (0, 0, None)
    page = brimline("session", "inspect", session.path).out
    assert "unknown to unknown" in page
    assert "no request has" in page


@pytest.mark.row("S3-48")
def test_looking_shows_figures_and_changes_nothing(
    brimline: Run, recorded: str, home_dir: str
) -> None:
    """Disk and context are told apart; neither the file nor the store is touched."""
    before = content(recorded)

    found = brimline("session", "purge", recorded, "--dry-run", "--json").document

    assert (found["results"], found["applied"]) == (2, False)
    assert found["context_tokens_saved_estimated"] > 1_000
    assert len(found["changes"]) == 2
    assert content(recorded) == before
    assert contents.list_blobs(home_dir) == []


@pytest.mark.parametrize("words", ["inspect", "purge --dry-run"])
def test_a_long_path_keeps_its_end(brimline: Run, project_dir: str, words: str) -> None:
    """A command keeps its beginning."""
    session = in_project(project_dir, "long")
    path = "/home/dev/" + "a-very-long-folder/" * 6 + "importer.py"
    session.tool_result(session.tool_call(20_000, "Read", file_path=path), TEXT)
    session.tool_result(session.tool_call(30_000, command="/bin/make " + "x" * 99), TEXT + "!")
    for _ in range(15):
        session.tool_result(session.tool_call(60_000), "ok")

    told = brimline("session", *words.split(), rested(session.path)).out

    assert re.search(r"Read +….*/importer\.py\n", told)
    assert re.search(r"Bash +/bin/make x+…\n", told)


def test_it_purges_into_a_copy(brimline: Run, recorded: str) -> None:
    """The command to go on with is named, and the way back; a copy has nothing more to purge."""
    before = content(recorded)

    done = brimline("session", "purge", recorded, "--yes")

    copy = re.findall(r"Copy: +(\S+)\n", done.out)[0]
    session = os.path.basename(copy).removesuffix(".jsonl")
    assert f"Go on:  claude --resume {session}\n" in done.out
    sizes = (output.size_text(len(content(path))) for path in (copy, recorded))
    assert "Purged: the copy is {} ({} before)".format(*sizes) in done.out
    told = " ".join(done.out.split())
    assert "the client deletes it on 2023-12-14; after that `brimline session restore`" in told
    assert "is open" not in told
    assert brimline("session", "purge", copy, "--yes").out.endswith("Nothing to purge.\n")
    back = brimline("session", "restore", copy).out
    assert back.endswith("\n  claude --resume abc\n")
    assert "unless it is used" in back
    assert "had been made before" in brimline("session", "purge", recorded, "--yes").out
    no_more = brimline("session", "restore", recorded, "--yes")
    assert (no_more.code, no_more.out[:19]) == (0, "Nothing to restore:")
    assert content(recorded) == before
    listed = brimline("session", "backups").out
    assert f"{recorded}\n" in listed
    assert f"purged: claude --resume {session}\n" in listed
    os.unlink(recorded)
    assert "whose original was deleted" in brimline("session", "restore", copy, "--dry-run").out


def test_options_say_what_is_large_and_recent(brimline: Run, recorded: str) -> None:
    """Without them those of a compaction without a model."""

    def old(*arguments: str) -> int:
        words = ["session", "purge", recorded, "--dry-run", "--json", *arguments]
        found: int = brimline(*words).document["results"]
        return found

    assert old() == 2
    assert old("--threshold", "20000") == 0
    assert old("--keep-recent", "11") == 1
    assert old("--keep-recent", "12") == 0


def test_results_named_by_hand_go_and_no_others(brimline: Run, project_dir: str) -> None:
    """By request or by key, also what the rule would keep; what was not named stays."""
    session = in_project(project_dir, "byhand")
    session.prompt("look")
    texts = [f"{number} says {TEXT}" for number in range(4)]
    for number, text in enumerate(texts):
        session.tool_result(session.tool_call(40_000, command=f"cat {number}"), text)
    shown = ["session", "purge", rested(session.path), "--dry-run", "--json"]

    assert brimline(*shown).document["results"] == 0
    named = brimline(*shown, "--request", "2:3").document
    assert [one["source"] for one in named["changes"]] == ["cat 1", "cat 2"]
    last = brimline(*shown, "--request", "-1").document["changes"][0]
    assert last["source"] == "cat 3"
    listed = brimline(*shown[:-1], "--request", "1:").out
    assert f"request 4  10.2 kB  {last['key'][7:19]}  Bash  cat 3" in listed
    done = brimline(*shown[:3], "--result", last["key"][:20], "--request", "1", "--yes", "--json")
    copied = content(str(done.document["copy"])).decode()
    assert [copied.count(json.dumps(text)) for text in texts] == [1, 2, 2, 1]  # the client's own
    assert brimline("store", "get", last["key"]).out == texts[3]


@pytest.mark.row("S3-41")
def test_the_current_session_is_the_one_it_runs_in_else_the_newest(
    brimline: Run, recorded: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of subagents and backups are never meant; the start of an id is enough."""
    other = filled(project_dir, "other")
    for name in ("agent-1.jsonl", "abc.jsonl.backup.20260101_000000"):
        with open(f"{os.path.dirname(recorded)}/{name}", "wb") as file:
            file.write(content(recorded))
    os.utime(other, (LONG_AGO + 50, LONG_AGO + 50))

    def meant(*arguments: str) -> str:
        told = brimline("session", "purge", "--dry-run", "--json", *arguments).document
        return os.path.basename(str(told["path"]))

    assert meant() == "other.jsonl"
    assert meant("--session", "abc") == meant("--session", "ab") == "abc.jsonl"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "abc")
    assert meant() == "abc.jsonl"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "unknown")
    assert meant() == "other.jsonl"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("inspect nowhere.jsonl", 1, "cannot read nowhere.jsonl: No such file"),
        ("purge .", 1, "cannot read .:"),
        ("repair {text}", 1, "is not a session's transcript"),
        ("purge {session} --request 90", 1, "there is no request 90: the last one is 12"),
        ("purge {session} --request x", 1, "'x' is not a range of requests"),
        ("purge {session} --result 0123456789ab", 1, "has the key '0123456789ab'"),
        ("purge x.jsonl --session x", 2, "as SESSION or by --session, not by both"),
        ("purge --session no/such", 1, "cannot read no/such"),
        ("restore --session missing", 1, "no session 'missing'"),
        ("purge --session ab", 1, "2 sessions begin with 'ab'"),
        ("purge --threshold 0", 2, "--threshold"),
        ("purge --keep-recent -1", 2, "--keep-recent"),
        ("backups --prune -1", 2, "--prune"),
    ],
)
def test_bad_input_is_told_in_one_sentence(
    words: str, code: int, told: str, recorded: str, world: Path, project_dir: str, refused: Refused
) -> None:
    """With a code other than 0, and never a traceback."""
    filled(project_dir, "abd")
    text = world / "notes.txt"
    text.write_text("just notes\n" * 10, encoding="utf-8")

    given = words.format(text=text, session=recorded).split()

    assert told in refused("session", *given, code=code)


@pytest.mark.parametrize("command", ["inspect", "purge", "repair", "restore", "backups"])
@pytest.mark.parametrize("arguments", [("",), ("--session", "")])
def test_an_empty_name_is_wrong_usage(
    recorded: str, command: str, arguments: tuple[str, ...], refused: Refused
) -> None:
    """A script whose variable is empty does not mean the newest session."""
    sure = ["--yes"] if command in ("purge", "repair", "restore") else []

    assert "session" in refused("session", command, *arguments, *sure, code=2)


@pytest.mark.row("S3-48")
def test_a_repair_is_told_before_and_after(brimline: Run, broken: str, home_dir: str) -> None:
    """What would be mended, without a trace; then what was, in a copy."""
    before = content(broken)
    looked = brimline("session", "repair", broken, "--dry-run")
    assert "Would mend 1 fault; nothing was changed." in looked.out
    assert not os.path.exists(home_dir)

    done = brimline("session", "repair", broken, "--yes")

    for words in ("1 dangling_parent", "Mended 1 fault, in a copy.", "After: 0 faults, sound"):
        assert words in done.out
    assert content(broken) == before
    copy = re.findall(r"Copy: +(\S+)\n", done.out)[0]
    second = brimline("session", "repair", copy, "--yes", "--json").document
    assert second["before"]["faults"] == second["mended"] == []
    assert second["changed"] is False
    assert "Sound: no faults." in brimline("session", "repair", copy).out


def test_nothing_is_done_without_consent(brimline: Run, recorded: str, broken: str) -> None:
    """Without a terminal and --yes, and after a no; a yes does it, after the figures."""
    for command, path in (("purge", recorded), ("repair", broken)):
        before = content(path)
        alone = brimline("session", command, path)
        assert alone.code == 1
        assert "add --yes" in alone.err
        assert brimline("session", command, path, "--json").out == ""
        there = os.listdir(os.path.dirname(path))
        no = brimline("session", command, path, typed="n\n")
        assert (no.code, os.listdir(os.path.dirname(path))) == (1, there)
        assert "nothing was changed" in no.err
        assert brimline("session", command, path, typed="y\n").code == 0
        assert len(os.listdir(os.path.dirname(path))) == len(there) + 1
        assert content(path) == before


def test_a_link_to_a_session_is_followed(brimline: Run, recorded: str, world: Path) -> None:
    """The link stays a link, and the copy is beside the session; a name may hold anything."""
    link = world / "a link – [1].jsonl"
    link.symlink_to(recorded)

    assert brimline("session", "purge", str(link), "--yes").code == 0
    assert link.is_symlink()
    assert len(os.listdir(os.path.dirname(recorded))) == 2


def test_an_inspection_says_that_the_measurement_is_older_than_the_purge(
    brimline: Run, world: Path
) -> None:
    """What was taken out since is subtracted, and told as an estimate."""
    session = SessionBuilder(str(world / "s.jsonl"), now=LONG_AGO)
    session.prompt("please build")
    session.reply(20_000)
    session.tool_result(session.tool_call(20_100, command="make"), TEXT)
    for number in range(12):
        session.reply(24_000 + number)
    rested(session.path)
    words = ("--keep-recent", "10", "--yes", "--json")
    saved = brimline("session", "purge", session.path, *words).document
    tokens = saved["context_tokens_saved_estimated"]

    told = " ".join(brimline("session", "inspect", saved["copy"]).out.split())
    found = json.loads(brimline("session", "inspect", saved["copy"], "--json").out)["context"]

    status = brimline("status", "--session", saved["copy"]).out
    assert f"Measured before a purge, which took out ~{tokens:,} tokens." in status
    assert tokens > 1_000
    assert f"before a purge, which took out ~{tokens:,}" in told
    whole = 24_011 + found["since_tokens_estimated"] - tokens
    assert found["next_request_tokens_estimated"] == whole
    assert "before a purge" not in brimline("session", "inspect", session.path).out
