"""What the next request of a session takes, after compactions and purges."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.transcript.compacted import compact_inside

from brimline.gauge.composition import Composition
from brimline.gauge.context import Context, ContextReader
from brimline.testing import SessionBuilder
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from pathlib import Path

LONG = "word " * 4_000


@pytest.fixture
def session(tmp_path: Path) -> SessionBuilder:
    """A session without a row."""
    return SessionBuilder(str(tmp_path / "session.jsonl"))


def followed(session: SessionBuilder) -> tuple[ContextReader, Context]:
    """All of its rows."""
    reader = ContextReader()
    for found in Session().rows_of(session.path):
        reader.read_row(found)
    return reader, reader.close()


def known(tokens: int | None = 10_000, **purged: int) -> Context:
    """A request of which one result is a line by now, another before the compaction, one whole."""
    calls: dict[str, Any] = {"replaced_calls": frozenset({"line"})}
    calls |= {"undone_calls": frozenset({"before"})}
    by_call = Counter({name.removeprefix("other"): taken for name, taken in purged.items()})
    return Context(Composition(tokens), 500, 3_000, 40_000, **calls, purged=by_call)


@pytest.mark.parametrize(
    ("purged", "taken", "undone"),
    [
        ({}, 0, 40_000),
        # What no call's result took counts in both.
        ({"other": 700}, 700, 39_300),
        ({"line": 2_000}, 2_000, 40_000),
        ({"before": 2_000}, 0, 38_000),
        # It came after the last request, whose estimate has the new text.
        ({"whole": 2_000}, 0, 40_000),
        ({"line": 99_000}, 10_500, 40_000),
        ({"other": 99_000}, 10_500, 0),
    ],
)
def test_a_purge_counts_for_the_request_that_had_what_it_took(
    purged: dict[str, int], taken: int, undone: int
) -> None:
    """And never takes more than there is."""
    context = known(**purged)

    assert (context.purged_tokens, context.next_tokens) == (taken, 10_500 - taken)
    assert context.next_tokens_if_uncompacted == undone


def test_what_nothing_measured_is_the_floor_and_what_came_since() -> None:
    """From which no purge takes anything; a request that measured more is believed."""
    context = known(None, other=700)
    assert (context.measured_tokens, context.purged_tokens, context.next_tokens) == (None, 0, 3_500)
    larger = Context(Composition(90_000), 500, undone_tokens=40_000, purged=Counter({"": 400}))
    assert larger.next_tokens_if_uncompacted == 90_100


def test_turns_and_compactions_are_counted(session: SessionBuilder) -> None:
    """A boundary and the summary behind it are one; what requests take anyway stays known."""
    session.prompt("one")
    session.reply(20_000)
    session.prompt("two")
    session.reply(21_000)
    session.compact(21_000, summary="It was said.")
    before, _ = followed(session)
    session.prompt("three")

    reader, context = followed(session)

    assert before.turns == 2
    assert reader.turns == 3
    assert context.measured_tokens is None
    assert context.floor_tokens == pytest.approx(20_000, rel=0.01)
    assert context.next_tokens == context.floor_tokens + context.since_tokens
    session.reply(5_000)
    _, measured = followed(session)
    assert (measured.measured_tokens, measured.floor_tokens < 5_000) == (5_000, True)


@pytest.mark.parametrize("keeps", ["names", "stretch", "nothing", "unknown"])
def test_rows_a_compaction_kept_are_in_the_next_one(session: SessionBuilder, keeps: str) -> None:
    """By their names, or from the first of a stretch to its last."""
    session.prompt("one")
    first = session.prompt(LONG)["uuid"]
    middle = session.prompt(LONG)["uuid"]
    last = session.prompt(LONG)["uuid"]
    session.reply(60_000)
    kept: dict[str, Any] = {
        "names": {"preservedMessages": {"uuids": [first, middle, last]}},
        "stretch": {"preservedSegment": {"headUuid": first, "tailUuid": last}},
        "nothing": {},
        "unknown": {"preservedMessages": {"uuids": ["another"]}},
    }[keeps]
    told = {"trigger": "auto", "preTokens": 60_000} | kept
    session.row("system", subtype="compact_boundary", compactMetadata=told)

    _, context = followed(session)

    texts = round(context.since_tokens / (len(LONG) / 3.4))
    assert texts == (3 if keeps in ("names", "stretch") else 0)
    assert context.undone_tokens >= 60_000


def test_a_compaction_without_a_model_can_be_taken_back(session: SessionBuilder) -> None:
    """Then the next request takes what the last one before it took, and what came since."""
    session.prompt("one")
    call = session.tool_call(30_000, command="make")
    session.tool_result(call, LONG)
    session.reply(37_000)
    compact_inside(session)
    session.reply(31_000)

    _, context = followed(session)

    assert context.replaced_calls == {call}
    assert context.undone_calls == frozenset()
    assert context.next_tokens_if_uncompacted >= 37_000 > context.next_tokens >= 31_000


def test_whoever_watches_is_told_of_each_request_once(session: SessionBuilder) -> None:
    """With what it was the first to carry, and what all of the context consists of."""
    seen: list[tuple[int, list[str], int]] = []
    reader = ContextReader(
        lambda request, shares, parts: seen.append(
            (request.tokens, [share.kind for share in shares], parts.total())
        )
    )
    session.prompt("one")
    call = session.tool_call(20_000, command="ls")
    session.tool_result(call, LONG)
    session.reply(26_000)
    session.prompt("two")
    for found in Session().rows_of(session.path):
        reader.read_row(found)

    assert seen == [(20_000, ["user"], 20_000)]
    reader.close()
    assert seen[1:] == [(26_000, ["tool_input", "tool_result"], 26_000)]


@pytest.mark.parametrize(("is_rebuilt", "is_more"), [(False, True), (True, False)])
def test_a_compaction_that_a_resume_undoes_leaves_all_that_was_before_it(
    session: SessionBuilder, is_rebuilt: bool, is_more: bool
) -> None:
    """Where rows lead back before it, the next one does not begin from its smaller context."""
    session.prompt("one")
    call = session.tool_call(30_000, command="make")
    session.tool_result(call, LONG)
    session.reply(37_000)
    compact_inside(session, is_rebuilt=is_rebuilt)
    session.reply(31_000)
    compact_inside(session, is_rebuilt=is_rebuilt)

    _, context = followed(session)

    assert (context.undone_tokens >= 37_000) is is_more


def test_a_context_of_which_nothing_else_is_known_is_what_was_measured() -> None:
    """Or nothing, where nothing was."""
    measured, unknown = Context(Composition(1_000)), Context(Composition())

    assert (measured.next_tokens, measured.next_tokens_if_uncompacted) == (1_000, 1_000)
    assert (unknown.next_tokens, unknown.next_tokens_if_uncompacted) == (0, 0)
    assert (measured.purged_tokens, measured.undone_tokens, measured.floor_tokens) == (0, 0, 0)
