"""What a result leaves on its way in: its reference, what is noted, stored and learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.bulk import hook, intercept, marks, put
from brimline.fast import paths

from .conftest import LOG, Player

BUILD = LOG[:20_000]
KEY = "sha256:" + put.sha256(BUILD.encode())
HITS = "\n".join(f"m{n % 90}.py:{n}: hit" for n in range(2_000))


def learned(player: Player) -> list[dict[str, Any]]:
    """What was learned of calls, without its time."""
    path = Path(player.home_dir, marks.LEARNED)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{name: line[name] for name in line if name not in ("v", "at")} for line in lines]


def spooled(player: Player, event: str) -> dict[str, Any]:
    """The last such line that the session keeps."""
    found = player.turn("Stop").state.last_spooled_row_of(event)
    return {name: found[name] for name in found if name not in ("v", "at", "ms", "event")}


def way_back(shown: str | None) -> str:
    """The command by which a reference says that the rest can be had."""
    return (shown or "").partition("or run `")[2].partition(" store get")[0]


@pytest.mark.parametrize(
    ("allowed", "noted", "program"),
    [
        (True, "/opt/brimline/bin/brimline\n", ""),
        (False, "/opt/brimline/bin/brimline\n", "/opt/brimline/bin/brimline"),
        (False, "\n", "brimline"),
        (False, None, "brimline"),
    ],
    ids=["recall does", "as installed", "an empty note", "no note"],
)
def test_a_reference_names_our_command_where_recall_may_not_do(
    player: Player, program: str, noted: str | None, *, allowed: bool
) -> None:
    """As it was installed, never as a shell would find it."""
    player.allowed = allowed
    if noted is not None:
        file = Path(paths.command_file(player.home_dir))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(noted)

    assert way_back(player.bash("cat app.log", BUILD)) == program


def test_offers_are_numbered_and_only_one_process_makes_each(player: Player) -> None:
    """Two that begin together make the same one, of which the second is told."""
    first, twin = player.turn("Stop"), player.turn("Stop")
    assert (first.state.names, twin.state.names) == ([marks.PAST], [marks.PAST])

    made = [intercept.create_repeat_offer(turn, "c") for turn in (first, twin, first, first)]

    assert made == [True, False, True, True]
    assert first.state.names[1:] == [f"{marks.OFFER}c-{number}" for number in (1, 2, 3)]
    assert twin.state.names[1:] == [f"{marks.OFFER}c-1"]


def test_an_offer_goes_with_its_mark_after_some_results(player: Player) -> None:
    """Each result since is a byte in it."""
    turn = player.turn("Stop")
    intercept.create_repeat_offer(turn, "c")
    (offer,) = [name for name in turn.state.names if name.startswith(marks.OFFER)]
    folder = Path(turn.state.folder)
    taken = folder / offer.replace(marks.OFFER, marks.TAKEN)
    taken.write_text("")

    marks.count_down_repeat_offers(turn, 4)
    assert (folder / offer).stat().st_size == 4
    for _ in range(marks.OFFERED_RESULTS - 4):
        marks.count_down_repeat_offers(turn)
    assert (folder / offer).stat().st_size == marks.OFFERED_RESULTS
    assert offer in turn.state.names
    assert taken.exists()
    marks.count_down_repeat_offers(turn)
    assert not (folder / offer).exists()
    assert not taken.exists()
    assert offer not in turn.state.names


def test_of_twins_that_began_together_the_second_shows_the_whole(player: Player) -> None:
    """Though neither knew of the other; a third is a preview again."""
    response = {"stdout": BUILD, "stderr": "", "interrupted": False}
    turns = [player.result("Bash", {"command": "cat app.log"}, response) for _ in range(3)]
    assert [turn.state.names for turn in turns] == [[marks.PAST]] * 3

    assert [hook.post_tool_use(turn) is None for turn in turns] == [False, True, False]
