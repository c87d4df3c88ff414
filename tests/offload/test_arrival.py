"""What a result leaves on its way in: its reference, what is noted, stored and learned."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import paths
from brimline.offload import hook, intercept, judge, marks, tool_results
from brimline.store import contents, pins, put

from .conftest import LOG, SOURCE, Player

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

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


@pytest.mark.parametrize(
    ("length", "source"), [(60, "x" * 60), (61, "x" * 59 + "…")], ids=["whole", "cut"]
)
def test_a_reference_names_sixty_characters_of_a_command(
    player: Player, length: int, source: str
) -> None:
    """Its beginning."""
    shown = player.bash("x" * length, BUILD) or ""

    assert f', from "{source}": {KEY}]' in shown


def test_a_reference_names_the_end_of_a_path(player: Player) -> None:
    """In sixty characters too."""
    shown = player.read("/p/" + "a" * 80 + "/app.log", LOG[:30_000]) or ""

    assert f', from "…{"a" * 51}/app.log": sha256:' in shown
    assert "Read takes offset and limit. The same call again shows all of it once." in shown


def test_what_was_replaced_is_stored_with_what_is_known_of_it(player: Player) -> None:
    """Tool, command, exit code, session and folder; the session's spool has its sizes."""
    shown = player.bash("cat app.log", BUILD) or ""
    lines = shown.split("\n")

    found = contents.read_sidecar(player.home_dir, KEY)
    told = {name: found[name] for name in ("tool", "source", "exit", "session", "cwd", "bytes")}
    assert told == {
        "tool": "Bash",
        "source": "cat app.log",
        "exit": 0,
        "session": "s1",
        "cwd": player.project_dir,
        "bytes": 20_000,
    }
    assert spooled(player, "Offloaded") == {
        "tool": "Bash",
        "key": KEY,
        "bytes": 20_000,
        "would": 20_000,
        "shown": len(shown),
        "call": "toolu_1",
        "lines": len(lines),
        "text": tool_results.fingerprint_of_lines(lines),
    }


def test_of_what_the_client_cuts_it_would_have_shown_the_beginning(
    player: Player, tmp_path: Path
) -> None:
    """By itself: 2,300 characters, with its own words; a search from 20,000 on."""
    kept = tmp_path / "kept.txt"
    kept.write_text(LOG, encoding="utf-8")
    cut = {"persistedOutputPath": str(kept), "persistedOutputSize": len(LOG)}

    assert player.bash("cat app.log", LOG[:30_000], response=cut)
    assert spooled(player, "Offloaded")["would"] == 2_300
    for length, would in ((20_000, 20_000), (20_001, 2_300)):
        response = {"mode": "content", "filenames": [], "content": HITS[:length], "numLines": 9}
        decision = hook.post_tool_use(player.result("Grep", {"pattern": f"hit {length}"}, response))
        assert decision is not None
        assert spooled(player, "Offloaded")["would"] == would
        is_offered = "The same call again" in decision.replacement["content"]
        assert is_offered is (would == length)


def test_the_same_call_again_is_noted_as_fetched_back(player: Player) -> None:
    """With all that it shows; a line each is learned, under hashes."""
    player.bash("cat app.log", BUILD)
    player.bash("cat app.log", BUILD)

    assert spooled(player, "Recalled") == {"tool": "Bash", "shown": 20_000}
    first, second = learned(player)
    assert (first["kind"], first["bytes"], first["key"]) == ("stub", 20_000, KEY[7:19])
    assert (second["kind"], second["bytes"]) == ("recall", None)
    assert "key" not in second
    assert (first["project"], first["call"]) == (second["project"], second["call"])
    assert {len(first["project"]), len(first["call"])} == {24}


def test_what_is_fetched_by_its_key_is_learned_of_the_call_that_made_it(player: Player) -> None:
    """With as many bytes as were shown."""
    player.bash("make deploy", BUILD)
    player.bash(f"brimline store get {KEY} --lines 1:2", BUILD[:100])

    stub, recall = learned(player)
    assert recall == {
        "kind": "recall",
        "bytes": 100,
        "project": stub["project"],
        "call": stub["call"],
        "key": KEY[7:19],
    }
    assert spooled(player, "Recalled") == {"tool": "Bash", "key": KEY, "shown": 100}


def test_that_a_result_stayed_by_experience_is_learned_too(player: Player) -> None:
    """With its size; that others stay is not."""
    for number in range(3):
        text = f"{BUILD}\n{number}"
        player.bash(f"make deploy n={number}", text)
        player.bash(f"brimline store get {put.sha256(text.encode())}", text)
    before = len(learned(player))

    assert player.bash("make deploy", BUILD) is None
    assert player.bash("echo x", BUILD) is None

    assert [(line["kind"], line["bytes"]) for line in learned(player)[before:]] == [
        ("stayed", 20_000)
    ]


@pytest.mark.parametrize(("size", "is_stored"), [(4_999, False), (5_000, True)])
def test_a_result_that_stays_is_stored_for_a_pin_that_waits(
    player: Player, size: int, *, is_stored: bool
) -> None:
    """From five thousand bytes on; without a pin it is not."""
    text = LOG[:size]
    player.bash("make all", text + "x")
    assert contents.list_blobs(player.home_dir) == []
    player.say("brim:pin next")

    assert player.bash("make all", text) is None

    assert len(contents.list_blobs(player.home_dir)) == is_stored


def fingerprint(turn: Turn, tool: str = "Bash", agent: str = "", **asked: Any) -> str:
    """What tells a call from another."""
    files = judge.files_shown_by_call(tool, asked)
    return intercept.repeat_fingerprint(turn, agent, tool, asked, files)


def test_a_call_is_the_same_whatever_its_description_and_order(player: Player) -> None:
    """Not from another agent, with another tool or another argument."""
    turn = player.turn("Stop")
    usual = fingerprint(turn, command="git log", timeout=5)

    assert fingerprint(turn, timeout=5, description="Look", command="git log") == usual
    others = [
        fingerprint(turn, agent="a1", command="git log", timeout=5),
        fingerprint(turn, command="git log", timeout=6),
        fingerprint(turn, command="git log"),
        fingerprint(turn, "Grep", command="git log", timeout=5),
    ]
    assert len({usual, *others}) == 5


def test_a_read_is_the_same_by_whichever_path_it_leads_there(
    player: Player, project_dir: str
) -> None:
    """And another one once the file has another size or time."""
    file = Path(project_dir, "a.py")
    file.write_text("one")
    Path(project_dir, "link.py").symlink_to(file)
    turn = player.turn("Stop")
    usual = fingerprint(turn, "Read", file_path=str(file))

    assert fingerprint(turn, "Read", file_path="link.py") == usual
    assert fingerprint(turn, "Read", file_path="a.py", offset=2) != usual
    stamp = file.stat().st_mtime_ns
    file.write_text("three")
    os.utime(file, ns=(stamp, stamp))
    assert fingerprint(turn, "Read", file_path="a.py") != usual
    file.write_text("two")
    os.utime(file, ns=(stamp, stamp))
    assert fingerprint(turn, "Read", file_path="a.py") == usual
    os.utime(file, ns=(stamp, stamp + 1_000))
    assert fingerprint(turn, "Read", file_path="a.py") != usual


def test_a_call_that_names_no_file_is_another_after_each_change(
    player: Player, project_dir: str
) -> None:
    """One that names a file goes by that alone."""
    Path(project_dir, "a.log").write_text("x")
    seen = []
    for _ in range(3):
        turn = player.turn("Stop")
        seen.append((fingerprint(turn, command="git log"), fingerprint(turn, command="cat a.log")))
        player.edit("/p/x.py")

    assert len({one for one, _ in seen}) == 3
    assert len({other for _, other in seen}) == 1


def test_offers_are_numbered_and_only_one_process_makes_each(player: Player) -> None:
    """Two that begin together make the same one, of which the second is told."""
    first, twin = player.turn("Stop"), player.turn("Stop")
    assert (first.state.names, twin.state.names) == ([marks.PAST], [marks.PAST])

    made = [intercept.create_repeat_offer(turn, "c") for turn in (first, twin, first, first)]

    assert made == [True, False, True, True]
    assert first.state.names[1:] == [f"{marks.OFFER}c-{number}" for number in (1, 2, 3)]
    assert twin.state.names[1:] == [f"{marks.OFFER}c-1"]


def test_an_offer_goes_with_its_mark_after_ten_results(player: Player) -> None:
    """Each result since is a byte in it."""
    turn = player.turn("Stop")
    intercept.create_repeat_offer(turn, "c")
    (offer,) = [name for name in turn.state.names if name.startswith(marks.OFFER)]
    folder = Path(turn.state.folder)
    taken = folder / offer.replace(marks.OFFER, marks.TAKEN)
    taken.write_text("")

    marks.count_down_repeat_offers(turn, 4)
    assert (folder / offer).stat().st_size == 4
    for _ in range(6):
        marks.count_down_repeat_offers(turn)
    assert (folder / offer).stat().st_size == 10
    assert offer in turn.state.names
    assert taken.exists()
    marks.count_down_repeat_offers(turn)
    assert not (folder / offer).exists()
    assert not taken.exists()
    assert offer not in turn.state.names


@pytest.mark.parametrize("asked", [{"file_path": "/p/a.py"}, {"notebook_path": "/p/a.py"}, {}])
def test_a_change_is_noted_by_the_file_that_it_names(player: Player, asked: dict[str, str]) -> None:
    """And one that names none is not."""
    turn = player.result("NotebookEdit", asked, {})

    assert hook.post_tool_use(turn) is None

    assert (marks.EDITED in turn.state.names) is bool(asked)
    assert marks.was_file_edited(player.turn("Stop"), "/p/a.py") is bool(asked)
    assert not marks.was_file_edited(player.turn("Stop"), "/p/b.py")


@pytest.mark.parametrize(("size", "is_put_aside"), [(256 << 10, False), ((256 << 10) + 1, True)])
def test_what_was_learned_is_put_aside_where_it_grew_large(
    player: Player, size: int, *, is_put_aside: bool
) -> None:
    """A quarter of a megabyte."""
    path = Path(player.home_dir, marks.LEARNED)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x" * size)

    hook.tidy(player.turn("Stop"), 0.0)

    assert path.exists() is not is_put_aside


def test_small_results_are_not_looked_at(player: Player) -> None:
    """But for our own, and further looks at a file that was a preview."""

    def is_looked_at(tool: str, asked: dict[str, Any], content: str = "small") -> bool:
        return hook._may_result_need_handling(
            player.result(tool, asked, {"stdout": content, "stderr": ""})
        )

    assert not is_looked_at("Bash", {"command": "make"})
    assert is_looked_at("Bash", {"command": "make"}, BUILD)
    assert is_looked_at("Bash", {"command": "brimline store get x"})
    assert is_looked_at("mcp__brimline__recall", {"key": "x"})
    assert not is_looked_at("mcp__other__recall", {"key": "brimline"})
    assert not is_looked_at("Read", {"file_path": "/p/a.py"})
    player.read("/p/a.py", SOURCE)
    assert is_looked_at("Read", {"file_path": "/p/a.py"})
    assert not is_looked_at("Grep", {"pattern": "x"})
    player.values = {"offload.preset": "off"}
    assert not is_looked_at("Bash", {"command": "make"}, BUILD)
    player.say("brim:pin next")
    assert is_looked_at("Bash", {"command": "make"})


def test_of_twins_that_began_together_the_second_shows_the_whole(player: Player) -> None:
    """Though neither knew of the other; a third is a preview again."""
    response = {"stdout": BUILD, "stderr": "", "interrupted": False}
    turns = [player.result("Bash", {"command": "cat app.log"}, response) for _ in range(3)]
    assert [turn.state.names for turn in turns] == [[marks.PAST]] * 3

    assert [hook.post_tool_use(turn) is None for turn in turns] == [False, True, False]


def test_where_replacing_is_off_a_result_stays_though_a_pin_waits_for_it(player: Player) -> None:
    """It is stored and pinned, and that is all."""
    player.values = {"offload.preset": "off"}
    player.say("brim:pin next")

    assert player.bash("make all", BUILD) is None

    assert [blob.key for blob in contents.list_blobs(player.home_dir)] == [KEY]
    assert pins.pin_level_of(player.home_dir, KEY[7:]) == "soft"
