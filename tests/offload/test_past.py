"""What a session is known to have seen: previews since, pages of them, and what a fork was told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.offload import hook, looks, marks, past, tool_results
from brimline.store import put

from .conftest import LOG, SOURCE, Player, numbered

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

BUILD = LOG[:20_000]
TEXT = SOURCE[:40_000].rpartition("\n")[0]
LINES = TEXT.split("\n")


def names(player: Player, start: str) -> list[str]:
    """The session's files that begin so."""
    return [name for name in player.turn("Stop").state.names if name.startswith(start)]


def record(
    session: SessionBuilder, tool: str, asked: dict[str, Any], shown: str, **more: Any
) -> None:
    """A call with its answer, as the client records both."""
    call_id = session.tool_call(50_000, tool, **asked)
    session.tool_result(call_id, shown, **more)


def forked(player: Player, session: SessionBuilder) -> Player:
    """A session that begins with the rows of another one."""
    fork = Player(player.home_dir, player.project_dir, "s2", source="fork")
    fork.transcript = str(session.path)
    return fork


def test_a_new_preview_of_a_file_begins_anew(player: Player) -> None:
    """What was seen of it before, and that a Write was refused before, count no more."""
    assert player.read("/p/a.py", TEXT) is not None
    assert player.read("/p/a.py", TEXT) is None
    assert player.write("/p/a.py") is None
    assert player.read("/p/a.py", TEXT) is not None
    assert player.write("/p/a.py") is not None
    assert player.write("/p/a.py") is None
    assert [player.read("/p/a.py", TEXT) is None for _ in range(3)] == [True, True, False]

    assert player.write("/p/a.py") is not None
    assert len(names(player, marks.PREVIEWED)) == 1


def test_looks_are_noted_only_of_files_that_were_previews(player: Player) -> None:
    """Of any other a page is a page."""
    player.read("/p/a.py", "\n".join(LINES[:100]), offset=1, limit=100, total=len(LINES))
    assert names(player, looks._LINES) == []
    assert player.read("/p/b.py", TEXT) is not None
    player.read("/p/b.py", "\n".join(LINES[:100]), offset=1, limit=100, total=len(LINES))

    (noted,) = names(player, looks._LINES)

    assert Path(player.turn("Stop").state.folder, noted).read_text() == f"1 100 {len(LINES)}\n"


@pytest.mark.parametrize(
    ("first", "last", "passes"),
    [(1, len(LINES), True), (2, len(LINES), False), (1, len(LINES) - 1, False)],
)
def test_a_file_is_seen_from_its_first_line_to_its_last(
    player: Player, first: int, last: int, *, passes: bool
) -> None:
    """One that is missing at either end is enough."""
    assert player.read("/p/a.py", TEXT) is not None
    page = "\n".join(LINES[first - 1 : last])
    player.read("/p/a.py", page, offset=first, limit=last, total=len(LINES))

    assert (player.write("/p/a.py") is None) is passes


def test_a_refusal_names_the_file_and_the_ways_on(player: Player) -> None:
    """Of a long path the end."""
    path = "/p/" + "long/" * 60 + "a.py"
    player.read(path, TEXT)

    refused = player.write(path)

    assert refused is not None
    assert refused.permission == "deny"
    assert refused.reason.startswith("…")
    assert refused.reason.partition(" was shown to you as a preview")[0].endswith("/long/a.py")
    assert refused.reason.endswith("repeat the Write: it passes.")


@pytest.mark.parametrize("path", [None, 5, ["/p/a.py"]])
def test_a_write_without_a_path_is_no_business_of_ours(player: Player, path: Any) -> None:
    """The client itself refuses it."""
    player.read("/p/a.py", TEXT)
    asked = {"tool_name": "Write", "tool_input": {"file_path": path}}

    assert hook.pre_tool_use(player.turn("PreToolUse", **asked)) is None


def test_a_file_that_was_never_a_preview_may_be_overwritten(player: Player) -> None:
    """Whatever became of others."""
    player.read("/p/a.py", TEXT)

    assert player.write("/p/b.py") is None
    assert player.write("/p/a.py") is not None


@pytest.mark.parametrize(("since", "passes"), [(0, True), (9, True), (10, False)])
def test_a_fork_has_the_offers_of_its_last_ten_results(
    player: Player, session: SessionBuilder, since: int, *, passes: bool
) -> None:
    """As the session that it came from had them."""
    record(session, "Bash", {"command": "cat app.log"}, player.bash("cat app.log", BUILD) or "")
    for number in range(since):
        record(session, "Bash", {"command": f"echo {number}"}, "small")

    assert (forked(player, session).bash("cat app.log", BUILD) is None) is passes


def test_an_offer_that_was_taken_before_the_fork_is_gone(
    player: Player, session: SessionBuilder
) -> None:
    """The same call came again, and showed all of it."""
    record(session, "Bash", {"command": "cat app.log"}, player.bash("cat app.log", BUILD) or "")
    record(session, "Bash", {"command": "cat app.log"}, BUILD)

    assert forked(player, session).bash("cat app.log", BUILD) is not None


@pytest.mark.parametrize("since", [0, 40])
def test_a_fork_knows_previews_and_changes_however_long_ago(
    player: Player, session: SessionBuilder, since: int
) -> None:
    """Of a long past only the calls of files and of us are looked at."""
    shown = player.read("/p/a.py", TEXT) or ""
    record(session, "Read", {"file_path": "/p/a.py"}, numbered(shown))
    record(session, "Edit", {"file_path": "/p/b.py"}, "updated")
    for number in range(since):
        record(session, "Bash", {"command": f"echo {number}"}, "small")
    fork = forked(player, session)

    assert fork.write("/p/a.py") is not None
    assert fork.read("/p/b.py", SOURCE) is None
    assert fork.read("/p/c.py", SOURCE) is not None


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_fork_counts_the_lines_of_the_file_and_not_of_what_is_stored(
    player: Player, session: SessionBuilder, *, is_whole: bool
) -> None:
    """The client had read a part of it, which the reference says."""
    total = len(LINES) if is_whole else len(LINES) + 900
    shown = player.read("/p/a.py", TEXT, total=total) or ""
    note = f"The client had read lines 1-{len(LINES)} of {total}."
    assert (note in shown) is not is_whole
    record(session, "Read", {"file_path": "/p/a.py"}, shown)
    for first, last in ((1, 900), (901, len(LINES))):
        command = f"brimline store get {put.sha256(TEXT.encode())} --lines {first}:{last}"
        part = "\n".join(LINES[first - 1 : last])
        copy = {"stdout": part, "stderr": ""}
        record(session, "Bash", {"command": command}, part, toolUseResult=copy)

    assert (forked(player, session).write("/p/a.py") is None) is is_whole


def test_a_fork_counts_pages_that_its_transcript_shows(
    player: Player, session: SessionBuilder
) -> None:
    """By the client's own copy of each answer."""
    shown = player.read("/p/a.py", TEXT) or ""
    record(session, "Read", {"file_path": "/p/a.py"}, shown)
    half = len(LINES) // 2
    for first, rows in ((1, LINES[:half]), (half + 1, LINES[half:])):
        file = {"filePath": "/p/a.py", "content": "\n".join(rows), "numLines": len(rows)}
        file |= {"startLine": first, "totalLines": len(LINES)}
        copy = {"type": "text", "file": file}
        asked = {"file_path": "/p/a.py", "offset": first, "limit": half}
        record(session, "Read", asked, "\n".join(rows), toolUseResult=copy)

    assert forked(player, session).write("/p/a.py") is None


def test_before_an_overwrite_the_past_is_waited_for_and_then_taken_as_it_is(
    player: Player, session: SessionBuilder
) -> None:
    """A result that cannot be found in it leaves the question open."""
    session.prompt("Go on.")
    fork = forked(player, session)
    fork.read("/p/a.py", TEXT)
    assert marks.PAST not in fork.turn("Stop").state.names

    fork.write("/p/b.py")

    assert marks.PAST in fork.turn("Stop").state.names


def test_a_past_that_was_taken_in_is_known_to_the_turn_itself(
    player: Player, session: SessionBuilder
) -> None:
    """Nobody takes it in again for the same event."""
    call_id = session.tool_call(1_000, "Read", file_path="/p/a.py")
    turn = forked(player, session).turn("PostToolUse", tool_use_id=call_id)
    assert marks.PAST not in turn.state.names

    past.catch_up_from_transcript(turn)

    assert marks.PAST in turn.state.names


def recalled(home_dir: str, shown: str, *names_of_keys: str, **response: Any) -> list[Any]:
    """What a command that asks for these keys is seen to have brought back."""
    command = "; ".join(f"brimline store get {name}" for name in names_of_keys)
    call = {"command": command}
    result = tool_results.parse_answer("Bash", call, {"stdout": shown, "stderr": "", **response})
    assert result is not None
    found = looks.recalls_shown_by_call(home_dir, "Bash", call, result)
    return [(key, size, lines) for key, _, size, lines in found]


def test_what_is_not_in_the_store_was_not_recalled(home_dir: str) -> None:
    """Keys that are none, or gone, are passed over; the others count."""
    key = put.put(home_dir, b"one\ntwo", {})

    assert recalled(home_dir, "one\ntwo", "nonsense", "0" * 64, key) == [(key, 7, (1, 2))]


@pytest.mark.parametrize(
    ("length", "size", "is_seen"), [(30_000, 30_000, True), (30_001, 2_000, False)]
)
def test_of_what_the_client_cuts_its_beginning_counts_and_no_line(
    home_dir: str, length: int, size: int, *, is_seen: bool
) -> None:
    """Where exactly it cuts is its own affair."""
    content = ("line of text\n" * 9_000)[: length - 1] + "x"
    key = put.put(home_dir, content.encode(), {})

    ((_, shown_bytes, lines),) = recalled(home_dir, content, key)

    assert shown_bytes == size
    assert (lines is not None) is is_seen


def test_what_the_client_keeps_in_a_file_was_seen_by_its_beginning(
    home_dir: str, tmp_path: Path
) -> None:
    """However short it is."""
    kept = tmp_path / "kept.txt"
    kept.write_text("one\ntwo")
    key = put.put(home_dir, b"one\ntwo", {})

    assert recalled(home_dir, "one", key, persistedOutputPath=str(kept)) == [(key, 7, None)]


@pytest.mark.parametrize(("size", "is_compared"), [(4 << 20, True), ((4 << 20) + 1, False)])
def test_huge_content_is_not_compared(home_dir: str, size: int, *, is_compared: bool) -> None:
    """Reading it would hold the session up."""
    content = "one\ntwo\n" + "x" * (size - 8)
    key = put.put(home_dir, content.encode(), {})

    assert recalled(home_dir, "one\ntwo", key) == [(key, 7, (1, 2) if is_compared else None)]


def test_the_header_of_a_recall_is_none_of_its_content(home_dir: str) -> None:
    """Neither its bytes nor its line count; another first line does."""
    key = put.put(home_dir, "ö\ntwo".encode(), {})

    shown = f"[brimline recall {key[:19]}: all 2 lines]\nö\ntwo"
    assert recalled(home_dir, shown, key) == [(key, 6, (1, 2))]
    assert recalled(home_dir, "[brimline] x\nö\ntwo", key) == [(key, 19, None)]


def test_looking_at_content_is_no_use_of_it(home_dir: str) -> None:
    """Whoever fetched it has marked it already."""
    key = put.put(home_dir, b"one\ntwo", {})
    from brimline.store import contents

    (before,) = contents.list_blobs(home_dir)
    recalled(home_dir, "one", key)

    assert contents.list_blobs(home_dir) == [before]


@pytest.mark.parametrize(
    ("number", "offset"),
    [("1", 0), ("2", 3), ("4", 9), ("5", 0), ("", 0), ("x", 0), ("-1", 0), ("²", 0)],
)
def test_a_line_that_was_asked_for_has_its_place(number: str, offset: int) -> None:
    """What is not a number, or beyond the end, is the beginning."""
    assert looks._offset_of_line(["aa", "bb", "cc", "dd"], number) == offset


@pytest.mark.parametrize(
    ("name", "later", "is_kept"),
    [("Grep", 0, True), ("Grep", 23, True), ("Grep", 24, False), ("Read", 24, True)],
)
def test_of_calls_long_ago_those_matter_that_name_a_file_or_us(
    tmp_path: Path, name: str, later: int, is_kept: bool
) -> None:
    """Offers are good for ten results, which are within the last 24 lines."""
    call = f'{{"type":"tool_use","name":"{name}"}}'.encode()
    results = [b'{"type":"tool_result"}'] * later
    path = tmp_path / "rows"
    path.write_bytes(b"\n".join([call, b'{"type":"other"}', *results, b""]))

    found = past._lines_with_calls_or_results(str(path))

    assert found == [*results, *[call] * is_kept]
