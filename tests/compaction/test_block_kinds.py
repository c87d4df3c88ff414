"""What a request is read as: the kind of each block, its step, and what is not understood."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.compaction import blocks

REMINDER, END = "<system-reminder>", "</system-reminder>"
CALLED = 'Called the Read tool with the following input: {"file_path":"/w/a.py"}'
ATTACHED = "Result of calling the Read tool"
MARKER = {"cache_control": {"type": "ephemeral"}}
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}


def text(said: Any, **fields: Any) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": said, **fields}


def kinds_of(*messages: tuple[str, Any]) -> list[str] | None:
    """The kinds of all blocks; None where the request is not understood."""
    told = [{"role": role, "content": content} for role, content in messages]
    found = blocks.read_blocks({"messages": told})
    return None if found is None else [block.kind for block in found]


@pytest.mark.parametrize(
    ("messages", "kinds"),
    [
        ([("assistant", [text("Yes.")])], [blocks.PROSE]),
        ([("user", [text("Yes.")])], [blocks.OTHER]),
        ([("system", [text("Yes.")])], [blocks.OTHER]),
        ([("assistant", "Yes.")], [blocks.OTHER]),
        ([("assistant", [text(None)])], [blocks.OTHER]),
        ([("assistant", [CALL]), ("user", [RESULT])], [blocks.CALL, blocks.RESULT]),
        ([("user", [CALL]), ("user", [RESULT])], [blocks.OTHER, blocks.RESULT]),
        ([("assistant", [CALL, RESULT])], [blocks.CALL, blocks.OTHER]),
        ([("user", [RESULT])], [blocks.OTHER]),
        ([("assistant", [{**CALL, "input": "ls"}]), ("user", [RESULT])], [blocks.OTHER] * 2),
        ([("assistant", [{"type": "thinking", "thinking": "hm"}])], [blocks.OTHER]),
        ([("assistant", [{"type": "server_tool_use"}])], [blocks.OTHER]),
        ([("assistant", [{}])], [blocks.OTHER]),
        ([("assistant", [])], []),
    ],
    ids=[
        "the model's words",
        "the user's words",
        "the system's words",
        "words that are a whole message",
        "a text without words",
        "a call and its result",
        "a call of the user's",
        "a result of the model's",
        "a result without a call",
        "a call without arguments",
        "thinking",
        "what is not known",
        "nothing",
        "an empty message",
    ],
)
def test_a_block_is_what_its_type_and_its_speaker_say(
    messages: list[tuple[str, Any]], kinds: list[str]
) -> None:
    """Only the model's own words and calls, and answers to them, may ever be replaced."""
    assert kinds_of(*messages) == kinds


@pytest.mark.parametrize(
    "message",
    [
        None,
        "user",
        {},
        {"role": "tool", "content": "x"},
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": ["x"]},
        {"role": "user", "content": [text("x"), 5]},
        {"role": "user", "content": text("x")},
    ],
)
def test_one_message_that_is_not_understood_leaves_the_request_alone(message: Any) -> None:
    """Whatever stands around it."""
    good = {"role": "user", "content": "Hi"}

    assert blocks.read_blocks({"messages": [good, message, good]}) is None


@pytest.mark.parametrize("body", [None, [], "x", {}, {"messages": None}, {"messages": {}}])
def test_what_has_no_messages_is_no_request(body: Any) -> None:
    """And one with none of them has no blocks."""
    assert blocks.read_blocks(body) is None
    assert blocks.read_blocks({"messages": []}) == []


def test_a_step_is_a_reply_of_the_model() -> None:
    """Counted before each block: a reply and what led to it are of one step."""
    roles = ("user", "assistant", "user", "user", "assistant", "system", "user")
    told = [{"role": role, "content": [text("a"), text("b")]} for role in roles]

    found = blocks.read_blocks({"messages": told}) or []

    assert [block.step for block in found[::2]] == [0, 0, 1, 1, 1, 2, 2]
    assert [(block.message, block.place) for block in found[:4]] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(("number", "is_read"), [(0, True), (4, True), (5, False)])
@pytest.mark.parametrize("place", ["messages", "results", "tools", "system"])
def test_a_request_with_more_markers_than_the_service_takes_is_left_alone(
    place: str, number: int, *, is_read: bool
) -> None:
    """Wherever they are: in a message, inside of a result, at a tool or at the system's words."""
    marked = [text("x", **MARKER)] * number
    said = marked if place == "messages" else [text("x")]
    if place == "results":
        said = [{**RESULT, "content": marked}]
    body = {"messages": [{"role": "user", "content": said}]}
    if place in ("tools", "system"):
        body[place] = marked

    assert (blocks.read_blocks(body) is not None) is is_read


def test_a_marker_of_the_request_itself_counts() -> None:
    """The service takes one there too."""
    messages = [{"role": "user", "content": [text("x", **MARKER)] * 4}]

    assert blocks.read_blocks({"messages": messages}) is not None
    assert blocks.read_blocks({"messages": messages, **MARKER}) is None
    assert blocks.read_blocks({"messages": messages, "cache_control": None}) is not None


@pytest.mark.parametrize(
    ("role", "said", "is_file"),
    [
        ("user", f"{REMINDER}\nNote: /w/a.py was modified\n{END}", True),
        ("user", f"{REMINDER}file: a{END}\n \n", True),
        ("user", f"{REMINDER}edited_text_file: a{END}", True),
        ("user", f"{REMINDER}compact_file_reference: a{END}", True),
        ("user", f"{REMINDER}{CALLED}{END}", True),
        ("user", f"{REMINDER}{ATTACHED}:\n1{END}", True),
        ("assistant", f"{REMINDER}Note: x{END}", False),
        ("system", f"{REMINDER}Note: x{END}", False),
        ("user", f" {REMINDER}Note: x{END}", False),
        ("user", f"{REMINDER}Note: x", False),
        ("user", f"{REMINDER}Note: x{END} And now?", False),
        ("user", f"{REMINDER}Note: x{END}{REMINDER}Note: y{END}", False),
        ("user", f"{REMINDER}Today is Monday.{END}", False),
        ("user", f"{REMINDER}{' ' * 54}Note: x{END}", True),
        ("user", f"{REMINDER}{' ' * 55}Note: x{END}", False),
    ],
)
def test_a_file_of_the_clients_is_one_reminder_that_begins_as_one(
    role: str, said: str, *, is_file: bool
) -> None:
    """Within sixty characters, and with no word of the user's around it."""
    usual = blocks.PROSE if role == "assistant" else blocks.OTHER

    assert kinds_of((role, [text(said)])) == [blocks.FILE if is_file else usual]


def attached_as(*texts: str) -> list[tuple[str, Any]]:
    """The call that each of these reminders is taken for the result of."""
    said = [text(f"{REMINDER}{one}{END}") for one in texts]
    found = blocks.read_blocks({"messages": [{"role": "user", "content": said}]}) or []
    return [(block.tool, block.arguments.get("file_path")) for block in found]


def test_a_file_belongs_to_the_call_that_was_told_right_before_it() -> None:
    """Once: what comes without one belongs to none."""
    both = f"{CALLED}\n{ATTACHED}: x"

    assert attached_as(CALLED, f"{ATTACHED}: x", f"{ATTACHED}: y") == [
        ("", None),
        ("Read", "/w/a.py"),
        ("", None),
    ]
    assert attached_as(both, f"{ATTACHED}: y") == [("Read", "/w/a.py"), ("", None)]
    assert attached_as("Note: x") == [("", None)]


@pytest.mark.parametrize(("over", "tool"), [(0, "Read"), (1, "")])
def test_a_call_is_looked_for_in_the_first_two_thousand_characters(over: int, tool: str) -> None:
    """Of the block, with how it begins."""
    room = 2_000 - len(REMINDER) - len(CALLED) - len(ATTACHED)

    assert attached_as(f"{CALLED}{' ' * (room + over)}{ATTACHED}: x")[0][0] == tool


def test_thinking_is_known_also_where_it_cannot_be_read() -> None:
    """And nothing else is taken for it."""
    said = [{"type": "redacted_thinking", "data": "x"}, {"type": "thinking"}, text("thinking")]

    found = blocks.read_blocks({"messages": [{"role": "assistant", "content": said}]}) or []

    assert [block.is_thinking for block in found] == [True, True, False]


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "image", "source": {}}, 1_500),
        ({"type": "document", "source": {}}, 1_500),
        ({"type": "x", "y": "z" * 301}, 100),
        ({"type": "x", "y": "z" * 301, **MARKER}, 100),
        ({"type": "thinking", "thinking": "x" * 320}, 100),
        ({"type": "thinking", "thinking": "", "signature": "x" * 800}, 100),
    ],
)
def test_what_is_left_alone_is_estimated_too(block: dict[str, Any], tokens: int) -> None:
    """A picture by its usual price, all else by what it says, a signature at eight a token."""
    (read,) = blocks.read_blocks({"messages": [{"role": "user", "content": [block]}]}) or []

    assert read.tokens == pytest.approx(tokens)


HOUR = {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    ("markers", "usage", "lifetime_s"),
    [
        ([], None, None),
        ([], {}, None),
        ([{"type": "ephemeral"}], None, 300),
        ([HOUR], None, 3_600),
        ([HOUR, {"type": "ephemeral"}], None, 300),
        ([{"type": "ephemeral"}, HOUR], None, 3_600),
        (["1h"], None, 300),
        ([HOUR], {"cache_creation": None}, 3_600),
        ([HOUR], {"cache_creation": {"ephemeral_5m_input_tokens": 0}}, 3_600),
        ([HOUR], {"cache_creation": {"ephemeral_5m_input_tokens": 1}}, 300),
        ([], {"cache_creation": {"ephemeral_1h_input_tokens": 1}}, 3_600),
    ],
)
def test_a_cache_lives_as_long_as_was_written_or_else_as_the_last_marker_asks(
    markers: list[Any], usage: dict[str, Any] | None, lifetime_s: int | None
) -> None:
    """Unknown where nothing is said of it."""
    said = [text("x", cache_control=marker) for marker in markers]
    body = {"messages": [{"role": "user", "content": said}]}

    assert blocks.cache_lifetime_s(body, usage) == lifetime_s


def test_other_fields_are_put_over_those_of_a_block_and_the_rest_is_shared() -> None:
    """The request itself stays as it was."""
    body = {
        "model": "m",
        "messages": [
            {"role": "assistant", "content": [CALL, text("a")]},
            {"role": "user", "content": [RESULT | MARKER, text("b")]},
        ],
    }

    made = blocks.body_with_fields(body, {(1, 0): {"content": "line"}})

    assert made["messages"][0] is body["messages"][0]
    assert made["messages"][1]["content"] == [{**RESULT, **MARKER, "content": "line"}, text("b")]
    assert body["messages"][1]["content"][0] == RESULT | MARKER  # type: ignore[index]
    assert made["model"] == "m"


def test_a_stand_in_says_it_in_the_field_of_its_kind() -> None:
    """A call without arguments has none left."""
    told = [
        {"role": "assistant", "content": [CALL, text("a")]},
        {"role": "user", "content": [RESULT]},
    ]
    call, prose, result = blocks.read_blocks({"messages": told}) or []

    assert blocks.fields_of_stand_in(call, "x", {"a": 1}) == {"input": {"a": 1}}
    assert blocks.fields_of_stand_in(call, "x") == {"input": {}}
    assert blocks.fields_of_stand_in(prose, "x") == {"text": "x"}
    assert blocks.fields_of_stand_in(result, "x") == {"content": "x"}


def test_the_same_words_are_another_block_elsewhere_and_a_call_is_the_same_anywhere() -> None:
    """By who says them, as what, and behind what."""

    def names(*messages: dict[str, Any]) -> list[str]:
        return [block.id for block in blocks.read_blocks({"messages": list(messages)}) or []]

    hello = {"role": "user", "content": [text("Hi")]}
    calls = ({"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]})
    first, again = names(hello, hello)

    assert first != again
    assert names(hello) == [first]
    assert names({**hello, "role": "assistant"}) != [first]
    assert names({"role": "user", "content": [{**text("Hi"), "type": "note"}]}) != [first]
    assert names(hello, *calls)[1:] == names(*calls)
    assert names(*calls, hello)[2] != first


def test_a_call_says_its_arguments_as_they_are() -> None:
    """Letters are counted, not their escapes, and nothing stands between the values."""
    call = {**CALL, "input": {"command": "größer", "n": [1, 2]}}
    told = [{"role": "assistant", "content": [call]}]

    (read,) = blocks.read_blocks({"messages": told}) or []

    assert read.text == '{"command":"größer","n":[1,2]}'
    assert read.tokens == pytest.approx(30 / 3.2 + 25)
