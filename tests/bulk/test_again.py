"""The same call again passes, once per preview; a file seen as a preview is no trap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brimline.bulk import hook

from .conftest import LOG, SOURCE, Player

BUILD = LOG[:20_000]


def test_the_same_call_again_passes_once_per_preview(player: Player) -> None:
    """The third is a preview again, and opens its own offer."""
    shown = [player.bash("cat app.log", BUILD, description=str(n)) for n in range(4)]

    assert [text is not None for text in shown] == [True, False, True, False]


def test_not_after_a_file_was_changed(player: Player, project_dir: str) -> None:
    """Of those that the call names; where it names none, of any."""
    log = Path(project_dir, "app.log")
    log.write_text(BUILD, encoding="utf-8")
    player.bash("cat app.log", BUILD)
    log.write_text(BUILD + "more", encoding="utf-8")
    assert player.bash("cat app.log", BUILD + "more") is not None

    player.bash("git log", BUILD)
    player.edit(f"{project_dir}/x.py")
    assert player.bash("git log", BUILD) is not None
    player.edit(f"{project_dir}/x.py")
    assert player.bash("cat app.log", BUILD + "more") is None


def test_of_parallel_twins_one_shows_the_preview_and_one_the_whole(
    home_dir: str, project_dir: str
) -> None:
    """Each is asked before the others have answered; a third is a preview again."""
    for attempt in range(5):
        player = Player(f"{home_dir}-{attempt}", project_dir)
        response = {"stdout": BUILD, "stderr": "", "interrupted": False}
        turns = [player.result("Bash", {"command": "cat app.log"}, response) for _ in range(3)]
        for turn in turns:
            assert turn.state.names is not None  # what is there before any of them answers
        with ThreadPoolExecutor(len(turns)) as pool:
            answers = list(pool.map(hook.post_tool_use, turns))

        assert sorted(answer is None for answer in answers) == [False, False, True]


@pytest.mark.row("S3-10")
def test_a_file_is_read_whole_the_second_time_and_may_then_be_overwritten(player: Player) -> None:
    """Before that a Write is refused, once, with the ways on."""
    player.read("/p/a.py", SOURCE)

    refused = player.write("/p/a.py")
    assert refused is not None
    assert refused.permission == "deny"
    assert "Read the file again" in refused.reason
    assert player.write("/p/a.py") is None
    player.read("/p/b.py", SOURCE)
    assert player.read("/p/b.py", SOURCE) is None
    assert player.write("/p/b.py") is None


def test_pages_that_add_up_to_the_file_lift_the_guard(player: Player) -> None:
    """Each look is noted by its lines; one that is missing is enough to refuse."""
    text = SOURCE[:40_000].rpartition("\n")[0]
    lines = text.split("\n")
    for path, last in (("/p/a.py", 1_000), ("/p/b.py", len(lines))):
        assert player.read(path, text) is not None
        for first, end in ((0, 100), (100, 300), (300, last)):
            page, asked = "\n".join(lines[first:end]), {"offset": first + 1, "limit": end - first}
            player.read(path, page, **asked, total=len(lines))

        assert (player.write(path) is None) == (last == len(lines))


@pytest.mark.row("S3-57", "S3-19")
def test_what_we_recall_ourselves_is_never_replaced(player: Player) -> None:
    """By command, alone or in a pipe, and by the tool."""
    assert player.bash("brimline store get sha256:0123 | head -900", LOG) is None
    assert player.bash("/x/python -I -m brimline store get last", LOG) is None
    for tool in ("mcp__brimline__recall",):
        assert hook.post_tool_use(player.result(tool, {"key": "sha256:01"}, LOG)) is None


def test_a_link_is_no_other_file(player: Player, project_dir: str) -> None:
    """Marks are about the file that a path leads to; who is refused is then shown the file."""
    Path(project_dir, "a.py").write_text(SOURCE, encoding="utf-8")
    Path(project_dir, "link.py").symlink_to("a.py")
    player.read("link.py", SOURCE)
    for number in range(20):
        player.bash(f"echo {number}", "small")

    assert player.write(f"{project_dir}/a.py") is not None
    assert player.read("a.py", SOURCE) is None
