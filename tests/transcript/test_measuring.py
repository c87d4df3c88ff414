"""Sessions measured without their texts: the same as with every row parsed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.transcript import read, row
from brimline.transcript.typed import Session, measure

from .generated import LOOKALIKE

if TYPE_CHECKING:
    from pathlib import Path

# What a call may be given looks like the row around it.
_INPUTS: list[Any] = [
    {"a": [1], "stop_reason": None, "usage": {"input_tokens": 9}},
    {"message": {"role": "assistant", "content": [], "stop_reason": "end_turn"}},
    {"message": {"role": "user", "content": [{"tool_use_id": "t"}]}, "uuid": "u"},
    [{"parentUuid": "x", "content": [LOOKALIKE]}],
    LOOKALIKE,
]
_contents = st.lists(
    st.sampled_from(_INPUTS).map(lambda given: {"type": "tool_use", "id": "t", "input": given})
    | st.just({"type": "text", "text": LOOKALIKE}),
    max_size=2,
)


@st.composite
def _replies(draw: st.DrawFn) -> dict[str, Any]:
    """A reply with its keys in the order of the client; some rows are of the same one."""
    message = {
        "model": "claude-opus-5",
        "id": draw(st.sampled_from(["msg_1", "msg_1", "msg_2"])),
        "role": "assistant",
        "content": draw(_contents),
        "stop_reason": draw(st.sampled_from([None, "tool_use"])),
        "usage": {"input_tokens": draw(st.integers(1, 2)), "output_tokens": draw(st.just(5))},
    }
    if draw(st.integers(0, 9)) == 0:
        del message["id"]
    about = {"parentUuid": draw(st.sampled_from([None, "p"])), "isSidechain": draw(st.booleans())}
    own = {"type": "assistant", "uuid": draw(st.uuids(version=4)).hex}
    return about | {"message": message} | own | {"timestamp": "2026-01-08T15:49:03.054Z"}


_results = _contents.map(
    lambda content: {
        "parentUuid": "p",
        "message": {"role": "user", "content": [{"tool_use_id": "t"}, *content]},
        "type": "user",
        "toolUseResult": {"content": [LOOKALIKE], "usage": {"input_tokens": 9}},
    }
)
_boundaries = st.just({"parentUuid": None, "type": "system", "subtype": "compact_boundary"})
_rows = st.one_of(*[_replies()] * 3, _results, _boundaries)


@given(
    pieces=st.lists(st.tuples(_rows, st.sampled_from(["\n", "\n", "\n", "", '\n{"parentUuid":"']))),
    separators=st.sampled_from([(",", ":"), (",", ":"), (", ", ": ")]),
)
@settings(max_examples=300)
def test_what_measures_is_the_same_as_with_all_texts(
    pieces: list[tuple[dict[str, Any], str]], separators: tuple[str, str], tmp_path: Path
) -> None:
    """Whatever stands in texts and calls, whether rows share a line or one was cut short.

    Also where another program wrote the lines again, with blanks.
    """
    path = tmp_path / "session.jsonl"
    lines = [json.dumps(fields, separators=separators) + end for fields, end in pieces]
    path.write_text("".join(lines), encoding="utf-8")
    every = Session()
    for fields in read.rows_of_file(str(path)):
        every.measure_row(fields, is_boundary=row.is_compaction_row(fields))

    found = measure(str(path))

    assert found.compactions == every.compactions
    assert list(map(_told, found.requests)) == list(map(_told, every.requests))


def _told(request: Any) -> tuple[Any, ...]:
    return request.id, request.tokens, request.at, request.is_final, request.segment
