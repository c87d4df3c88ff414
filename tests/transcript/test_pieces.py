"""From a row to its pieces: whose text it is, how long, and of which tool or file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.transcript import pieces
from brimline.transcript.pieces import Piece, entry_of_row
from brimline.transcript.typed import Session

# Rows and parts of rows, each with its pieces.
CASES = json.loads((Path(__file__).parent / "golden" / "pieces.json").read_text(encoding="utf-8"))


def user(content: Any, **fields: Any) -> dict[str, Any]:
    """A user row."""
    return {"type": "user", "message": {"role": "user", "content": content}} | fields


def assistant(*blocks: Any, **fields: Any) -> dict[str, Any]:
    """An assistant row without usage."""
    return {"type": "assistant", "message": {"id": "msg_1", "content": list(blocks)}} | fields


def attached(kind: str, **fields: Any) -> dict[str, Any]:
    """An attachment row; `rendered` stands beside the attachment, everything else in it."""
    rendered = {"rendered": fields.pop("rendered")} if "rendered" in fields else {}
    return {"type": "attachment", "attachment": {"type": kind} | fields} | rendered


def found(row: Any) -> list[Piece]:
    """The pieces of a row."""
    return list(entry_of_row(row).pieces)


def kinds(row: Any) -> list[tuple[str, int]]:
    """The pieces of a row, by kind and length only."""
    return [(piece.kind, piece.characters) for piece in found(row)]


@pytest.mark.parametrize(("text", "kind"), CASES["said"])
def test_the_users_words_are_told_from_the_clients_in_their_name(text: str, kind: str) -> None:
    """Command output, notifications and reminders are the client's, as text and as block."""
    meta = entry_of_row(user(text, isMeta=True))
    assert (meta.prompt, [piece.kind for piece in meta.pieces]) == (None, ["client"])
    assert kinds(user(text)) == [(kind, len(text))]
    assert kinds(user([{"type": "text", "text": text}])) == [(kind, len(text))]


@pytest.mark.parametrize(("content", "prompt"), CASES["prompts"])
def test_a_prompt_is_what_the_user_typed(content: Any, prompt: str | None) -> None:
    """Slash commands read as they were typed; results and the client's words are no prompts."""
    assert entry_of_row(user(content)).prompt == prompt


def test_a_call_names_its_tool_its_file_and_its_lines() -> None:
    """A read knows which lines it asked for; other tools only their file."""
    read = {"id": "t1", "name": "Read", "input": {"file_path": "/a.py", "offset": 10, "limit": 5}}
    edit = {"id": "t2", "name": "Edit", "input": {"file_path": "/a.py", "old_string": "x"}}

    first, second = found(assistant({"type": "tool_use"} | read, {"type": "tool_use"} | edit))

    assert (first.kind, first.name, first.call_id) == ("tool_input", "Read", "t1")
    assert (first.file, first.lines) == ("/a.py", (10, 15))
    assert (second.file, second.lines) == ("/a.py", None)
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "abc"}
    copied = user([result], toolUseResult={"stdout": "abc" * 99})
    assert found(copied) == [Piece("tool_result", 3, call_id="t1")]
    references = [{"type": "tool_reference", "tool_name": "TaskCreate"}] * 3
    loaded = user([result | {"content": references}])  # bytes on disk, a schema in the context
    assert kinds(loaded) == [("tool_result", 3 * pieces.TOOL_REFERENCE_CHARACTERS)]
    file = attached("file", filename="/a.py", rendered=[{"content": "abc"}])
    assert found(file) == [Piece("client", 3, "file", file="/a.py")]


# Three bytes are four letters of base64.
FRAME = pieces._SIGNATURE_OVERHEAD_CHARACTERS * 4 // 3


@pytest.mark.parametrize(
    ("thinking", "signature", "characters"),
    [
        ("hm" * 50, "", 100),
        ("", "s" * (FRAME + 2_400), 1_800),
        ("short", "s" * (FRAME + 2_400), 1_800),
        ("", "", 0),
    ],
)
def test_a_thought_is_as_long_as_is_signed(thinking: str, signature: str, characters: int) -> None:
    """Newer clients leave the text out, older ones may shorten it; the signature holds it all."""
    block = {"type": "thinking", "thinking": thinking, "signature": signature}

    assert kinds(assistant(block)) == [("thinking", characters)]


@pytest.mark.row("S2-02")
def test_each_text_of_a_hook_is_a_piece_and_ours_are_marked() -> None:
    """Texts of several hooks share the frame around them by length."""
    texts = ["[brimline] note", "from another ho"]
    row = attached(
        "hook_additional_context",
        content=texts,
        hookName="PostToolUse:Bash",
        hookEvent="PostToolUse",
        rendered=[{"content": "x" * 60}],
    )

    assert found(row) == [
        Piece("hook", 30, "PostToolUse:Bash", ours=True),
        Piece("hook", 30, "PostToolUse:Bash", ours=False),
    ]


def test_what_a_hook_printed_counts_where_the_client_sends_it() -> None:
    """Plain output of a start hook is context; the same row without a rendered text is not sent."""
    fields = {"content": "hello", "stdout": "hello", "hookName": "SessionStart:startup"}

    assert kinds(attached("hook_success", **fields, rendered=[{"content": "h" * 40}])) == [
        ("hook", 40)
    ]
    assert found(attached("hook_success", **fields)) == []


@pytest.mark.parametrize(("row", "expected"), CASES["attached"])
def test_attachments_count_by_what_is_sent(row: dict[str, Any], expected: list[list[Any]]) -> None:
    """The rendered text where the client keeps one, else the known fields of the known types."""
    assert [list(one) for one in kinds(row)] == expected


@pytest.mark.parametrize("row", CASES["unsent"])
def test_what_the_main_thread_never_sent_is_nothing(row: dict[str, Any]) -> None:
    """Subagents, notices, synthetic replies and the client's bookkeeping add no piece."""
    assert found(row) == []


def test_a_summary_counts_although_it_is_only_shown_in_the_transcript() -> None:
    """The client hides it from the screen, not from the model."""
    row = user("Summary.", isCompactSummary=True, isVisibleInTranscriptOnly=True)

    assert found(row) == [Piece("summary", 8)]


@pytest.mark.parametrize(
    ("fields", "characters"),
    [
        ({"signature": "s" * FRAME}, 0),
        ({"signature": "s" * (FRAME + 2)}, 1),
        ({"signature": "s" * (FRAME + 4)}, 3),
        ({"data": "d" * (FRAME + 4)}, 3),
        ({"signature": "s" * (FRAME + 4), "data": "d" * 900}, 3),
        ({"thinking": "abcd", "signature": "s" * (FRAME + 4)}, 4),
        ({"thinking": 5}, 0),
    ],
)
def test_a_signature_tells_three_characters_in_four_beyond_its_frame(
    fields: dict[str, Any], characters: int
) -> None:
    """Hidden thinking is measured by its data."""
    assert pieces.thought_characters(fields) == characters


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        *[("agent_listing_delta", "addedLines"), ("deferred_tools_delta", "addedLines")],
        *[("diagnostics", "files"), ("edited_text_file", "snippet")],
        *[("mcp_instructions_delta", "addedBlocks"), ("queued_command", "prompt")],
        *[("skill_listing", "content"), ("task_reminder", "content")],
    ],
)
def test_what_is_sent_without_a_rendered_text_counts_by_one_field(kind: str, field: str) -> None:
    """A text elsewhere in it is the client's own; where the client tells what it sent, that is."""
    plain = attached(kind, **{field: ["ab", {"x": "c"}], "other": "zzzz"})

    assert found(plain) == [Piece("client", 3, kind)]
    assert kinds(plain | {"rendered": "abcdef"}) == [("client", 6)]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"hookName": "Stop:x", "hookEvent": "Stop"}, "Stop:x"),
        ({"hookEvent": "Stop"}, "Stop"),
        ({}, "hook"),
    ],
)
def test_a_hook_is_named_by_its_name_its_event_or_as_one(
    fields: dict[str, Any], named: str
) -> None:
    """Without texts of its own the whole of what was sent is one piece."""
    row = attached("hook_success", **fields, rendered="x" * 40)
    shared = attached("hook_additional_context", content=["a", "bbb"], **fields, rendered="x" * 41)

    assert found(row) == [Piece("hook", 40, named)]
    assert found(shared) == [Piece("hook", 10, named), Piece("hook", 30, named)]


def test_a_result_of_ours_is_known_wherever_our_mark_stands() -> None:
    """A hook's text has to begin with it."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "see [brimline: x]"}
    (ours,) = found(user([result]))
    (others,) = found(user([result | {"content": "[other]"}]))
    said = attached("hook_additional_context", content="see [brimline] x", rendered="y")

    assert (ours.ours, others.ours) == (True, False)
    assert [piece.ours for piece in found(said)] == [False]


def test_a_row_tells_its_request_its_prompt_and_whether_a_compaction_begins() -> None:
    """Each of its own row; the last row of a reply says whether its figures are final."""
    message = {"id": "m", "content": [], "usage": {"input_tokens": 5}}
    session = Session()
    reply, end = (
        session.read_row({"type": "assistant", "message": message | {"stop_reason": reason}})
        for reason in (None, "end_turn")
    )
    said = session.read_row(user("hello"))
    boundary = session.read_row({"type": "system", "subtype": "compact_boundary"})
    summary = session.read_row(user("so far", isCompactSummary=True))

    assert reply.request is end.request is session.requests[0]
    assert (session.requests[0].tokens, session.requests[0].is_final) == (5, True)
    assert (said.entry.prompt, said.request, said.is_boundary) == ("hello", None, False)
    assert (boundary.is_new_compaction, summary.is_new_compaction) == (True, False)
    assert (boundary.entry, summary.entry.pieces) == (pieces.Entry(), (Piece("summary", 6),))


WITHIN = pieces._COMMAND_WITHIN_CHARACTERS - len("<command-name>/go</command-name>")


@pytest.mark.parametrize(("before", "is_found"), [(WITHIN, True), (WITHIN + 1, False)])
def test_a_command_is_looked_for_at_the_beginning(before: int, is_found: bool) -> None:
    """Beyond them a text is what it says."""
    text = "x" * before + "<command-name>/go</command-name>"

    assert entry_of_row(user(text)).prompt == ("/go" if is_found else text)


@pytest.mark.parametrize(("fields", "count"), [({"madeBy": "other"}, 1), ({}, 0)])
def test_a_reply_that_a_mod_rebuilt_is_said_though_no_model_wrote_it(
    fields: dict[str, Any], count: int
) -> None:
    """What the client wrote by itself is sent to nobody; a loaded tool costs some."""
    message = {"id": "m", "model": "<synthetic>", "content": [{"type": "text", "text": "abc"}]}
    entry = Session().read_row({"type": "assistant", "message": message} | fields).entry

    assert entry.pieces == (Piece("assistant", 3),) * count
    part = {"type": "tool_result", "content": [{"type": "tool_reference"}]}
    assert kinds(user([part])) == [("tool_result", pieces.TOOL_REFERENCE_CHARACTERS)]
