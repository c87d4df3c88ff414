"""What is said in the place of what nothing refers to any more."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk.judge import Rules
from brimline.compaction import blocks, stand_ins
from brimline.compaction.references import Clock
from brimline.compaction.stand_ins import _KEPT_CHARACTERS, _LEAST_NAMES, _SENTENCE_CHARACTERS

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


def test_a_text_of_a_call_is_long_from_so_many_characters_on() -> None:
    """Some of them are left of its first line."""
    least, kept = stand_ins._LONG_ARGUMENT_CHARACTERS, _KEPT_CHARACTERS
    fields = line_for("assistant", write(a="x" * (least - 1), b="y" * least, c="z" * 900))

    shown = fields["input"]
    assert shown["a"] == "x" * (least - 1)
    assert shown["b"].startswith("y" * kept + f"… [brimline: {least} characters, recall ")
    assert shown["c"].startswith("z" * kept + "…")


def test_of_prose_the_first_sentence_stays() -> None:
    """However it ends; one without an end is cut."""
    firsts = []
    for text in (PROSE, f"Look here\n{PROSE}", "y" * 900):
        shown = line_for("assistant", {"type": "text", "text": text})["text"]
        firsts.append(shown.partition(" [brimline: ")[0])
        assert f"[brimline: {len(text):,} characters, recall " in shown

    cut = "y" * _SENTENCE_CHARACTERS + "…"
    assert firsts == ["The parser is slow.", "Look here\nThe parser is slow.", cut]


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
    assert len(names) < stand_ins._NAMES_SHARE * len(text)
    assert len(names.split(" ")) > 10
    assert stand_in.layer == 2
    assert stand_in.tokens < block.tokens / 4


def test_a_preview_says_whose_result_it_is() -> None:
    """With its size in bytes and its lines, and the way to all of it."""
    text = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(900))
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat  a.log"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    seen, clock = read_of("user", result, {"role": "assistant", "content": [call]})

    made = stand_ins.preview_stand_in(seen, clock, Rules(), 1, was_read=True)

    assert made
    shown = made.fields["content"]
    size, key = len(text), stand_ins.store_key_of_text(text)
    assert shown.startswith(
        f'[brimline stored {size} bytes, 900 lines, tool "Bash", from "cat a.log": {key}] '
    )
    assert shown.endswith(
        "For the rest call `recall` with this key. The same call again shows all of it."
    )


def test_the_names_of_a_call_stand_in_the_first_of_its_long_texts() -> None:
    """Once is enough."""
    long_text = "The first line\n" + "see total_of_orders and more of it\n" * 20
    fields = line_for("assistant", write(file_path="/a", content=long_text, other=long_text))

    assert fields
    assert "total_of_orders" in fields["input"]["content"]
    assert "total_of_orders" not in fields["input"]["other"]
    assert fields["input"]["other"].startswith(f"The first line… [brimline: {len(long_text):,} ")


LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))


def block_of(role: str, block: dict[str, Any], tool: str = "Bash", **call: Any) -> blocks.Block:
    """A block behind the call that it may belong to."""
    called = {"type": "tool_use", "id": "t1", "name": tool, "input": call}
    said = [{"role": "assistant", "content": [called]}, {"role": role, "content": [block]}]
    return (blocks.read_blocks({"messages": said}) or [])[-1]


def result_of(text: str, tool: str = "Bash", **call: Any) -> blocks.Block:
    """The result of a call."""
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    return block_of("user", answer, tool, **(call or {"command": "journalctl"}))


def prose_line(text: str) -> str:
    """The line for words of the model's, without its mark."""
    made = stand_ins.line_stand_in(
        block_of("assistant", {"type": "text", "text": text}), Clock(), 5
    )
    assert made
    return str(made.fields["text"]).partition(" [brimline: ")[0]


FILLER = " and so on" * 99


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (f"Done.{FILLER}", "Done."),
        (f"Is it? {FILLER}", "Is it?"),
        (f"Stop! {FILLER}", "Stop!"),
        (f"Look:\n{FILLER}", "Look:"),
        (f"see a.py for it\nmore{FILLER}", "see a.py for it"),
        (f"\n\n  Done. {FILLER}", "Done."),
        ("x" * (_SENTENCE_CHARACTERS - 1) + ". " + FILLER, "x" * (_SENTENCE_CHARACTERS - 1) + "."),
        ("x" * _SENTENCE_CHARACTERS + ". " + FILLER, "x" * _SENTENCE_CHARACTERS + "…"),
        ("word " * 300, ("word " * 300)[:_SENTENCE_CHARACTERS] + "…"),
    ],
)
def test_a_first_sentence_ends_with_its_mark_or_its_line(text: str, first: str) -> None:
    """And is not long."""
    assert prose_line(text) == first


@pytest.mark.parametrize(("room", "is_kept"), [(_LEAST_NAMES - 1, True), (_LEAST_NAMES, False)])
def test_a_name_that_was_used_is_kept_if_it_just_fits(room: int, *, is_kept: bool) -> None:
    """With the space before it."""
    name = "n" * (room - 3) + "_" + "ab"

    appended = stand_ins._names_to_append_text(f"short {name}", [name])

    assert appended == (f" {name}" if is_kept else "")


def test_of_names_that_hold_each_other_the_one_that_was_used_last_is_told() -> None:
    """A part of it says nothing more; each takes its room from the next."""
    used = ["parse_line_of_file", "parse_line", "other_name"]

    assert stand_ins._names_to_append_text("x", used) == " parse_line_of_file other_name"
    many, fitting = [letter * 8 + "_" for letter in string.ascii_letters], _LEAST_NAMES // 10
    assert stand_ins._names_to_append_text("x", many) == " " + " ".join(many[:fitting])
    assert stand_ins._names_to_append_text("x", []) == ""


def test_a_line_that_saves_just_enough_tokens_is_made() -> None:
    """By whatever a block is estimated at."""
    block = result_of("x " * 400)
    line = stand_ins.line_stand_in(block, Clock(), 5)
    assert line
    least = line.tokens + stand_ins._LEAST_COLLAPSED_TOKENS

    enough = stand_ins.line_stand_in(block._replace(tokens=least), Clock(), 5)
    little = stand_ins.line_stand_in(block._replace(tokens=least - 0.5), Clock(), 5)

    assert enough == line
    assert little is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1\ta\n2\tb", "a\nb"),
        ("     1→a\n    10→b", "a\nb"),
        ("2\ta\n3\tb", "2\ta\n3\tb"),
        ("10\ta", "10\ta"),
        ("a\n1\tb", "a\n1\tb"),
        ("1 a", "1 a"),
    ],
)
def test_the_numbers_of_lines_go_where_the_client_counted_from_one(text: str, plain: str) -> None:
    """A page from the middle of a file, or a table, is what it says."""
    assert stand_ins._without_line_numbers(text) == plain


@pytest.mark.parametrize(("size", "is_previewed"), [(7_999, False), (8_000, False), (8_001, True)])
def test_bulk_is_a_preview_beyond_the_size_the_user_set(size: int, *, is_previewed: bool) -> None:
    """Eight thousand bytes where nothing else is said."""
    made = stand_ins.preview_stand_in(result_of(LOG[:size]), Clock(), Rules(), 1, was_read=False)

    assert (made is not None) is is_previewed


@pytest.mark.parametrize("rules", [Rules(9_000, 25_000), Rules(25_000, 9_000)])
def test_of_two_limits_the_lower_one_is_asked_first(rules: Rules) -> None:
    """Whichever of them it is."""
    made = [
        stand_ins.preview_stand_in(result_of(LOG[:size]), Clock(), rules, 1, was_read=False)
        is not None
        for size in (9_000, 9_001)
    ]

    assert made == [False, True]


def test_a_preview_names_the_beginning_of_what_was_called() -> None:
    """All of it is in the call itself."""
    block = result_of(LOG, command="journalctl " + "u" * 200)
    rest = stand_ins._SUBJECT_CHARACTERS - len("journalctl ")

    made = stand_ins.preview_stand_in(block, Clock(), Rules(), 1, was_read=False)

    assert made
    assert f', from "journalctl {"u" * rest}": sha256:' in made.fields["content"]
    assert made.key == stand_ins.store_key_of_text(LOG)
    assert made.tokens == blocks.estimate_tokens_of_replacement_fields(block, made.fields)


def test_a_preview_that_would_save_little_is_none() -> None:
    """Of a diff all changes are shown."""
    diff = "diff --git a/x b/x\n@@ -1 +1 @@\n" + "\n".join(f"+line {n} is new" for n in range(600))

    assert (
        stand_ins.preview_stand_in(
            result_of(diff, command="git diff"), Clock(), Rules(), 1, was_read=True
        )
        is None
    )


def test_what_is_left_out_takes_nothing() -> None:
    """It is of no layer, and nothing of it is stored."""
    assert stand_ins.LEFT_OUT == (0, None, "", 0.0)


def test_half_a_pair_of_letters_has_a_key_too() -> None:
    """It may have been written as an escape."""
    assert stand_ins.bytes_to_store("\ud83d") == b"\xed\xa0\xbd"
    assert stand_ins.store_key_of_text("a") == (
        "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    )
