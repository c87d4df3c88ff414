"""`brimline session purge` and `restore`: what a person and a program get, and what is asked."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from brimline.fast import paths
from brimline.session import recovery
from brimline.store import contents
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Outcome

LONG_AGO = 1_700_000_000
TEXT = "one line of what the tool printed\n" * 300
PROGRAM = "from brimline.cli.main import main; main()"


def filled(path: str, cwd: str) -> SessionBuilder:
    """A session with two old large results, a progress row and ten requests after them."""
    session = SessionBuilder(path, cwd=cwd)
    session.prompt("please build")
    for number in range(2):
        call_id = session.tool_call(40_000, command=f"make part{number}")
        asked = session.parent
        session.row("progress", data={"type": "bash_progress", "output": "x" * 500})
        session.parent = asked
        session.tool_result(call_id, f"{number} {TEXT}")
    for _ in range(10):
        session.reply(60_000)
    rest(path)
    return session


def rest(path: str) -> None:
    """Nobody has written to it for a while."""
    os.utime(path, (LONG_AGO, LONG_AGO))


def content(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


@pytest.fixture
def recorded(world: Path, project_dir: str) -> str:
    """The file of such a session, in the client's folder for the project."""
    return filled(f"{paths.project_transcripts(project_dir)}/abc.jsonl", project_dir).path


@pytest.mark.row("S3-48")
@pytest.mark.parametrize("flag", ["--analyze", "--dry-run"])
def test_looking_shows_figures_and_changes_nothing(
    brimline: Callable[..., Outcome], recorded: str, home_dir: str, flag: str
) -> None:
    """Disk and context are told apart; neither the file nor the store is touched."""
    before = content(recorded)

    seen = brimline("session", "purge", recorded, flag)

    assert seen.code == 0
    assert "strategy    items     disk        context" in seen.out
    table = {line.split()[0]: line for line in seen.out.splitlines() if line}
    assert table["old"].split()[1:4] == ["2", "20.5", "kB"]
    assert "tokens" in table["old"]
    assert table["copies"].split()[1:5] == ["2", "21.1", "kB", "none"]
    assert "(disk only)" in table["copies"]
    assert "(disk only)" in table["progress"]
    assert content(recorded) == before
    assert contents.blobs(home_dir) == []


def test_a_dry_run_lists_what_would_go_and_how_to_do_it(
    brimline: Callable[..., Outcome], recorded: str
) -> None:
    """Each result with its request, tool and source; the command repeats the options."""
    seen = brimline("session", "purge", recorded, "--dry-run", "--strategy", "old")

    assert "request 1: Bash make part0 (10.2 kB, old)" in seen.out
    assert f"To do it: brimline session purge {recorded} --strategy old" in seen.out


def test_without_a_terminal_it_wants_to_be_told(
    brimline: Callable[..., Outcome], recorded: str
) -> None:
    """The figures are shown, and nothing is changed."""
    before = content(recorded)

    seen = brimline("session", "purge", recorded)

    assert seen.code == 1
    assert "total" in seen.out
    assert "add --yes" in seen.err
    assert content(recorded) == before


def test_it_purges_and_restores(brimline: Callable[..., Outcome], recorded: str) -> None:
    """The way back is named, and leads back."""
    before = content(recorded)

    done = brimline("session", "purge", recorded, "--yes")
    after = content(recorded)
    back = brimline("session", "restore", recorded, "--yes")

    assert done.code == back.code == 0
    assert f"Undo:   brimline session restore {recorded}" in done.out
    assert b"[brimline stored " in after
    assert len(after) < len(before) / 2
    assert "byte for byte" in back.out
    assert content(recorded) == before


def test_a_second_purge_and_a_second_restore_say_that_there_is_nothing_to_do(
    brimline: Callable[..., Outcome], recorded: str
) -> None:
    """One sentence, and no failure."""
    brimline("session", "purge", recorded, "--yes")
    again = brimline("session", "purge", recorded, "--yes")
    brimline("session", "restore", recorded, "--yes")
    restored = brimline("session", "restore", recorded, "--yes")

    assert (again.code, restored.code) == (0, 0)
    assert again.out.endswith("Nothing to purge.\n")
    assert restored.out.startswith("Nothing to restore:")
    assert len(restored.out.splitlines()) == 1


def test_a_program_gets_one_document(brimline: Callable[..., Outcome], recorded: str) -> None:
    """Before and after, under the same keys; tokens are labelled as estimated."""
    size = len(content(recorded))
    looked = json.loads(brimline("session", "purge", recorded, "--dry-run", "--json").out)
    done = json.loads(brimline("session", "purge", recorded, "--yes", "--json").out)
    back = json.loads(brimline("session", "restore", recorded, "--yes", "--json").out)

    assert looked["applied"] is False
    assert done["applied"] is True
    assert looked["strategies"] == done["strategies"]
    assert done["bytes"] - done["bytes_after"] == done["disk_bytes_saved"]
    assert [change["strategy"] for change in looked["changes"]] == ["old", "old"]
    assert looked["strategies"]["copies"]["context_tokens_estimated"] == 0
    assert back | {"backup": None} == {
        "path": recorded,
        "rewrites": 1,
        "byte_exact": True,
        "problems": [],
        "applied": True,
        "bytes_after": size,
        "backup": None,
    }


def test_options_and_settings_say_what_is_large_and_recent(
    brimline: Callable[..., Outcome], recorded: str
) -> None:
    """The command line over the settings over the defaults."""

    def old(*arguments: str) -> int:
        told = json.loads(
            brimline("session", "purge", recorded, "--analyze", "--json", *arguments).out
        )
        found: int = told["strategies"]["old"]["items"]
        return found

    assert old() == 2
    assert old("--threshold", "20000") == 0
    assert old("--keep-recent", "11") == 1
    brimline("config", "set", "purge.threshold_bytes", "20000")
    assert old() == 0
    assert old("--threshold", "5000") == 2
    brimline("config", "set", "purge.threshold_bytes", "5000")
    brimline("config", "set", "purge.keep_requests", "12")
    assert old() == 0


@pytest.mark.row("S3-41")
def test_the_current_session_is_the_one_it_runs_in_else_the_newest(
    brimline: Callable[..., Outcome],
    recorded: str,
    project_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Files of subagents and backups are never meant."""
    folder = os.path.dirname(recorded)
    other = filled(f"{folder}/other.jsonl", project_dir).path
    for name in ("agent-1.jsonl", "abc.jsonl.backup.20260101_000000"):
        with open(f"{folder}/{name}", "wb") as file:
            file.write(content(recorded))
    os.utime(other, (LONG_AGO + 50, LONG_AGO + 50))

    def meant(*arguments: str) -> str:
        told = json.loads(brimline("session", "purge", "--analyze", "--json", *arguments).out)
        path: str = told["path"]
        return os.path.basename(path)

    assert meant() == meant("--current") == "other.jsonl"
    assert meant("--session", "abc") == "abc.jsonl"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "abc")
    assert meant("--current") == "abc.jsonl"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "unknown")
    assert meant("--current") == "other.jsonl"


@pytest.mark.row("S3-41")
def test_a_session_in_use_is_refused_with_the_reason(
    brimline: Callable[..., Outcome], recorded: str
) -> None:
    """With a code of its own, purge and restore alike."""
    done = brimline("session", "purge", recorded, "--yes", "--threshold", "20000")
    os.utime(recorded)
    before = content(recorded)

    looked = brimline("session", "purge", recorded, "--dry-run")
    refused = brimline("session", "purge", recorded, "--yes")
    back = brimline("session", "restore", recorded, "--yes")
    assert content(recorded) == before

    assert looked.code == 0
    assert "End it, then run: brimline session purge" in looked.out
    assert refused.code == 3
    assert "was written" in refused.err
    assert done.code == 0
    assert back.code == 3


def test_a_session_that_another_command_rewrites_is_refused(
    brimline: Callable[..., Outcome], recorded: str
) -> None:
    """With a code of its own."""
    with recovery.opened(os.path.realpath(recorded)):
        refused = brimline("session", "purge", recorded, "--yes")

    assert refused.code == 4
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["nowhere.jsonl"], 1, "nowhere.jsonl is not there"),
        (["."], 1, ". is no file"),
        (["{session}", "--current"], 2, "Give one of FILE, --session and --current."),
        (["--session", "no/such"], 1, "is no session id"),
        (["--session", "missing"], 1, "no session missing"),
        (["{session}", "--threshold", "0"], 2, "--threshold"),
        (["{session}", "--keep-recent", "-1"], 2, "--keep-recent"),
        (["{session}", "--strategy", "magic"], 2, "magic"),
        (["{text}"], 1, "is not a session's transcript"),
    ],
)
def test_bad_input_is_told_in_one_sentence(
    brimline: Callable[..., Outcome],
    recorded: str,
    world: Path,
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    """With a code other than 0, and never a traceback."""
    text = world / "notes.txt"
    text.write_text("just notes\n" * 10, encoding="utf-8")
    given = [word.format(session=recorded, text=text) for word in arguments]

    seen = brimline("session", "purge", *given)

    assert seen.code == code
    assert told in seen.err
    assert "Traceback" not in seen.err


@pytest.mark.parametrize("command", ["purge", "restore"])
def test_the_help_has_an_example_and_the_exit_codes(
    brimline: Callable[..., Outcome], command: str
) -> None:
    """What a script needs to know is there."""
    seen = brimline("session", command, "--help")

    assert "Example:" in seen.out
    for line in ("0  done, or nothing to do", "3  the session is in use", "4  another brimline"):
        assert line in seen.out


@pytest.mark.row("S3-48")
def test_repair_only_mends_and_purges_nothing(
    brimline: Callable[..., Outcome], recorded: str
) -> None:
    """The same as `session repair`: large results stay where they are."""
    with open(recorded, "ab") as file:
        file.write(b'{"type":"user","uuid":"x"}{"type":"user","uuid":"y"}\n')
    rest(recorded)

    looked = brimline("session", "purge", recorded, "--repair-only", "--dry-run")
    done = brimline("session", "purge", recorded, "--repair-only", "--yes")

    assert looked.code == done.code == 0
    assert content(recorded).endswith(b'{"type":"user","uuid":"x"}\n{"type":"user","uuid":"y"}\n')
    assert b"brimline stored" not in content(recorded)
    back = brimline("session", "restore", recorded, "--yes")
    assert back.code == 0
    assert content(recorded).endswith(b'{"type":"user","uuid":"x"}{"type":"user","uuid":"y"}\n')


def on_a_terminal(*arguments: str, answer: str) -> tuple[str, int]:
    """Run the command on a terminal and answer its question."""
    child = pexpect.spawn(
        sys.executable,
        ["-c", PROGRAM, *arguments],
        encoding="utf-8",
        timeout=30,
        dimensions=(40, 160),
    )
    child.expect(r"\[y/N\]")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    shown: str = child.before
    child.close()
    return shown, child.exitstatus


def test_on_a_terminal_it_asks(recorded: str) -> None:
    """No is the default; yes does it, and the same for the way back."""
    before = content(recorded)

    no, no_code = on_a_terminal("session", "purge", recorded, answer="")
    assert content(recorded) == before
    yes, yes_code = on_a_terminal("session", "purge", recorded, answer="y")
    assert content(recorded) != before
    _, back_code = on_a_terminal("session", "restore", recorded, answer="y")

    assert (no_code, yes_code, back_code) == (1, 0, 0)
    assert "Aborted" in no
    assert "Purged:" in yes
    assert content(recorded) == before


def test_a_link_to_a_session_is_followed(
    brimline: Callable[..., Outcome], recorded: str, world: Path
) -> None:
    """The link stays a link, and the session is the one that changes; a name may hold anything."""
    link = world / "a link – [1].jsonl"
    link.symlink_to(recorded)

    seen = brimline("session", "purge", str(link), "--yes")

    assert seen.code == 0
    assert link.is_symlink()
    assert b"brimline stored" in content(recorded)


def test_a_long_read_shows_a_bar_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once it has taken a second; anywhere else nothing is drawn."""
    from brimline.cli import session

    def run() -> str:
        with session._Bar("Reading", 1_000) as bar:
            bar._begun -= 2
            bar.update(400)
            bar.update(600)
        return capfd.readouterr().err

    assert run() == ""
    monkeypatch.setattr(os, "isatty", lambda _number: True)
    assert "Reading" in run()


def test_figures_can_be_read_by_json_alone(brimline: Callable[..., Outcome], recorded: str) -> None:
    """Nothing but the document is on standard output, also when it is refused."""
    seen: Any = brimline("session", "purge", recorded, "--json")

    assert (seen.code, seen.out) == (1, "")


@pytest.mark.parametrize("command", ["inspect", "purge", "repair", "restore", "backups list"])
@pytest.mark.parametrize("arguments", [("",), ("--session", "")])
def test_an_empty_name_is_wrong_usage(
    brimline: Callable[..., Outcome], recorded: str, command: str, arguments: tuple[str, ...]
) -> None:
    """A script whose variable is empty does not mean the newest session."""
    before = content(recorded)
    sure = ["--yes"] if command in ("purge", "repair", "restore") else []

    seen = brimline("session", *command.split(), *arguments, *sure)

    assert seen.code == 2
    assert content(recorded) == before


def test_an_inspection_says_that_the_measurement_is_older_than_the_purge(
    brimline: Callable[..., Outcome], world: Path
) -> None:
    """What was taken out since is subtracted, and told as an estimate; a restore ends that."""
    session = SessionBuilder(str(world / "s.jsonl"), now=LONG_AGO)
    session.prompt("please build")
    session.reply(20_000)
    call_id = session.tool_call(20_100, command="make")
    session.tool_result(call_id, TEXT)
    for number in range(12):
        session.reply(24_000 + number)
    rest(session.path)
    saved = json.loads(brimline("session", "purge", session.path, "--yes", "--json").out)
    tokens = saved["context_tokens_saved_estimated"]

    told = brimline("session", "inspect", session.path).out
    found = json.loads(brimline("session", "inspect", session.path, "--json").out)["context"]

    status = brimline("status", "--transcript", session.path).out
    assert f"Measured before a purge, which took out ~{tokens:,} tokens." in status
    assert tokens > 1_000
    assert f"before a purge, which took out ~{tokens:,}" in told
    assert found["measured_tokens"] == 24_011
    whole = 24_011 + found["since_tokens_estimated"] - tokens
    assert found["next_request_tokens_estimated"] == whole
    assert sum(kind["tokens_estimated"] for kind in found["kinds"]) == whole
    brimline("session", "restore", session.path, "--yes")
    assert "before a purge" not in brimline("session", "inspect", session.path).out


@pytest.mark.parametrize("option", [("--strategy", "old"), ("--threshold", "9")])
def test_a_repair_takes_no_options_of_a_purge(
    brimline: Callable[..., Outcome], recorded: str, option: tuple[str, ...]
) -> None:
    """Nothing is left out in silence."""
    seen = brimline("session", "purge", recorded, "--repair-only", "--yes", *option)

    assert seen.code == 2
    assert option[0] in seen.err


def test_a_backup_is_never_purged(brimline: Callable[..., Outcome], recorded: str) -> None:
    """It is what others are put back from."""
    brimline("session", "purge", recorded, "--yes")
    (backup,) = json.loads(brimline("session", "backups", "list", "--json").out)["backups"]
    rest(backup["path"])
    before = content(backup["path"])

    seen = brimline("session", "purge", backup["path"], "--yes")

    assert seen.code == 1
    assert "is a backup" in seen.err
    assert content(backup["path"]) == before


def test_settings_do_not_widen_what_was_asked_for(
    brimline: Callable[..., Outcome], recorded: str
) -> None:
    """A strategy for the disk alone leaves results alone; a threshold of 0 is one of 1."""
    brimline("config", "set", "purge.threshold_bytes", "0")

    seen = brimline("session", "purge", recorded, "--analyze", "--json", "--strategy", "copies")
    found = json.loads(seen.out)

    assert list(found["strategies"]) == ["copies"]
    assert found["threshold_bytes"] == 1


def test_a_session_is_found_by_the_only_beginning_of_its_id(
    brimline: Callable[..., Outcome], recorded: str, project_dir: str
) -> None:
    """Where several begin so, they are named."""
    seen = brimline("session", "purge", "--session", "ab", "--analyze", "--json")
    assert json.loads(seen.out)["path"] == recorded

    filled(f"{os.path.dirname(recorded)}/abd.jsonl", project_dir)
    seen = brimline("session", "purge", "--session", "ab", "--analyze")
    assert seen.code == 1
    assert "abc, abd" in seen.err


def test_a_hint_names_no_option_that_is_not_there(
    brimline: Callable[..., Outcome], world: Path, project_dir: str
) -> None:
    """`session` takes a FILE, not --transcript."""
    seen = brimline("session", "purge", "--analyze")

    assert seen.code == 1
    assert "--transcript" not in seen.err
