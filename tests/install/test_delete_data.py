"""`uninstall --delete-data`: everything of ours goes, nothing of anybody else's, sessions first."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner
from tests import older
from tests.session.recorded import plain

from brimline.cli.surface import program
from brimline.fast import paths
from brimline.testing import SessionBuilder, bash_event, event, statusline_event

from .conftest import ORIGINAL, Home

_PAGE = Path(__file__).parents[2] / "docs" / "developers" / "data-folder.md"
_LONG_AGO = (1_700_000_000, 1_700_000_000)
_SAMPLES = (
    f"<project>={'0' * 24} <id>=s1 <session>=s1 <pid>=12 <file>={'1' * 24} <call>={'2' * 24} "
    "<tokens>=1000000 <bytes>=17 <limit>=5h <bucket>=45 <band>=2 <format>=3 <n>=4 <xx>=ab "
    f"<62:digits>={'c' * 62} <folder>={'3' * 24} <time>=20260101_010101 "
    "<nanoseconds>=1794735559253000000"
)


def documented() -> list[str]:
    """The paths that the page on the data folder names, each with an example's name."""
    table = _PAGE.read_text().partition("\n| path |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    found = []
    for row in rows:
        first = ""
        for name in re.findall(r"`([^`]+)`", row):
            if name.endswith("/"):
                continue
            # `.old`, `-wal` and the like stand for the name before them with another ending.
            full = first + name if name[0] in ".-" and name != ".pin" else name
            full = re.sub(r"\.json$", ".pin", first) if name == ".pin" else full
            folder = first.rpartition("/")[0]
            full = f"{folder}/{full}" if "/" not in full and folder and row.count("/") > 1 else full
            first = first or full
            found.append(full)
    for sample, text in [pair.replace(":", " ").split("=") for pair in _SAMPLES.split()]:
        digits = "e" * 16 if sample == "<file>" else text
        found = [
            name.replace(sample, digits if name.startswith("install/") else text) for name in found
        ]
    return found


def test_everything_that_the_page_names_goes(home: Home) -> None:
    """Every file that any room writes; a new one gets a row there."""
    home.install()
    names = [name for name in documented() if not name.startswith(("backups/purges", "mod/"))]
    assert {"offload-judged", "errors.jsonl"} <= {name.rpartition("/")[2] for name in names}
    for name in names:
        path = Path(home.data, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text('[guard]\npreset = "off"\n' if name == "config.toml" else "{}")

    report = home.uninstall("--delete-data")

    assert (report["data_deleted"], report["left"]) == (True, [])
    assert not os.path.exists(home.data)


def test_what_hooks_left_goes(home: Home, session: SessionBuilder) -> None:
    """After a session with previews, a compaction and a status line."""
    home.install()
    session.tool_call(110_000)
    rows = "\n".join(f"line {number} of a long log" for number in range(2_000))
    start = event("SessionStart", session, source="startup")
    shown = bash_event(session, rows, permission_mode="bypassPermissions")
    for payload in (start, shown, event("PreCompact", session, trigger="auto")):
        name = payload["hook_event_name"]
        raw = json.dumps(payload).encode()
        subprocess.run(home.hook(name), input=raw, stdout=subprocess.DEVNULL, check=True)
    line = json.dumps(statusline_event(session, 200_000, 110_000)).encode()
    command = home.value["statusLine"]["command"]
    subprocess.run(["/bin/sh", "-c", command], input=line, capture_output=True, check=True)
    left = os.listdir(f"{home.data}/sessions/{session.session_id}")
    assert any(name.startswith("offload-") for name in left)

    assert home.uninstall()["data_deleted"] is False
    assert home.uninstall("--delete-data")["left"] == []
    assert not os.path.exists(home.data)


def test_what_is_not_ours_stays_and_is_named(home: Home, world: Path) -> None:
    """The user may have named a folder of their own; links are not followed."""
    home.install()
    theirs = [Path(home.data, name) for name in ("notes.txt", "sessions/s1/mine", "bin/tool")]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    Path(home.data, "config.toml").write_text("[other]\nprogram = 1\n")
    shutil.rmtree(Path(home.data, "policy"))
    Path(home.data, "policy").symlink_to(world)
    (world / ("0" * 24 + ".json")).write_text("{}")

    report = home.uninstall("--delete-data")

    assert report["left"] == ["bin", "config.toml", "notes.txt", "policy", "sessions"]
    assert all(path.exists() for path in theirs)
    assert (world / ("0" * 24 + ".json")).exists()
    text = home.run("uninstall", "--delete-data", "--yes").out
    assert "as brimline did not write it: bin, config.toml" in text


def purged_session(path: Path) -> tuple[SessionBuilder, bytes]:
    """A session that an older version purged in place, and what it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    session = SessionBuilder(str(path), session_id=path.stem)
    call = session.tool_call(10_000, "Bash", command="make")
    session.tool_result(call, "a line of the log\n" * 2_000)
    for number in range(12):
        session.reply(10_000 + number)
    before = path.read_bytes()
    os.utime(path, _LONG_AGO)
    purge = ["session", "purge", session.path, "--keep-recent", "0", "--yes", "--json"]
    done = CliRunner().invoke(program, purge)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    copy, record = Path(told["copy"]), f"{paths.data_dir()}/copies/{told['copy_session']}.json"
    keys = json.loads(Path(record).read_text())["keys"]
    older.rewrite(path, paths.data_dir(), plain(copy.read_bytes(), path.stem), keys)
    copy.unlink()
    os.unlink(record)
    return session, before


def restored(path: Path) -> bytes:
    """What the one copy beside it holds."""
    (copy,) = [each for each in path.parent.glob("*-*-*.jsonl") if each != path]
    return plain(copy.read_bytes(), path.stem) + b"\n"


def test_purged_sessions_are_restored_and_no_backup_is_left(home: Home, world: Path) -> None:
    """Their references would lead nowhere: two with one id, and one that was moved."""
    projects = home.config / "projects"
    one, before_one = purged_session(projects / "a" / "same.jsonl")
    other, before_other = purged_session(projects / "b" / "same.jsonl")
    moved, before_moved = purged_session(world / "moved.jsonl")
    (projects / "c").mkdir()
    os.rename(moved.path, projects / "c" / "moved.jsonl")
    gone, _ = purged_session(projects / "a" / "gone.jsonl")
    os.unlink(gone.path)

    done = home.run("uninstall", "--delete-data", "--yes")

    assert done.code == 0, done.err
    assert restored(Path(one.path)) == before_one
    assert restored(Path(other.path)) == before_other
    assert restored(projects / "c" / "moved.jsonl") == before_moved
    assert f"Restored in a copy: {Path(one.path).parent}/" in done.out
    assert "Deleted 3 backups beside sessions." in done.out
    assert not os.path.exists(home.data)
    # What is left is all that there is of a session, and is named.
    (left,) = [*world.rglob("*.backup.*"), *projects.rglob("*.brimline-*")]
    assert f"Left: {left}, all that there is of a session that is gone." in done.out


@pytest.mark.parametrize("answer", ["n", "y"])
def test_on_a_terminal_a_no_means_no(answer: str, home: Home) -> None:
    """One question that tells of everything; without a yes nothing is taken out or deleted."""
    home.install()
    path = home.config / "projects" / "a" / "s1.jsonl"
    _, whole = purged_session(path)
    purged = path.read_bytes()
    before = home.everything()
    code = "from brimline.cli.main import main; main()"
    terminal = pexpect.spawn(sys.executable, ["-c", code, "uninstall", "--delete-data"], timeout=60)
    terminal.expect("Take brimline out: ")
    terminal.expect("Restore 1 session that an older brimline rewrote, in copies, first.")
    terminal.expect("Delete 1 backup beside sessions.")
    terminal.expect(r"Go ahead\? \[y/N\]")
    terminal.sendline(answer)
    terminal.expect(pexpect.EOF)
    terminal.close()

    if answer == "n":
        assert terminal.exitstatus == 1
        assert home.everything() == before
    else:
        after = {str(home.settings): ORIGINAL, f"{home.config}/projects/a/s1.jsonl": purged}
        copies = home.everything().items() - after.items()
        assert [plain(data, "s1") + b"\n" for _, data in copies] == [whole]


@pytest.mark.parametrize("fault", ["changed", "rewritten", "record"])
def test_data_that_a_purged_session_still_needs_is_kept(
    world: Path, fault: str, home: Home
) -> None:
    """The file is named; other sessions are restored all the same."""
    hurt, _ = purged_session(world / "hurt.jsonl")
    _, before = purged_session(world / "sound.jsonl")
    path = Path(hurt.path)
    named = str(path)
    if fault == "changed":
        path.write_bytes(path.read_bytes().replace(b"[brimline", b"[ brimline"))
    elif fault == "rewritten":
        key = path.read_bytes().partition(b"sha256:")[2][:64]
        path.write_bytes(b'{"type":"user","uuid":"u","message":{"content":"sha256:%s"}}\n' % key)
    elif fault == "record":
        named = f"{home.data}/backups/purges/hurt/000001.jsonl"
        Path(named).write_text("not json")

    done = home.run("uninstall", "--delete-data", "--yes", "--json")

    assert done.code == 1
    assert done.report["data_deleted"] is False
    (copy,) = done.report["restored_sessions"]
    assert any(named in problem for problem in done.report["problems"])
    assert plain(Path(copy).read_bytes(), "sound") + b"\n" == before
    assert len(list(world.glob("sound.jsonl.backup.*"))) == 1, "none is added, none is taken"
