"""Where the tokens went: shares add up to what was measured, whatever the session looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.gauge import composition
from brimline.gauge.composition import (
    SYSTEM,
    UNKNOWN_TOOL,
    Composition,
    FileTokens,
    Injection,
    Injections,
    Ledger,
    Share,
    composition_of,
    estimate_piece_tokens,
    first_request_estimates,
    growth_shares,
)
from brimline.testing import SessionBuilder, text_block
from brimline.transcript.pieces import Piece
from brimline.transcript.typed import Session, measure

from ..transcript.generated import mutated_transcripts, transcripts  # noqa: TID252

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "claude-sonnet-4-5-20250929"
thorough = settings(max_examples=120)
FIGURES = {
    "LEAST_SCALE": 0.5,
    "LARGEST_SCALE": 2.0,
    "_PROSE_FACTOR": 1.2,
    "_OVERHEAD_TOKENS": {"tool_input": 90, "tool_result": 10},
    "_TELLING_TOKENS": 5_000,
}


@pytest.fixture(autouse=True)
def figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ones of these tests, whatever was measured."""
    for name, value in FIGURES.items():
        monkeypatch.setattr(composition, name, value)


def composed(session: SessionBuilder) -> Composition:
    """The composition of the session as written so far, checked for the sums that always hold."""
    found = composition_of(Session().rows_of(session.path))
    check_sums(found)
    return found


def check_sums(found: Composition) -> None:
    """Parts, turns and every breakdown add up to what they break down."""
    assert found.parts.total() == (found.occupancy_tokens or 0)
    added = [turn.tokens_added for turn in found.turns if turn.in_context]
    assert sum(added) == (found.occupancy_tokens or 0)
    assert found.tools.total() == found.parts["tool_result"]
    assert found.hooks.total() == found.parts["hook"]
    assert found.client.total() == found.parts["client"]
    assert found.floor.total() == found.parts["floor"]
    assert sum(file.tokens for file in found.files) <= found.tools.total()


def hook_context(session: SessionBuilder, name: str, *texts: str) -> None:
    """Context that a hook injects."""
    attachment = {"type": "hook_additional_context", "hookName": name, "content": list(texts)}
    rendered = [{"content": f"{name} hook additional context: {text}"} for text in texts]
    session.row("attachment", attachment=attachment, rendered=rendered)


def final_reply(
    session: SessionBuilder, tokens: int, output_tokens: int, *blocks: dict[str, Any]
) -> None:
    """A reply of a client that records the true size of it."""
    message = {
        "id": f"final_{tokens}_{output_tokens}",
        "model": session.model,
        "content": list(blocks),
        "stop_reason": "end_turn",
        "usage": {"input_tokens": tokens, "output_tokens": output_tokens},
    }
    session.row("assistant", message=message)


def thought(characters: int) -> dict[str, Any]:
    """A thought as older clients record it."""
    return {"type": "thinking", "thinking": "t" * characters, "signature": ""}


@given(data=transcripts() | mutated_transcripts() | st.binary(max_size=200))
@thorough
def test_on_any_file_the_parts_add_up_to_the_occupancy(data: bytes, tmp_path: Path) -> None:
    """Nothing raises, the occupancy is the scan's, and all sums hold."""
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(data)

    found = composition_of(Session().rows_of(str(path)))

    occupancies = measure(str(path)).occupancies_since_compaction
    assert found.occupancy_tokens == (occupancies[-1] if occupancies else None)
    check_sums(found)


_tokens = st.integers(1_000, 200_000)
_lengths = st.integers(0, 30_000)
_steps = st.one_of(
    st.tuples(st.just("prompt"), _lengths),
    st.tuples(st.just("call"), _tokens, st.sampled_from(["Read", "Bash"]), _lengths),
    st.tuples(st.just("reply"), _tokens, _lengths),
    st.tuples(st.just("final"), _tokens, _lengths),
    st.tuples(st.just("hook"), _lengths),
    st.tuples(st.just("compact"), st.booleans()),
)


@given(steps=st.lists(_steps, max_size=20))
@thorough
def test_on_any_session_the_parts_add_up(steps: list[tuple[Any, ...]], tmp_path: Path) -> None:
    """Growth of any size and sign, in any order of events, is accounted for to the token."""
    path = tmp_path / "built.jsonl"
    path.write_bytes(b"")
    session = SessionBuilder(str(path))
    for name, *values in steps:
        if name == "prompt":
            session.prompt("p" * values[0])
        elif name == "call":
            call = session.tool_call(values[0], values[1], file_path="/a.py")
            session.tool_result(call, "r" * values[2])
        elif name == "reply":
            session.reply(values[0], thought(values[1]), text_block("a"))
        elif name == "final":
            final_reply(session, values[0], values[1], thought(7), text_block("abc"))
        elif name == "hook":
            hook_context(session, "Stop", "[brimline] n", "h" * values[0])
        else:
            session.compact(160_000, legacy=values[0])

    found = composed(session)

    occupancies = measure(session.path).occupancies_since_compaction
    assert found.occupancy_tokens == (occupancies[-1] if occupancies else None)
    assert sum(turn.requests for turn in found.turns if turn.in_context) == len(occupancies)


@pytest.mark.parametrize(
    ("growth", "added", "output", "shares"),
    [
        # In proportion to the estimates, which are 190, 1,010 and 100.
        (1_950, {"tool_input": 285, "tool_result": 2_850, "user": 342}, None, [285, 1_515, 150]),
        # The client's own count of the reply stands, also of one without any text.
        (1_700, {"thinking": 0, "assistant": 100, "tool_result": 2_850}, 500, [0, 500, 1_200]),
        (600, {"thinking": 0, "user": 342}, 500, [500, 100]),
        # Texts take between half and twice their estimate: the rest is something else.
        (50_000, {"tool_result": 2_850}, None, [2_020]),
        (900, {"tool_result": 2_850}, None, [900]),
        (-3_000, {"tool_result": 2_850}, None, [505]),
        # A reply of which something was left out is scaled down, not kept.
        (600, {"assistant": 342, "user": 342}, 900, [540, 60]),
    ],
)
def test_growth_is_shared_by_what_is_known(
    growth: int, added: dict[str, int], output: int | None, shares: list[int]
) -> None:
    """Exact counts first, then the estimates, within bounds."""
    known = [Piece(kind, characters) for kind, characters in added.items()]

    found = growth_shares(growth, known, MODEL, output_tokens=output)

    assert sum(found) == sum(shares)
    assert all(abs(one - other) <= 20 for one, other in zip(found, shares, strict=True))
    assert first_request_estimates(10, [Piece("user", 99_999)], MODEL) == [10]
    newer = estimate_piece_tokens(Piece("tool_result", 10_000), "claude-opus-4-7")
    assert newer > 1.2 * estimate_piece_tokens(Piece("tool_result", 10_000), MODEL)


def test_the_first_request_is_the_floor_but_for_what_was_said(session: SessionBuilder) -> None:
    """The client's lists belong to it, named; a mentioned file is there for this session only."""
    listing = {"type": "skill_listing", "content": "s"}
    session.row("attachment", attachment=listing, rendered=[{"content": "s" * 3_420}])
    file = {"type": "file", "filename": "/a.py"}
    session.row("attachment", attachment=file, rendered=[{"content": "f" * 3_420}])
    session.prompt("p" * 342)
    session.reply(40_000)

    found = composed(session)

    assert found.parts == {"user": 100, "client": 1_000, "floor": 38_900}
    assert found.floor == {"skill_listing": 1_000, SYSTEM: 37_900}
    assert found.client == {"file": 1_000}


@pytest.mark.parametrize("by_service", [False, True])
def test_results_that_were_cleared_do_not_count(session: SessionBuilder, by_service: bool) -> None:
    """By the client, which names them, or by the service, which takes the oldest."""
    calls = []
    for at in (10_000, 20_000):
        calls.append(session.tool_call(at, "Read", file_path="/f"))
        session.tool_result(calls[-1], "x" * 28_000)
    session.reply(30_240)
    tokens = composed(session).parts["tool_result"]
    session.now += 7_200
    if not by_service:
        session.cut(calls[0])
    session.prompt("on")
    [reply] = session.reply(20_400)
    if by_service:
        edit = {"type": "clear_tool_uses_1", "cleared_tool_uses": 1, "cleared_input_tokens": 9_950}
        told = {"context_management": {"applied_edits": [edit]}}
        session.row("assistant", message=reply["message"] | told)

    found = composed(session)

    assert found.parts["tool_result"] == pytest.approx(tokens - 9_950, abs=200)
    assert abs(found.parts["unexplained"]) < 300
    assert found.turns[-1].parts["tool_result"] < -9_000


def test_thoughts_go_first_when_a_new_prompt_shrinks_the_context(session: SessionBuilder) -> None:
    """Many models are not sent the thinking of earlier turns: a drop there is that."""
    session.prompt("go")
    session.reply(40_000, thought(34_200))
    session.reply(50_000)
    session.prompt("next")
    session.reply(42_000)

    found = composed(session)

    assert found.parts["unexplained"] == 0
    assert found.parts["thinking"] == pytest.approx(2_000, abs=10)
    assert found.turns[1].parts["thinking"] < 0


@pytest.mark.row("S3-40")
@pytest.mark.parametrize("legacy", [False, True])
def test_nothing_before_the_last_compaction_counts(session: SessionBuilder, legacy: bool) -> None:
    """The summary is a part of its own; what else came with it is the floor."""
    session.prompt("go")
    call = session.tool_call(40_000, "Read", file_path="/old.py")
    session.tool_result(call, "x" * 9_000)
    session.reply(160_000)
    session.compact(167_000, summary="s" * 3_420, legacy=legacy)
    waiting = composed(session)
    assert (waiting.occupancy_tokens, waiting.parts) == (None, {})
    assert [(turn.number, turn.in_context) for turn in waiting.turns] == [(1, False)]
    session.reply(50_000)

    found = composed(session)

    assert found.parts == {"summary": 1_000, "floor": 49_000}
    assert (found.files, found.tools) == ([], {})
    session.row("system", subtype="compact_boundary")
    hook_context(session, "SessionStart", "[brimline] " + "n" * 300)
    session.prompt("s" * 3_420, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    session.reply(50_000)
    between = composed(session).parts  # both rows are one compaction
    assert between["summary"] == 1_000
    assert between["hook"] > 90


@pytest.mark.row("S2-48")
def test_every_turn_says_what_it_added(session: SessionBuilder) -> None:
    """A reply belongs to its own turn, although only the next turn's request measures it."""
    session.prompt("first")
    session.reply(40_000, text_block("a" * 3_420))
    session.prompt("p" * 342)
    call = session.tool_call(41_100, "Bash", command="ls")
    session.tool_result(call, "r" * 2_850)
    session.reply(42_200)

    one, two = composed(session).turns

    assert (one.number, one.prompt, one.requests) == (1, "first", 1)
    assert one.parts["assistant"] == 1_000
    assert (two.number, two.prompt, two.requests) == (2, "p" * composition._PROMPT_CHARACTERS, 2)
    assert two.parts["user"] == 100
    assert one.tokens_added + two.tokens_added == 42_200
    assert two.parts["tool_result"] == pytest.approx(1_010, rel=0.05)


@pytest.mark.row("S2-48")
def test_a_turn_that_a_compaction_interrupts_keeps_its_number(
    session: SessionBuilder,
) -> None:
    """Each side of the compaction has an entry; the next prompt counts on."""
    session.prompt("<command-name>/model</command-name>")
    session.prompt("long work")  # one that reached no request shares the next one's turn
    session.reply(160_000)
    session.compact(167_000)
    session.reply(50_000)
    session.prompt("<command-name>/compact</command-name>")
    session.prompt("next")
    session.reply(51_000)

    turns = composed(session).turns

    assert [(turn.number, turn.prompt, turn.in_context) for turn in turns] == [
        (1, "long work", False),
        (1, "long work", True),
        (2, "next", True),
    ]


def test_results_are_told_by_tool_and_by_file(session: SessionBuilder) -> None:
    """A result finds its call in either order; one without a call is of an unknown tool."""
    session.prompt("go")
    session.tool_result("early", "e" * 2_850)
    early = {"type": "tool_use", "id": "early", "name": "Edit", "input": {"file_path": "/a.py"}}
    session.reply(40_000, early)
    read = session.tool_call(40_200, "Read", file_path="/a.py")
    session.tool_result(read, "r" * 2_850)
    session.tool_result("orphan", "o" * 2_850)
    session.reply(42_400)

    found = composed(session)

    assert set(found.tools) == {"Edit", "Read", UNKNOWN_TOOL}
    assert found.results == {"Edit": 1, "Read": 1, UNKNOWN_TOOL: 1}
    (file,) = found.files
    assert (file.file, file.reads) == ("/a.py", 1)
    assert file.tokens == found.tools["Edit"] + found.tools["Read"]


@pytest.mark.row("S2-02")
def test_every_injected_text_has_a_source_and_a_cost(session: SessionBuilder) -> None:
    """Hooks are told apart by name and by whether the text is ours, and add up to their part."""
    session.prompt("go")
    hook_context(session, "UserPromptSubmit", "[brimline] " + "n" * 400)
    call = session.tool_call(40_000)
    session.tool_result(call, "ok")
    hook_context(session, "PostToolUse:Bash", "[brimline] " + "n" * 300, "o" * 311)
    reminder = {"type": "task_reminder", "content": []}
    session.row("attachment", attachment=reminder, rendered=[{"content": "c" * 500}])
    session.reply(40_600)

    found = composed(session)

    assert set(found.hooks) == {
        ("UserPromptSubmit", True),
        ("PostToolUse:Bash", True),
        ("PostToolUse:Bash", False),
    }
    assert found.hooks["PostToolUse:Bash", True] == pytest.approx(
        found.hooks["PostToolUse:Bash", False], abs=1
    )
    assert set(found.client) == {"task_reminder"}


@pytest.mark.parametrize(
    ("estimated", "measured", "factor"),
    [(0, 0, 1.0), (4_999, 9_998, 1.0), (5_000, 10_000, 1.0), (5_001, 10_002, 2.0)],
)
def test_texts_of_many_tokens_tell_how_they_count(
    estimated: float, measured: float, factor: float
) -> None:
    """Less says nothing."""
    ledger = Ledger()
    ledger.estimated_tokens, ledger.measured_tokens = estimated, measured

    assert ledger.ratio_of_measured_to_estimated() == factor


@pytest.mark.parametrize(
    ("reads", "count", "repeated"),
    [
        ([], 0, 0),
        ([(1, 10)], 1, 0),
        ([None, (1, 10)], 1, 0),
        ([(1, 10), (10, 20)], 2, 0),
        ([(10, 20), (1, 10)], 2, 0),
        ([(1, 10), (9, 20)], 2, 2),
        ([(10, 20), (1, 11)], 2, 2),
        ([(1, 10), (10, 20), (1, 10), (5, 6)], 4, 12),
        ([(1, 10), None, (1, 10)], 2, 4),
    ],
)
def test_a_read_repeats_where_one_line_of_it_was_read_before(
    reads: list[tuple[int, int] | None], count: int, repeated: int
) -> None:
    """Lines that lie next to each other are others; an edit reads nothing."""
    calls = [(Piece("tool_input", 9, lines=lines), 1 << at) for at, lines in enumerate(reads)]

    found = composition._sum_up_reads_of_file("/a", calls)

    assert found == FileTokens("/a", (1 << len(reads)) - 1, count, repeated)


@pytest.mark.parametrize(
    ("total", "weights", "shares"),
    [
        (10, [], []),
        (10, [0, 0], [0, 0]),
        (10, [1], [10]),
        (10, [1, 1], [5, 5]),
        (11, [1, 1], [6, 5]),
        (10, [1, 2], [3, 7]),
        (10, [2, 1], [7, 3]),
        (10, [1, 1, 1], [4, 3, 3]),
        (11, [1, 1, 1], [4, 4, 3]),
        (1, [0, 1], [0, 1]),
        (0, [1, 2], [0, 0]),
    ],
)
def test_a_whole_number_is_shared_out_to_the_last_one(
    total: int, weights: list[int], shares: list[int]
) -> None:
    """Where a remainder is the largest, or among equals the first; nothing without weights."""
    assert composition.divide_by_weights(total, weights) == shares


def test_a_text_that_was_injected_counts_once() -> None:
    """When it comes in; another of the same words is another."""
    first, second = Piece("hook", 8, "Stop"), Piece("hook", 9, "Stop")
    client = Piece("client", 8, "todo")
    counted = Injections()
    for shared in ({0: first, 9: client}, {0: first, 30: second, 50: Piece("user", 5)}):
        shares = [Share(piece, piece.kind, 10, offset) for offset, piece in shared.items()]
        counted.add_new_injections_to_counts(shares)

    hook, todo = Injection("hook", "Stop"), Injection("client", "todo")
    assert counted.times == {hook: 2, todo: 1}
    assert counted.tokens == {hook: 20, todo: 10}


def test_turns_and_compositions_of_which_nothing_is_known_hold_nothing() -> None:
    """A turn is part of the context until a compaction; two of them share nothing."""
    turn, other = composition.Turn(1, "go"), composition.Turn(2, "on")
    turn.parts["user"] += 5

    assert (turn.requests, turn.in_context, turn.tokens_added) == (0, True, 5)
    assert other.tokens_added == 0
    assert Composition().occupancy_tokens is None
    assert Ledger().close().parts.total() == 0
