"""A result through the whole room: what is swapped, stored, marked and refused."""

from __future__ import annotations

from typing import Any

import pytest

from brimline import fastio, settings
from brimline.offload import intercept
from brimline.offload.calls import Call
from brimline.state.session import SessionState
from brimline.store import read, stub

LINES = "\n".join(f"line {number} of the output" for number in range(2_000))
BASH = {"stdout": LINES, "stderr": "", "interrupted": False}


def values(**changes: Any) -> dict[str, Any]:
    """The settings in force."""
    return settings.defaults() | changes


def bash(command: str = "make all", stdout: str = LINES) -> Call:
    """A command that printed something."""
    response = BASH | {"stdout": stdout}
    return Call("Bash", {"command": command}, response, cwd="/p", project_dir="/p")


def reading(path: str = "/p/a.py", content: str = LINES, **extra: Any) -> Call:
    """A file that was read."""
    file = {"filePath": path, "content": content, "numLines": 1, "startLine": 1, "totalLines": 1}
    response = {"type": "text", "file": file}
    return Call("Read", {"file_path": path} | extra, response, cwd="/p", project_dir="/p")


def after(call: Call, home_dir: str, **changes: Any) -> Any:
    """The text that stands in for a result; None where it stays."""
    state = SessionState(home_dir, "s1")
    decision = intercept.after(call, state, values(**changes), home_dir)
    if decision is None:
        return None
    replaced = decision.replacement
    return replaced["stdout"] if call.tool == "Bash" else replaced["file"]["content"]


@pytest.mark.row("S3-03", "S3-04", "S3-14")
def test_a_large_output_is_stored_and_referred_to(home_dir: str) -> None:
    """The reference leads back to the very bytes, and the sidecar knows where they came from."""
    text = after(bash(), home_dir)

    found = stub.parse(text)
    assert found is not None
    assert read.get(home_dir, found.key) == LINES.encode()
    meta = read.meta(home_dir, found.key)
    assert (meta["tool"], meta["source"], meta["session"]) == ("Bash", "make all", "s1")
    assert SessionState(home_dir, "s1").last_line("Offloaded")["key"] == found.key


@pytest.mark.row("S3-26")
@pytest.mark.parametrize(("size", "swapped"), [(8_000, False), (8_001, True)])
def test_the_threshold_is_exact(home_dir: str, size: int, *, swapped: bool) -> None:
    """8,000 bytes stay, one more goes."""
    output = ("word " * 2_000)[:size]

    assert (after(bash(stdout=output), home_dir) is not None) == swapped


def test_the_users_own_threshold_counts(home_dir: str) -> None:
    """From the settings."""
    assert after(bash(), home_dir, **{"offload.inline_bytes": 1_000_000}) is None


@pytest.mark.row("S3-15", "S3-26")
def test_the_ccm_preset_speaks_as_the_ccm_tools_did(home_dir: str) -> None:
    """2,001 bytes go, and the message has their five lines before their block."""
    changes = {"offload.preset": "ccm", "offload.inline_bytes": 2_000}

    assert after(bash(stdout="x\n" * 1_000), home_dir, **changes) is None
    text = after(bash("ls -R", "x\n" * 1_000 + "y"), home_dir, **changes)

    lines = text.split("\n")
    assert lines[0] == "Cached (1001 lines, 2001 bytes, exit 0)."
    assert lines[1].startswith("File: sha256:")
    assert lines[2:5] == [
        "Original: ls -R",
        "",
        "Options: Task agent (summarize or full content), or paginate with offset/limit.",
    ]
    assert stub.parse(text) is not None


def test_nothing_is_swapped_when_switched_off(home_dir: str) -> None:
    """And nothing is stored."""
    assert after(bash(), home_dir, **{"offload.preset": "off"}) is None
    assert not fastio.names_in(home_dir + "/store")


def test_a_second_look_at_a_file_is_at_all_of_it(home_dir: str) -> None:
    """And from then on it may be overwritten."""
    assert after(reading(), home_dir) is not None
    assert after(reading(), home_dir) is None

    assert intercept.before_write("/p/a.py", SessionState(home_dir, "s1"), "/p") is None


def test_an_overwrite_of_a_previewed_file_is_refused_once(home_dir: str) -> None:
    """With the way on; the repeat passes, other files and other sessions are not concerned."""
    after(reading(), home_dir)

    first = intercept.before_write("/p/a.py", SessionState(home_dir, "s1"), "/p")
    second = intercept.before_write("/p/a.py", SessionState(home_dir, "s1"), "/p")

    assert first is not None
    assert first.permission == "deny"
    assert "Read the file again" in first.reason
    assert second is None
    assert intercept.before_write("./a.py", SessionState(home_dir, "s1"), "/p") is None
    assert intercept.before_write("/p/b.py", SessionState(home_dir, "s1"), "/p") is None
    assert intercept.before_write("/p/a.py", SessionState(home_dir, "s2"), "/p") is None
    assert intercept.before_write(None, SessionState(home_dir, "s1"), "/p") is None


def test_a_parallel_read_that_lost_the_race_passes(home_dir: str) -> None:
    """Two hooks saw the same names; one of them made the mark."""
    both = [SessionState(home_dir, "s1"), SessionState(home_dir, "s1")]

    swapped = [intercept.after(reading(), state, values(), home_dir) for state in both]

    assert [decision is not None for decision in swapped] == [True, False]


def test_a_full_disk_leaves_the_result_as_it_was(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller records the error; nothing stands in for what was not stored."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("brimline.store.files.place", full)

    with pytest.raises(OSError, match="No space"):
        after(reading(), home_dir)
    assert not any(name.startswith("offload") for name in SessionState(home_dir, "s1").names)
