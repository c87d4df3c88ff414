"""The tool `recall` by query: the project's own outputs, their best lines, page by page."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from brimline.errors import StoreError
from brimline.mcp import pages, project, recall
from brimline.store import fulltext, layout, put

if TYPE_CHECKING:
    from pathlib import Path


def ask(home_dir: str, project_dir: str, query: str, **more: str) -> list[str]:
    """The lines that the model gets."""
    answer = recall.answer(home_dir, project_dir, {"query": query} | more)
    assert answer.startswith("[brimline recall: ")
    assert pages.width(answer) <= pages.LARGEST_CHARACTERS
    return answer.splitlines()


def test_a_hit_is_told_with_its_key_and_its_best_lines(home_dir: str, project_dir: str) -> None:
    """With line numbers, so that they can be asked for."""
    content = b"start\n" + b"noise\n" * 50 + b"Error: timeout in worker\nend\n"
    meta = {"cwd": project_dir, "tool": "Bash", "source": "make test", "exit": 2}
    key = put.put(home_dir, content, meta)

    first, hit, line = ask(home_dir, project_dir, "timeout error")

    assert first == "[brimline recall: hits 1-1 of 1 that hold 'timeout error']"
    assert hit.startswith(f'1. {key[:19]} (Bash "make test" exit 2), 2')
    assert hit.endswith("Z, 53 lines")
    assert line == "   52: Error: timeout in worker"


def test_the_line_that_holds_the_rare_word_comes_first(home_dir: str, project_dir: str) -> None:
    """Not behind four others that hold what every line holds; of a long one the part around it."""
    lines = [f"line {number} alpha é needle{number}" for number in range(1, 5_001)]
    put.put(home_dir, "\n".join(lines).encode(), {"cwd": project_dir})
    put.put(home_dir, ("é" * 9_000 + " gamma rare77 " + "y" * 9_000).encode(), {"cwd": project_dir})

    shown = ask(home_dir, project_dir, "alpha needle4999")
    long = ask(home_dir, project_dir, "gamma rare77")

    assert shown[2] == "   4999: line 4999 alpha é needle4999"
    assert "gamma rare77" in long[2]


def test_only_this_project_is_searched(home_dir: str, world: Path, project_dir: str) -> None:
    """Its folder, those below it, and the same under another name."""
    os.symlink(project_dir, world / "link")
    cwds = {
        "own": project_dir,
        "below": f"{project_dir}/sub dir/ü",
        "linked": f"{world}/link",
        "beside": f"{project_dir}-two",
        "above": str(world),
        "relative": "project",
        "strange": "/\x00",
    }
    keys = {
        put.put(home_dir, f"needle {name}".encode(), {"cwd": cwd})[:19]: name
        for name, cwd in cwds.items()
    }
    put.put(home_dir, b"needle nowhere", {})

    lines = ask(home_dir, project_dir, "needle")

    found = {keys[line.split()[1].rstrip(",")] for line in lines if line[:1].isdigit()}
    assert found == {"own", "below", "linked"}
    assert len(ask(home_dir, str(world / "link"), "needle")) == len(lines)


def test_hits_come_in_pages(home_dir: str, project_dir: str) -> None:
    """The first line says how to ask for the next."""
    for number in range(25):
        put.put(home_dir, b"needle %d" % number, {"cwd": project_dir})

    first = ask(home_dir, project_dir, "needle")
    last = ask(home_dir, project_dir, "needle", lines="21:30")

    assert first[0].startswith("[brimline recall: hits 1-10 of 25 that hold 'needle'")
    assert first[0].endswith('next: lines="11:20"]')
    assert last[0] == "[brimline recall: hits 21-25 of 25 that hold 'needle']"
    assert last[1].startswith("21. ")
    with pytest.raises(StoreError, match="there is no hit 26: the last one is 25"):
        ask(home_dir, project_dir, "needle", lines="26:30")


def test_hits_with_long_lines_still_fit(home_dir: str, project_dir: str) -> None:
    """Asked for all of them, the answer holds as many as fit."""
    for number in range(40):
        line = f"needle 𝄞 {number} " + "𝄞" * 300
        put.put(home_dir, "\n".join([line] * 6).encode(), {"cwd": project_dir})

    first, *rest = ask(home_dir, project_dir, "needle", lines="1:40")

    shown = sum(line[:1].isdigit() for line in rest)
    assert 5 < shown < 40
    assert f"hits 1-{shown} of 40" in first
    assert f'next: lines="{shown + 1}:' in first


def test_a_pattern_chooses_the_lines_of_the_hits(home_dir: str, project_dir: str) -> None:
    """Instead of those that fit the query best."""
    content = b"needle\n" + b"".join(b"code E%d\n" % number for number in range(9))
    put.put(home_dir, content, {"cwd": project_dir})

    lines = ask(home_dir, project_dir, "needle", pattern=r"E\d")

    assert lines[2:] == [
        *(f"   {number + 2}: code E{number}" for number in range(5)),
        "   and 4 more that match",
    ]


def test_what_is_found_otherwise_than_asked_is_said(home_dir: str, project_dir: str) -> None:
    """Some of the words only, or parts of words."""
    put.put(home_dir, b"myTimeoutError", {"cwd": project_dir})
    put.put(home_dir, b"one word", {"cwd": project_dir})

    assert "as parts of words, 'timeout'" in ask(home_dir, project_dir, "timeout")[0]
    assert "some of (none holds all) 'word absent'" in ask(home_dir, project_dir, "word absent")[0]


def test_nothing_stored_and_nothing_found_are_different_answers(
    home_dir: str, project_dir: str
) -> None:
    """Both are answers, not failures."""
    empty = ask(home_dir, project_dir, "needle")
    put.put(home_dir, b"hay", {"cwd": project_dir})

    assert empty == ["[brimline recall: no output of this project is stored yet]"]
    assert ask(home_dir, project_dir, "needle") == [
        "[brimline recall: none of 1 stored outputs holds 'needle']"
    ]


def test_what_was_not_searched_is_said(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Binary content, and the end of what is large."""
    monkeypatch.setattr(fulltext, "HEAD_BYTES", 1_000)
    put.put(home_dir, b"\x00\x01", {"cwd": project_dir})
    put.put(home_dir, b"hay " * 1_000, {"cwd": project_dir})

    lines = ask(home_dir, project_dir, "needle")

    assert "Stored outputs that are binary and were not searched: 1." in lines
    assert any("are large: only the first" in line for line in lines)


def test_a_long_query_does_not_fill_the_answer(home_dir: str, project_dir: str) -> None:
    """It is shortened where it is repeated."""
    put.put(home_dir, b"hay", {"cwd": project_dir})

    assert len(ask(home_dir, project_dir, "q" * 500)[0]) < 200


def test_the_project_is_the_clients_or_the_current_folder(
    project_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client tells it where it can."""
    assert project.folder() == os.getcwd()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(world / "other"))
    assert project.folder() == str(world / "other")


def test_a_project_at_the_root_holds_everything() -> None:
    """The end of its path is no reason to miss what lies below."""
    assert project.membership("/")("/home/dev")
    assert not project.membership("/home/dev")("/home/developer")


@pytest.mark.parametrize("created", [1e300, float("nan"), -1e20, "yesterday", None, [1]])
def test_a_damaged_sidecar_costs_its_figures_only(
    home_dir: str, project_dir: str, created: object
) -> None:
    """One bad description must not hide all hits."""
    key = put.put(home_dir, b"needle", {"cwd": project_dir})
    sidecar = {"cwd": project_dir, "created": created, "lines": "many", "tool": 7, "exit": None}
    with open(layout.sidecar(home_dir, key[7:]), "w", encoding="utf-8") as file:
        json.dump(sidecar, file)

    assert ask(home_dir, project_dir, "needle")[1] == f"1. {key[:19]}"
