"""Copies of sessions, through the command: made, found again, undone, and let go of."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import Terminal
from tests.transcript.compacted import compact_inside

from brimline.bulk import contents
from brimline.bulk import stub as stubs
from brimline.cli.main import main
from brimline.fast import paths
from brimline.session import copying, hook

from .broken import BREAKS, sound_lines
from .recorded import LONG_AGO, Recorded, output, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., dict[str, Any]]

KILLS = 200
MADE_BEFORE = Path(__file__).with_name("made_by_56b1cf2.tar.gz")
LATE = b'{"type":"late"}\n'
THOUGHT = {"type": "thinking", "thinking": "t" * 2_200, "signature": "s"}
# A process that kills itself when it has called so many functions of the interpreter.
_PURGE = """
import os, signal, sys
from brimline.session import copying, purge
plan = purge.plan_purge(sys.argv[1], purge.Options(keep_requests=0), sys.argv[2])
left = most = int(sys.argv[3])
def count(frame, event, argument):
    global left
    left -= event == "c_call"
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(count)
purge.purge(sys.argv[1], plan, sys.argv[2])
sys.setprofile(None)
print(most - left)
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command; its JSON, or what it said was wrong."""

    def call(*arguments: str, typed: str | None = None) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["brimline", *arguments, "--json"])
        monkeypatch.setattr(sys, "stdin", StringIO() if typed is None else Terminal(typed))
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        if ended.value.code:
            return {"failed": " ".join(told.err.split())}
        found: dict[str, Any] = json.loads(told.out)
        return found

    return call


@pytest.fixture
def recorded(project_dir: str, home_dir: str) -> Recorded:
    """A session of the client with old bulk, thinking behind it, and what belongs to it."""
    projects = Path(paths.client_config_dir()) / "projects" / "-p"
    projects.mkdir(parents=True)
    session = Recorded(str(projects / "one.jsonl"), cwd=project_dir, home_dir=home_dir)
    session.model = "claude-fable-5-2"
    session.prompt("Make it pass.")
    for label in ("a", "b"):
        session.call(output(label))
    session.reply(40_000, THOUGHT, message_id="msg_behind")
    session.raw('{"type":"cost-state","sessionId":"one","totalCostUSD":1}\n')
    session.row("from-the-future", blob="x")
    session.talk(3)
    for place in ("file-history/one", "tasks/one", "projects/-p/one/subagents"):
        folder = Path(paths.client_config_dir()) / place
        folder.mkdir(parents=True)
        (folder / "agent-x.jsonl").write_text('{"type":"user","uuid":"u","sessionId":"one"}\n')
    os.utime(session.path, (LONG_AGO, LONG_AGO))
    return session


def purge(run: Run, session: Recorded) -> dict[str, Any]:
    return run("session", "purge", session.path, "--keep-recent", "0", "--yes")


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def bulk(path: str) -> int:
    """How many results are whole."""
    texts = [json.dumps(output(label), ensure_ascii=False) for label in ("a", "b")]
    return sum(f'"content":{text}' in Path(path).read_text() for text in texts)


@pytest.mark.row("S3-41", "S3-49", "S3-50", "S3-51", "S2-33")
def test_a_copy_is_a_branch_as_the_client_makes_them(run: Run, recorded: Recorded) -> None:
    """Named, titled, with what belongs to it; what is not changed stays, and the session does."""
    before = os.path.getmtime(recorded.path)
    original, said = recorded.data, recorded.rows

    told = purge(run, recorded)

    assert (recorded.data, os.path.getmtime(recorded.path)) == (original, before)
    copied = rows(told["copy"])
    assert Path(told["copy"]).name == told["copy_session"] + ".jsonl"
    assert {row["sessionId"] for row in copied if "sessionId" in row} == {told["copy_session"]}
    for row in copied:
        if "uuid" in row:
            assert row["forkedFrom"] == {"sessionId": "one", "messageUuid": row["uuid"]}
    assert copied[-1]["customTitle"] == "Make it pass. (purged)"
    assert copied[-2]["attachment"]["from"]["messageId"] == "msg_behind"
    names = [row["uuid"] for row in copied if "uuid" in row]
    assert names[:-1] == [row["uuid"] for row in said if "uuid" in row]
    assert not [row for row in copied if row["type"] == "cost-state"]
    config = Path(paths.client_config_dir())
    for place in ("file-history", "tasks", "projects/-p"):
        assert list((config / place / told["copy_session"]).rglob("agent-x.jsonl"))
    (agent,) = rows(f"{config}/projects/-p/{told['copy_session']}/subagents/agent-x.jsonl")
    assert agent["forkedFrom"] == {"sessionId": "one", "messageUuid": "u"}
    assert told["original_deleted_at"].startswith("2023-12-14")
    assert run("session", "purge", told["copy"], "--keep-recent", "0", "--yes")["applied"] is False

    again = purge(run, recorded)
    assert (again["copy"], again["copy_is_new"]) == (told["copy"], False)
    assert sorted(os.listdir(config / "projects" / "-p")) == sorted(
        [f"{told['copy_session']}.jsonl", told["copy_session"], "one", "one.jsonl"]
    )


@pytest.mark.parametrize("link", ["one/subagents/away", "one/subagents", "one", "../../tasks/one"])
def test_nothing_is_copied_that_a_link_beside_a_session_leads_to(
    link: str, run: Run, recorded: Recorded, tmp_path: Path
) -> None:
    """A session's file may come with a stranger's folder."""
    away, config = tmp_path / "away", Path(paths.client_config_dir())
    for folder in (away, away / "subagents"):
        folder.mkdir()
        (folder / "id_key").write_text("private")
    place = config / "projects" / "-p" / link
    shutil.rmtree(place, ignore_errors=True)
    place.symlink_to(away)

    told = purge(run, recorded)

    assert told["copy_is_new"]
    assert not list(config.rglob("id_key"))


def test_a_name_that_is_no_id_brings_nothing_along(run: Run, recorded: Recorded) -> None:
    """Of `...jsonl` it would be all that the client keeps."""
    hidden = shutil.copy(recorded.path, Path(recorded.path).with_name("...jsonl"))

    told = run("session", "purge", str(hidden), "--keep-recent", "0", "--yes")

    folders = Path(paths.client_config_dir()).rglob(told["copy_session"])
    assert told["copy_is_new"]
    assert not list(folders)


def test_half_a_line_is_not_copied_and_what_an_open_session_adds_neither(
    run: Run, recorded: Recorded, home_dir: str
) -> None:
    """The command says that it is open, and where the copy ends."""
    sessions = Path(paths.client_config_dir()) / "sessions"
    sessions.mkdir()
    entry = {"pid": os.getpid(), "sessionId": "one", "startedAt": 0}
    (sessions / "1.json").write_text(json.dumps(entry))
    last = recorded.rows[-1]["timestamp"]
    recorded.raw('{"type":"user","uuid":"half')

    told = purge(run, recorded)

    assert (told["is_open"], told["copy_ends_at"]) == (True, last)
    assert b'"half' not in Path(told["copy"]).read_bytes()
    assert recorded.data.endswith(b'"half')
    recorded.raw('"}\n')
    assert purge(run, recorded)["copy"] != told["copy"]


@pytest.mark.parametrize("name", ["open", "fsync", "rename"])
def test_a_disk_that_refuses_leaves_no_copy(
    run: Run, recorded: Recorded, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One sentence, nothing beside the session, and the session as it was."""
    original, there = recorded.data, sorted(os.listdir(os.path.dirname(recorded.path)))

    class Full:
        def __getattr__(self, asked: str) -> Any:
            return self.refuse if asked == name else getattr(os, asked)

        def refuse(self, *_: Any) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(copying, "system", Full())

    failed = purge(run, recorded)["failed"]

    assert "No space left on device); there is no copy, and the session is as it was" in failed
    assert recorded.data == original
    beside = {n for n in os.listdir(os.path.dirname(recorded.path)) if "." in n}
    assert beside == {n for n in there if "." in n}


@pytest.mark.parametrize("kills", [12, pytest.param(KILLS, marks=pytest.mark.long)])
def test_a_kill_at_any_step_leaves_the_session_whole(
    kills: int, recorded: Recorded, home_dir: str
) -> None:
    """Byte for byte; there is the copy or none, and housekeeping takes what was in the making."""
    original, folder = recorded.data, Path(recorded.path).parent
    event = SimpleNamespace(transcript=recorded.path)
    turn: Any = SimpleNamespace(event=event, home=home_dir)
    os.makedirs(f"{home_dir}/copies")

    def copies_after_kill(at: int) -> tuple[int, bytes]:
        command = [sys.executable, "-c", _PURGE, recorded.path, home_dir, str(at)]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE)
        assert recorded.data == original
        found = [path for path in folder.glob("*.jsonl") if path.name != "one.jsonl"]
        for path in found:
            assert rows(str(path))[-1]["type"] == "custom-title"
            path.unlink()
        for draft in folder.glob("*.brimline-copy"):
            os.utime(draft, (LONG_AGO, LONG_AGO))
        hook.tidy(turn, math.inf)
        assert not list(folder.glob("*.brimline-copy"))
        assert (done.returncode == -signal.SIGKILL) is not bool(done.stdout)
        return len(found), done.stdout

    made, calls = copies_after_kill(-1)
    counts = [copies_after_kill(int(calls) * step // kills)[0] for step in range(1, kills)]

    assert made == 1
    assert counts == sorted(counts)
    assert counts[0] == 0


def test_the_way_back_is_the_original_and_without_it_the_store(
    run: Run, recorded: Recorded
) -> None:
    """While it is there its name; then another copy, in which what was replaced is whole again."""
    told = purge(run, recorded)
    way = run("session", "restore", told["copy"])
    assert (way["original"], way["original_session"], way["applied"]) == (
        *(recorded.path, "one"),
        False,
    )
    texts = {row["uuid"]: row for row in recorded.rows if row["type"] == "user"}
    with open(told["copy"], "ab") as file:
        file.write(LATE)
    os.unlink(recorded.path)

    # What only the copy's record names is held, whatever its age.
    assert run("store", "prune", "--max-age-days", "0", "--yes")["removed"] == 0
    back = run("session", "restore", told["copy"], "--yes")

    assert (bulk(told["copy"]), bulk(back["copy"])) == (0, 2)
    found = {row["uuid"]: row for row in rows(back["copy"]) if row["type"] == "user"}
    assert {name: row["message"] for name, row in found.items()} == {
        name: row["message"] for name, row in texts.items()
    }
    assert LATE in Path(back["copy"]).read_bytes()
    assert run("session", "restore", back["copy"])["original"] == told["copy"]


def test_a_copy_ends_before_a_compaction_without_a_model(run: Run, recorded: Recorded) -> None:
    """All of what stood before it, and nothing of what came after; the session has both."""
    before = recorded.data
    compact_inside(recorded)
    recorded.prompt("And now?")
    whole = recorded.data

    told = run("session", "restore", recorded.path, "--before-compaction", "--yes")

    assert recorded.data == whole
    assert told["compacted_at"]
    cost = b'{"type":"cost-state","sessionId":"one","totalCostUSD":1}\n'
    assert plain(Path(told["copy"]).read_bytes()) == plain(before.replace(cost, b""))[:-1]
    assert rows(told["copy"])[-1]["customTitle"].endswith("(before its compaction)")
    none = run("session", "restore", told["copy"], "--before-compaction", "--yes")
    assert "has no compaction without a model" in none["failed"]


def test_a_repaired_copy_can_be_had_of_a_broken_session(
    run: Run, recorded: Recorded, world: Path
) -> None:
    """The broken one stays as it was, and restore names it."""
    recorded.data = broken = b"".join(BREAKS["dangling_parent"](sound_lines(world)))

    told = run("session", "repair", recorded.path, "--yes")

    assert (told["after"]["faults"], recorded.data) == ([], broken)
    assert rows(told["copy"])[-1]["customTitle"].endswith("(repaired)")
    assert run("session", "restore", told["copy"])["original_session"] == "one"
    assert run("session", "repair", told["copy"], "--yes")["changed"] is False


def test_what_an_older_version_rewrote_comes_back_in_a_copy(run: Run, world: Path) -> None:
    """Two purges and a repair by 56b1cf2, at a place that is not there any more."""
    with tarfile.open(MADE_BEFORE) as made:
        made.extractall(world, filter="data")
    folder = world / "upgrade"
    path, home_dir = folder / "session.jsonl", str(folder / "home")
    shutil.copytree(home_dir, paths.data_dir())
    purged = path.read_bytes()
    keys = set(re.findall(rb"(\d+) bytes[^:]*: (sha256:[0-9a-f]{64})", purged))
    assert len(keys) > 3
    for count, key in keys:
        assert len(contents.read_content(home_dir, key.decode())) == int(count)
    path.write_bytes(purged + LATE)
    original = plain((folder / "original").read_bytes())

    assert run("session", "restore", str(path), "--dry-run")["rewrites"] == 3
    told = run("session", "restore", str(path), "--yes")

    assert path.read_bytes() == purged + LATE
    restored = plain(Path(told["copy"]).read_bytes())
    assert restored.startswith(original)
    assert restored.endswith(LATE[:-1])
    assert run("session", "backups", str(path))["count"] == 3 + 1
    assert run("session", "backups", str(path), "--prune", "0", "--yes")["count"] == 3 + 1
    assert os.listdir(folder) == ["original", "home", os.path.basename(told["copy"])]


def test_originals_are_listed_and_go_when_the_user_says_so(run: Run, recorded: Recorded) -> None:
    """Never one that is open or went on since; bytes are told."""
    told = purge(run, recorded)
    size = os.path.getsize(recorded.path)
    (listed,) = run("session", "backups")["backups"]
    assert (listed["path"], listed["size_bytes"], listed["has_gone_on"]) == (
        *(recorded.path, size),
        False,
    )
    assert [copy["session"] for copy in listed["copies"]] == [told["copy_session"]]
    assert "add --yes" in run("session", "backups", "--prune", "0")["failed"]
    assert run("session", "backups", "--prune", "9", "--yes")["count"] == 0
    recorded.raw(LATE)
    assert run("session", "backups", "--prune", "0", "--yes")["count"] == 0
    recorded.data = recorded.data.removesuffix(LATE)

    gone = run("session", "backups", "--prune", "0", "--yes")

    assert (gone["count"], gone["size_bytes"]) == (1, size)
    assert not os.path.exists(recorded.path)
    assert run("session", "backups")["count"] == 0


def test_the_figures_of_a_copy_know_what_was_taken_out(run: Run, recorded: Recorded) -> None:
    """The last request had measured the original."""
    before = run("session", "inspect", recorded.path)["context"]
    told = purge(run, recorded)
    after = run("session", "inspect", told["copy"])["context"]

    assert before["purged_since_tokens_estimated"] == 0
    saved = told["context_tokens_saved_estimated"]
    assert after["purged_since_tokens_estimated"] == pytest.approx(saved, abs=2)
    assert after["next_request_tokens_estimated"] < before["next_request_tokens_estimated"]


def test_a_line_leads_back_without_the_store_while_the_original_is_there(
    run: Run, recorded: Recorded, home_dir: str
) -> None:
    """The original holds the text under its hash."""
    told = purge(run, recorded)
    shutil.rmtree(f"{home_dir}/store")
    key = re.findall(r"recall (sha256:[0-9a-f]{12})", Path(told["copy"]).read_text())[0]

    assert run("store", "get", key)["text"] == output("a")
    assert stubs.LINE in Path(told["copy"]).read_text()


@pytest.mark.parametrize(("flags", "typed"), [(["--yes", "--copies"], None), ([], "y\ny\n")])
def test_forgetting_a_session_names_its_copies_and_takes_them_along(
    flags: list[str], typed: str | None, run: Run, recorded: Recorded, home_dir: str
) -> None:
    """Where it is said or answered so, with what was copied for them; the session stays."""
    first = purge(run, recorded)
    forget = ["forget", "--session", "one"]
    kept = run(*forget, "--yes")
    assert run(*forget, typed="n\ny\n")["session_ids"] == ["one"]
    assert [copy["session"] for copy in kept["copies"]] == [first["copy_session"]]
    assert os.path.isfile(first["copy"])

    gone = run(*forget, *flags, typed=typed)

    assert sorted(gone["session_ids"]) == sorted(["one", first["copy_session"]])
    config = Path(paths.client_config_dir())
    assert not [path for path in config.rglob("*") if first["copy_session"] in str(path)]
    assert os.path.isfile(recorded.path)
    assert os.listdir(f"{home_dir}/copies") == []
