"""What a session is known to have seen: previews since, pages of them, and what a fork was told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import hook, marks

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


@pytest.mark.parametrize("since", [0, 40])
def test_a_fork_knows_previews_however_long_ago(
    player: Player, session: SessionBuilder, since: int
) -> None:
    """The whole file has to be seen before it is overwritten, or the Write repeated."""
    shown = player.read("/p/a.py", TEXT) or ""
    record(session, "Read", {"file_path": "/p/a.py"}, numbered(shown))
    record(session, "Bash", {"command": "cat /p/b.py"}, shown)
    for number in range(since):
        record(session, "Bash", {"command": f"echo {number}"}, "small")
    fork = forked(player, session)

    assert fork.write("/p/b.py") is None
    assert fork.write("/p/a.py") is not None
    assert fork.write("/p/a.py") is None


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
