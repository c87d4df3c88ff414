"""What is said in the place of what nothing refers to any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.compaction import blocks, stand_ins
from brimline.compaction.references import Clock
from brimline.offload.judge import Rules

if TYPE_CHECKING:
    from brimline.compaction.blocks import Block

PROSE = "The parser is slow. " + "It looks at every line more than once, as far as I see. " * 20


def read_of(role: str, block: dict[str, Any], *before: dict[str, Any]) -> tuple[Block, Clock]:
    """A block as the last of a conversation, and what the conversation did."""
    said = [{"role": "user", "content": [{"type": "text", "text": "Go."}]}, *before]
    found = blocks.read_blocks({"messages": [*said, {"role": role, "content": [block]}]}) or []
    clock = Clock()
    clock.note_references_in_conversation(found)
    return found[-1], clock


def line_for(role: str, block: dict[str, Any], *before: dict[str, Any]) -> Any:
    """The fields of the line in its place; None where it stays."""
    stand_in = stand_ins.line_stand_in(*read_of(role, block, *before), 5)
    return stand_in.fields if stand_in else None


def write(**arguments: Any) -> dict[str, Any]:
    """A call with these arguments."""
    return {"type": "tool_use", "id": "t1", "name": "Write", "input": arguments}


def test_of_a_call_only_long_texts_become_a_line_wherever_they_are() -> None:
    """Numbers, short texts and the path stay; the first long text has the names of all."""
    long = "total_of_orders = 1\n" * 60

    fields = line_for(
        "assistant",
        write(file_path="/src/a.py", content=long, edits=[{"new": long, "all": True, "at": 7}]),
    )

    shown = fields["input"]
    assert shown["file_path"] == "/src/a.py"
    assert shown["edits"][0]["all"] is True
    assert shown["edits"][0]["at"] == 7
    assert shown["content"].startswith("total_of_orders = 1… [brimline: 1,200 characters, recall")
    assert "total_of_orders" in shown["content"].rpartition("] ")[2].split(" ")
    assert shown["edits"][0]["new"].endswith("]")


def test_a_text_of_a_call_is_long_from_240_characters_on() -> None:
    """Sixty of them are left of its first line."""
    fields = line_for("assistant", write(a="x" * 239, b="y" * 240, c="z" * 900))

    shown = fields["input"]
    assert shown["a"] == "x" * 239
    assert shown["b"].startswith("y" * 60 + "… [brimline: 240 characters, recall ")
    assert shown["c"].startswith("z" * 60 + "…")


def test_of_prose_the_first_sentence_stays() -> None:
    """However it ends; one without an end is cut."""
    firsts = []
    for text in (PROSE, f"Look here\n{PROSE}", "y" * 900):
        shown = line_for("assistant", {"type": "text", "text": text})["text"]
        firsts.append(shown.partition(" [brimline: ")[0])
        assert f"[brimline: {len(text):,} characters, recall " in shown

    assert firsts == ["The parser is slow.", "Look here\nThe parser is slow.", "y" * 200 + "…"]


def test_what_would_save_little_stays_as_it_is() -> None:
    """A short paragraph is as cheap as a line about it."""
    assert line_for("assistant", {"type": "text", "text": PROSE[:250]}) is None
    assert line_for("assistant", {"type": "text", "text": PROSE}) is not None


def test_of_a_result_the_call_the_size_and_the_names_that_were_used_are_said() -> None:
    """Those used since come first, the last one first; the size is that of its bytes."""
    text = "\n".join(f"ü def part_number_{n}(value_{n}): pass" for n in range(99))
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat  parts.py"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    before = {"role": "assistant", "content": [call]}
    block, clock = read_of("user", result, before)
    later = {
        "role": "assistant",
        "content": [{"type": "text", "text": "So `part_number_77` it is"}],
    }
    answer = {"role": "user", "content": [result]}
    clock.note_references_in_conversation(
        blocks.read_blocks({"messages": [before, answer, later]}) or []
    )

    stand_in = stand_ins.line_stand_in(block, clock, 2)

    assert stand_in
    said = stand_in.fields["content"]
    head, _, names = said.partition("] ")
    assert head.startswith(f"[brimline: Bash cat parts.py: {len(text.encode()):,} bytes, recall ")
    assert stand_in.key == stand_ins.store_key_of_text(text)
    assert names.split(" ")[0] == "part_number_77"
    assert len(names) < 0.1 * len(text)
    assert len(names.split(" ")) > 10
    assert stand_in.layer == 2
    assert stand_in.tokens < block.tokens / 4


def test_a_preview_says_whose_result_it_is_and_a_file_of_the_clients_only_what_it_holds() -> None:
    """With its size in bytes and its lines, and the way to all of it."""
    text = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(900))
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat  a.log"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    told = f"<system-reminder>Note: /a.log was modified\n{text}</system-reminder>"
    shown = []
    for role, block, before in (
        ("user", result, [{"role": "assistant", "content": [call]}]),
        ("user", {"type": "text", "text": told}, []),
    ):
        seen, clock = read_of(role, block, *before)
        made = stand_ins.preview_stand_in(seen, clock, Rules(), 1, was_read=True)
        assert made
        shown.append(made.fields.get("content") or made.fields["text"])

    size, key = len(text), stand_ins.store_key_of_text(text)
    assert shown[0].startswith(
        f'[brimline stored {size} bytes, 900 lines, tool "Bash", from "cat a.log": {key}] '
    )
    assert shown[0].endswith(
        f"or run `brimline store get {key[:19]} --lines A:B`. The same call again shows all of it."
    )
    size, key = len(told), stand_ins.store_key_of_text(told)
    assert shown[1].startswith(f"<system-reminder>[brimline stored {size} bytes, 901 lines: {key}]")
    assert shown[1].endswith("</system-reminder>")


@pytest.mark.parametrize(
    ("marks", "was_read", "is_previewed"),
    [
        ({}, False, True),
        ({"is_error": True}, False, False),
        ({"is_error": True}, True, True),
    ],
    ids=["bulk", "failed", "failed a while ago"],
)
def test_what_failed_is_shown_whole_until_it_was_read(
    marks: dict[str, bool], *, was_read: bool, is_previewed: bool
) -> None:
    """Here as where results arrive: a failure is what the model has to read."""
    text = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(300))
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make logs"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text} | marks
    block, clock = read_of("user", result, {"role": "assistant", "content": [call]})

    made = stand_ins.preview_stand_in(block, clock, Rules(), 1, was_read=was_read)

    assert (made is not None) == is_previewed


def test_the_names_of_a_call_stand_in_the_first_of_its_long_texts() -> None:
    """Once is enough."""
    long_text = "The first line\n" + "see total_of_orders and more of it\n" * 20
    fields = line_for("assistant", write(file_path="/a", content=long_text, other=long_text))

    assert fields
    assert "total_of_orders" in fields["input"]["content"]
    assert "total_of_orders" not in fields["input"]["other"]
    assert fields["input"]["other"].startswith(f"The first line… [brimline: {len(long_text):,} ")
