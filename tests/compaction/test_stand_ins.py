"""What is said in the place of what nothing refers to any more."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compaction.talks import Talk

from brimline.bulk.judge import Rules
from brimline.compaction import blocks, stand_ins
from brimline.compaction.compactor import Settings
from brimline.compaction.stand_ins import _SENTENCE_CHARACTERS as LONGEST

PROSE = "The parser is slow. " + "It looks at every line more than once, as far as I see. " * 20


def test_a_preview_says_whose_result_it_is() -> None:
    """With its size in bytes and its lines, and the way to all of it."""
    text = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(900))

    made = preview_of(result_of(text, command="cat  a.log"))

    assert made
    shown = made.fields["content"]
    size, key = len(text), stand_ins.store_key_of_text(text)
    assert shown.startswith(
        f'[brimline stored {size} bytes, 900 lines, tool "Bash", from "cat a.log": {key}] '
    )
    assert shown.endswith(
        "For the rest call `recall` with this key. The same call again shows all of it."
    )


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


def preview_of(block: blocks.Block, rules: Rules | None = None) -> stand_ins.StandIn | None:
    """The preview of a result that arrives, where no file was changed."""
    return stand_ins.preview_stand_in(block, lambda _: False, rules or Rules(), was_read=False)


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
        ("x" * (LONGEST - 1) + ". " + FILLER, "x" * (LONGEST - 1) + "."),
        ("x" * LONGEST + ". " + FILLER, "x" * LONGEST + "…"),
        ("word " * 300, ("word " * 300)[:LONGEST] + "…"),
    ],
)
def test_a_first_sentence_ends_with_its_mark_or_its_line(text: str, first: str) -> None:
    """And is not long."""
    prose = block_of("assistant", {"type": "text", "text": text})
    made = stand_ins._first_sentence_of(prose)

    assert made.layer == stand_ins.REST
    assert made.fields["text"] == (
        f"{first} [brimline: {len(text):,} characters, recall {made.key[:19]}]"
    )


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
    made = preview_of(result_of(LOG[:size]))

    assert (made is not None) is is_previewed


@pytest.mark.parametrize("rules", [Rules(9_000, 25_000), Rules(25_000, 9_000)])
def test_of_two_limits_the_lower_one_is_asked_first(rules: Rules) -> None:
    """Whichever of them it is."""
    made = [preview_of(result_of(LOG[:size]), rules) is not None for size in (9_000, 9_001)]

    assert made == [False, True]


def test_a_preview_names_the_beginning_of_what_was_called() -> None:
    """All of it is in the call itself."""
    block = result_of(LOG, command="journalctl " + "u" * 200)
    rest = stand_ins._SUBJECT_CHARACTERS - len("journalctl ")

    made = preview_of(block)

    assert made
    assert f', from "journalctl {"u" * rest}": sha256:' in made.fields["content"]
    assert made.key == stand_ins.store_key_of_text(LOG)
    assert made.tokens == blocks.estimate_tokens_of_replacement_fields(block, made.fields)


def test_a_preview_that_would_save_little_is_none() -> None:
    """Of a diff all changes are shown."""
    diff = "diff --git a/x b/x\n@@ -1 +1 @@\n" + "\n".join(f"+line {n} is new" for n in range(600))

    assert preview_of(result_of(diff, command="git diff")) is None


def test_what_is_left_out_takes_nothing() -> None:
    """It is of no layer, and nothing of it is stored."""
    assert stand_ins.LEFT_OUT == (0, None, "", 0.0)


def test_half_a_pair_of_letters_has_a_key_too() -> None:
    """It may have been written as an escape."""
    assert stand_ins.bytes_to_store("\ud83d") == b"\xed\xa0\xbd"
    assert stand_ins.store_key_of_text("a") == (
        "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    )


def test_of_what_is_cold_lines_say_what_nothing_else_does() -> None:
    """What is young, short or the user's stays; so do replies but for their first sentence."""
    talk = Talk()
    talk.read("/w/alpha.py")
    talk.step("Write", {"file_path": "/w/new.py", "content": "total_of_orders = 1\n" * 60}, "ok")
    talk.idle(12)
    talk.read("/w/beta.py")
    found = blocks.read_blocks(talk.body()) or []
    cold_ones = stand_ins.Cold(found, {}, Settings().rule)

    bare = cold_ones.bare()
    filled = cold_ones.filled(bare)

    gone = [(found[at].kind, found[at].tool, one.layer) for at, one in sorted(bare.items())]
    assert gone == [("prose", "", 5), ("result", "Read", 2), ("call", "Write", 5)]
    prose, result, call = sorted(bare)
    assert bare[result].fields["content"].startswith("[brimline: Read /w/alpha.py: 6,000 bytes, re")
    assert "alpha_part1" in filled[result].fields["content"]
    shown = filled[call].fields["input"]
    assert shown["file_path"] == "/w/new.py"
    assert "[brimline: cut here, recall " in shown["content"]
    assert prose not in filled
    assert all(bare[at].key == stand_ins.store_key_of_text(found[at].text) for at in bare)
