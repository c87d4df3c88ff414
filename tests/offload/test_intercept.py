"""A result through the whole room: what is swapped, stored, marked and refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline import settings
from brimline.errors import StoreError
from brimline.fast import io
from brimline.offload import intercept
from brimline.offload.calls import Call
from brimline.state.session import SessionState
from brimline.store import read, stub

if TYPE_CHECKING:
    from pathlib import Path

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
    """A file that was read, or the page of it that was asked for."""
    lines = content.split("\n")
    start = extra.get("offset", 1)
    page = lines[start - 1 :][: extra.get("limit")]
    file = {
        "filePath": path,
        "content": "\n".join(page),
        "numLines": len(page),
        "startLine": start,
        "totalLines": len(lines),
    }
    response = {"type": "text", "file": file}
    return Call("Read", {"file_path": path} | extra, response, cwd="/p", project_dir="/p")


def refused(
    home_dir: str, path: Any = "/p/a.py", session: str = "s1", transcript: str = ""
) -> bool:
    """Whether an overwrite of a file is refused now."""
    call = Call(
        "Write", {"file_path": path}, None, cwd="/p", project_dir="/p", transcript=transcript
    )
    decision = intercept.before_write(call, SessionState(home_dir, session), home_dir)
    assert decision is None or decision.permission == "deny"
    return decision is not None


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


def test_nothing_is_swapped_when_switched_off(home_dir: str) -> None:
    """And nothing is stored."""
    assert after(bash(), home_dir, **{"offload.preset": "off"}) is None
    assert not io.names_in(home_dir + "/store")


def test_a_second_look_at_a_file_is_at_all_of_it(home_dir: str) -> None:
    """And from then on it may be overwritten."""
    assert after(reading(), home_dir) is not None
    assert after(reading(), home_dir) is None

    assert not refused(home_dir)


def test_an_overwrite_of_a_previewed_file_is_refused_once(home_dir: str) -> None:
    """With the way on; the repeat passes, other files and other sessions are not concerned."""
    after(reading(), home_dir)

    call = Call("Write", {"file_path": "/p/a.py"}, None, cwd="/p", project_dir="/p")
    first = intercept.before_write(call, SessionState(home_dir, "s1"), home_dir)

    assert first is not None
    assert first.permission == "deny"
    assert "Read the file again" in first.reason
    assert not refused(home_dir)
    assert not refused(home_dir, "./a.py")
    assert not refused(home_dir, "/p/b.py")
    assert not refused(home_dir, session="s2")
    assert not refused(home_dir, None)


def test_a_file_behind_a_link_is_the_same_file(home_dir: str, world: Path) -> None:
    """A preview of one is a preview of the other, whichever was read."""
    for name in ("a.txt", "b.txt"):
        (world / name).touch()
        (world / f"link-to-{name}").symlink_to(name)
    after(reading(f"{world}/a.txt"), home_dir)
    after(reading(f"{world}/link-to-b.txt"), home_dir)

    assert refused(home_dir, f"{world}/link-to-a.txt")
    assert refused(home_dir, f"{world}/b.txt")
    assert not refused(home_dir, f"{world}/a.txt")


def test_a_file_that_was_read_page_by_page_was_seen_whole(home_dir: str) -> None:
    """In any order, small pages too; while a line is missing the guard stands."""
    after(reading(), home_dir)
    after(reading(offset=1_501), home_dir)
    after(reading(offset=1, limit=500), home_dir)
    after(reading(offset=400, limit=1_100), home_dir)
    assert refused(home_dir)
    after(reading(offset=1_500, limit=1), home_dir)
    for name in SessionState(home_dir, "s1").names:
        if name.startswith("offload-warned"):
            io.remove(f"{SessionState(home_dir, 's1').folder}/{name}")

    assert not refused(home_dir)


def test_a_second_look_that_the_client_cut_is_no_look_at_the_whole(home_dir: str) -> None:
    """Of a very long file the client shows the first lines only, and says how many there are."""
    call = reading()
    call.response["file"] |= {"totalLines": 9_000, "truncatedByTokenCap": True}
    assert "The client had read lines 1-2000 of 9000." in after(call, home_dir)

    assert after(call, home_dir) is None

    assert refused(home_dir)


def test_a_parallel_read_that_lost_the_race_passes(home_dir: str) -> None:
    """Two hooks saw the same names; one of them made the mark."""
    both = [SessionState(home_dir, "s1"), SessionState(home_dir, "s1")]

    swapped = [intercept.after(reading(), state, values(), home_dir) for state in both]

    assert [decision is not None for decision in swapped] == [True, False]
    assert not refused(home_dir)


def test_a_store_of_a_newer_format_leaves_the_result_as_it_was(home_dir: str) -> None:
    """What could not be had back is not taken out of the window."""
    after(bash(), home_dir)
    io.replace_file(f"{home_dir}/store/format", b"2\n")

    with pytest.raises(StoreError, match="newer brimline"):
        after(reading(), home_dir)
    assert not refused(home_dir)


def test_a_full_disk_leaves_the_result_as_it_was(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller records the error; nothing stands in for what was not stored."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("brimline.store.layout.place", full)

    with pytest.raises(OSError, match="No space"):
        after(reading(), home_dir)
    assert not any(name.startswith("offload-read") for name in SessionState(home_dir, "s1").names)
