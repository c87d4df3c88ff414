"""Transcripts as the client, its older versions, crashes and accidents leave them behind."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

LOOKALIKE = (
    '{"type":"assistant","message":{"id":"x","usage":{"input_tokens":199000}}} '
    '{"type":"system","subtype":"compact_boundary"} {"isCompactSummary":true}'
)
_INVALID = "INVALID-UTF-8"


def encode(row: Any) -> bytes:
    """A row as the client writes it, with the marked texts turned into broken UTF-8."""
    text = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace").replace(_INVALID.encode(), b"\xc3\x28\xff\xfe")


_texts = st.one_of(
    st.sampled_from(
        ["", "ok", LOOKALIKE, f'"usage" {LOOKALIKE}', "compact", _INVALID, "ünï\u2028x"]
    ),
    st.text(max_size=12),
    st.integers(0, 400).map(lambda count: "y" * count),
)
_counts: st.SearchStrategy[Any] = st.one_of(
    st.integers(0, 300_000),
    st.integers(0, 300_000),
    st.sampled_from([None, 0, -1, 1.5, "12", True, [], 10**30]),
)
_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), _texts)
json_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_usages = st.one_of(
    st.fixed_dictionaries(
        {"input_tokens": _counts},
        optional={
            "cache_read_input_tokens": _counts,
            "cache_creation_input_tokens": _counts,
            "output_tokens": _counts,
            "service_tier": st.just("standard"),
        },
    ),
    st.sampled_from([None, {}, 7, "many"]),
)
_blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": _texts}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": _texts}),
    st.fixed_dictionaries(
        {"type": st.just("tool_use"), "name": st.just("Bash"), "input": json_values}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_result"),
            "content": _texts
            | st.lists(
                st.fixed_dictionaries({"type": st.just("text"), "text": _texts})
                | st.just({"type": "image", "source": {"data": "aGk="}}),
                max_size=2,
            ),
        }
    ),
    st.just({"type": "image", "source": {"type": "base64", "data": "aGk="}}),
    json_values,
)
_contents = st.one_of(_texts, st.lists(_blocks, max_size=3), st.none())
_flags: dict[str, st.SearchStrategy[Any]] = {
    "isSidechain": st.sampled_from([False, False, False, True]),
    "timestamp": st.sampled_from(["2026-01-08T15:49:03.054Z", "2026-01-08T15:50:00Z", 5]),
}
_replies = st.fixed_dictionaries(
    {
        "type": st.just("assistant"),
        "message": st.fixed_dictionaries(
            {"usage": _usages, "content": _contents},
            optional={
                "id": st.sampled_from(["msg_1", "msg_1", "msg_2", "msg_3", None, 4]),
                "model": st.sampled_from(["claude-sonnet-4-5", "claude-opus-5", "<synthetic>"]),
            },
        ),
    },
    optional=_flags
    | {"isApiErrorMessage": st.sampled_from([False, False, True]), "version": st.just("2.1.325")},
)
_agent_result = {
    "status": "completed",
    "content": [{"type": "text", "text": "done"}],
    "usage": {"input_tokens": 190_000, "output_tokens": 20},
}
_user_rows = st.fixed_dictionaries(
    {"type": st.just("user"), "message": st.fixed_dictionaries({"content": _contents})},
    optional=_flags
    | {
        "toolUseResult": st.just(_agent_result) | json_values,
        "isVisibleInTranscriptOnly": st.booleans(),
        "isCompactSummary": st.sampled_from([False, False, False, "true", True]),
    },
)
_boundaries = st.fixed_dictionaries(
    {
        "type": st.just("system"),
        "subtype": st.sampled_from(["compact_boundary", "compact_boundary", "stop_hook_summary"]),
        "compactMetadata": st.just({"trigger": "auto", "preTokens": 167_100}),
    },
    optional=_flags,
)
_other_rows = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("attachment"),
            "attachment": st.just({"type": "hook_additional_context", "content": ["as recorded"]}),
        },
        optional=_flags | {"rendered": json_values},
    ),
    # Progress rows carry a subagent's message, usage and all, one level down.
    _replies.map(lambda row: {"type": "progress", "data": {"message": row}}),
    json_values,
)
_summaries = _user_rows.map(lambda row: row | {"isCompactSummary": True})
rows = st.one_of(*[_replies] * 3, *[_user_rows] * 2, _boundaries, _summaries, _other_rows)
_garbage = st.one_of(
    st.sampled_from(
        [b"", b"   ", b"{", b'{"type":"assistant","mess', b'"usage"', b"[[[[", b"\xff"]
    ),
    st.binary(max_size=20),
)
_separators = st.sampled_from([b"\n", b"\n", b"\n", b"\n", b"\r\n", b"", b" ", b"\n\n"])
_pieces = st.tuples(st.one_of(*[rows.map(encode)] * 9, _garbage), _separators)


@st.composite
def transcripts(draw: st.DrawFn) -> bytes:
    """A whole file: rows and garbage, sound and merged lines, maybe a BOM, maybe cut off."""
    data = b"".join(piece for pair in draw(st.lists(_pieces, max_size=14)) for piece in pair)
    if draw(st.integers(0, 9)) == 0:
        data = b"\xef\xbb\xbf" + data
    if draw(st.booleans()):
        data = data[: len(data) - draw(st.integers(0, 60))]
    return data


@st.composite
def mutated_transcripts(draw: st.DrawFn) -> bytes:
    """A transcript after some of its bytes were overwritten, removed or doubled."""
    data = draw(transcripts())
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        data = (
            data[:start] + draw(st.binary(max_size=8) | st.just(data[start:end] * 2)) + data[end:]
        )
    return data
