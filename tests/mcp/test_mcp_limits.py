"""How much the model is told at most: each limit at both of its sides."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.budget import operations
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.mcp import recall, remembered, tools
from brimline.memory import hits
from brimline.search.turns import Hit
from brimline.store import put
from brimline.testing import SessionBuilder

PROJECT = "/home/dev/project"
HIT = Hit("id", "The otter plan.", "0a1b2c3d-0000", 0.0, "user", "/p", 7, 0.0)


def ask(home_dir: str, **arguments: Any) -> list[str]:
    """The lines that the model gets."""
    return recall.answer(home_dir, PROJECT, arguments).split("\n")


def keep(home_dir: str, data: bytes, **meta: Any) -> str:
    """Store an output of the project."""
    return put.put(home_dir, data, {"cwd": PROJECT} | meta)


def long_line(characters: int) -> str:
    """A line that begins with the word."""
    return "needle " + "x" * (characters - 7)


@pytest.mark.parametrize("most", [600, 240])
def test_a_line_that_holds_the_words_is_shown_up_to_its_limit(home_dir: str, most: int) -> None:
    """600 characters of one output, 240 where several are found; how long it is is told."""
    whole, longer = long_line(most), long_line(most + 1)
    key = keep(home_dir, f"{whole}\n{longer}\n".encode())

    lines = ask(home_dir, key=key, query="needle") if most == 600 else ask(home_dir, query="needle")

    assert [line.strip() for line in lines[-2:]] == [
        f"1: {whole}",
        f"2: {longer[:most]}… ({most + 1} characters)",
    ]


@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize(
    ("query", "told"), [("q" * 80, "q" * 80), ("q" * 81, "q" * 39 + "…" + "q" * 40)]
)
def test_of_a_query_eighty_characters_are_repeated(
    home_dir: str, query: str, told: str, by_key: bool
) -> None:
    """Its middle is left out."""
    key = keep(home_dir, b"nothing of it")

    head = ask(home_dir, query=query, **({"key": key} if by_key else {}))[0]

    assert f"{told!r}]" in head


@pytest.mark.parametrize(("characters", "is_whole"), [(28_999, True), (29_000, False)])
def test_an_answer_has_29_000_characters_of_content(
    home_dir: str, characters: int, is_whole: bool
) -> None:
    """Below its first line."""
    key = keep(home_dir, b"x" * characters)

    head, content = ask(home_dir, key=key)

    assert ("its only line" in head) is is_whole
    assert len(content) == characters if is_whole else len(content) == 29_000
    assert is_whole or f"characters 1-29,000 of {characters:,}" in head


@pytest.mark.parametrize(("more", "shown"), [(0, 8), (1, 7)])
def test_outputs_that_were_found_take_4_000_characters(
    home_dir: str, more: int, shown: int
) -> None:
    """One character more, and the last of them is left for the next answer."""

    def stored_with(place: str, number: int, padding: int) -> None:
        line = f"needle {number} " + "x" * 195
        keep(place, f"{line}\n{line}{'y' * padding}\n".encode())

    stored_with(f"{home_dir}-probe", 1, 0)
    _, *block = ask(f"{home_dir}-probe", query="needle", lines="1:1")
    padding = 499 - len("\n".join(block))
    for number in range(1, 9):
        stored_with(home_dir, number, padding + (more if number == 4 else 0))

    head, *rows = ask(home_dir, query="needle", lines="1:8")

    assert head.startswith(f"[brimline recall: hits 1-{shown} of 8 that hold 'needle'")
    assert len("\n".join(rows)) in (500 * shown - 1, 500 * shown)


@pytest.mark.parametrize(("more", "shown"), [(0, 8), (1, 7)])
def test_what_was_said_takes_half_of_that(home_dir: str, more: int, shown: int) -> None:
    """Eight entries, or as many as there is room for."""
    row = "m1 (, unknown age, session g1): "
    text = "otter " + "x" * (249 - len(row) - 6)
    entries = [
        {"id": f"{n}", "text": f"{text[:-1]}{n}" + "y" * (more if n == 4 else 0)}
        | {"project": PROJECT, "group": f"g{n}"}
        for n in range(8)
    ]
    hits.open_memory(home_dir).add(entries)

    _, *rows = ask(home_dir, query="otter")

    assert len(rows) == shown
    assert {len(one) for one in rows} <= {249, 250}


def test_an_argument_that_is_none_is_named_by_forty_characters(home_dir: str) -> None:
    """Beside those that there are."""
    for name in ("n" * 40, "n" * 41):
        with pytest.raises(StoreError) as raised:
            ask(home_dir, **{name: 1})
        told = f"recall takes key, query, lines, everywhere, not {'n' * 40!r}"
        assert str(raised.value) == told


def test_a_failure_names_forty_characters_of_a_tool(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever made the name up."""

    def failing(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(tools, "_dispatch", failing)
    told = f"{'t' * 40} failed (RuntimeError): see `brimline doctor`"

    assert tools.answer("t" * 40, {}) == tools.answer("t" * 41, {}) == (told, True)


@pytest.mark.parametrize(("text", "shown"), [("x" * 320, "x" * 320), ("x" * 321, "x" * 319 + "…")])
def test_an_entry_that_was_found_has_320_characters(text: str, shown: str) -> None:
    """On its line."""
    line = remembered.found_entry_line(HIT._replace(text=text))

    assert line == f"m7 (user, unknown age, session 0a1b2c3d): {shown}"


@pytest.mark.parametrize(
    ("text", "shown"), [("x" * 1_300, "x" * 1_300), ("x" * 1_301, "x" * 1_300 + "…")]
)
def test_an_entry_is_quoted_with_1_300_characters(text: str, shown: str) -> None:
    """What is longer ends with an ellipsis."""
    assert remembered.quote_entry(HIT._replace(text=text)).split("\n")[1] == f"  > {shown}"


@pytest.mark.parametrize(("more", "is_whole"), [(0, True), (1, False)])
def test_a_budget_is_shown_in_5_000_characters(
    home_dir: str, project_dir: str, more: int, is_whole: bool
) -> None:
    """One more, and it is cut at a line."""
    folder = paths.project_transcripts_dir(project_dir)
    SessionBuilder(f"{folder}/newest.jsonl", "newest", project_dir).reply(50_000)
    item = {"operation": "add", "compartment": "ambient_knowledge"}

    def whole() -> str:
        return operations.text(operations.run_operation(home_dir, "newest", None, "list", {}))

    def add(text: str) -> None:
        assert not tools.answer("context_budget", item | {"text": text})[1]

    number = 100
    add(f"{number}")
    step = len(whole()) + 1
    while len(whole()) + step <= 5_000 + more - 2 * step:
        number += 1
        add(f"{number}")
    # Of a longer text the tokens have two digits.
    add(f"{number + 1}" + "x" * (5_000 + more - len(whole()) - step - 1))

    text, _ = tools.answer("context_budget", {"operation": "list"})

    assert len(whole()) == 5_000 + more
    assert (text == whole()) is is_whole
    assert text.endswith("[1 more lines: name a compartment, or remove what is not needed]") is (
        not is_whole
    )


@pytest.mark.parametrize(("length", "told"), [(60, "s" * 60), (61, "s" * 60)])
def test_a_status_names_a_session_by_sixty_characters(
    length: int, told: str, project_dir: str
) -> None:
    """And says which one it is."""
    folder = paths.project_transcripts_dir(project_dir)
    SessionBuilder(f"{folder}/{'s' * length}.jsonl", "s" * length, project_dir).reply(50_000)

    text, failed = tools.answer("context_status", {})

    head = f"[brimline context_status] Session {told} (the newest session of this project):"
    assert (text.split("\n")[0], failed) == (head, False)
