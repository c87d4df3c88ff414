"""What the blocks of a request take, and what stands in for them."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.compaction import blocks

SIGNATURE = "x" * 10 * blocks._SIGNATURE_RATIO
TEXT = "x" * 320  # a hundred tokens
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "x" * 306}}
PICTURE = {"type": "image", "source": {}}


@pytest.mark.parametrize(
    ("role", "block", "tokens"),
    [
        ("assistant", {"type": "text", "text": TEXT}, 104),
        ("assistant", {"type": "text", "text": TEXT, "whole": True}, 104),
        ("assistant", CALL, 125),
        ("user", {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 285}, 112),
        (
            "user",
            {"type": "tool_result", "tool_use_id": "t1", "content": [PICTURE]},
            blocks._IMAGE_TOKENS,
        ),
        ("assistant", {"type": "thinking", "thinking": TEXT, "signature": SIGNATURE}, 110),
        ("user", PICTURE, blocks._IMAGE_TOKENS),
    ],
    ids=[
        "text",
        "text that is all of a message",
        "call",
        "result",
        "picture in a result",
        "thinking",
        "picture",
    ],
)
def test_a_block_is_estimated_by_its_kind(role: str, block: dict[str, Any], tokens: int) -> None:
    """Characters over their ratio, and the frame that a block of this kind has."""
    body = {"messages": [{"role": role, "content": [block]}]}

    (read,) = blocks.read_blocks(body) or []

    assert read.tokens == pytest.approx(tokens)


def test_what_stands_in_is_estimated_as_what_it_stands_for() -> None:
    """With the frame of its kind."""
    content = [CALL, {"type": "text", "text": TEXT}]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": TEXT}
    said = [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    call, prose, shown = blocks.read_blocks({"messages": said}) or []

    taken = [
        blocks.estimate_tokens_of_replacement_fields(call, {"input": CALL["input"]}),
        blocks.estimate_tokens_of_replacement_fields(prose, {"text": TEXT}),
        blocks.estimate_tokens_of_replacement_fields(shown, {"content": "x" * 285}),
    ]

    assert taken == pytest.approx([125, 104, 112])


WANTED = "Your task is to create a detailed summary of the conversation so far"


def said(role: str, *texts: str) -> dict[str, Any]:
    """A message of these texts."""
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


@pytest.mark.parametrize(
    ("messages", "is_wanted"),
    [
        ([said("user", "Hi"), said("assistant", "Yes?"), said("user", WANTED)], True),
        ([said("assistant", "Yes?"), said("user", WANTED, "Be brief.")], True),
        ([said("user", WANTED), said("assistant", "A summary")], False),
        ([said("user", "Hi"), said("assistant", "Yes?"), said("user", "Go on")], False),
        ([said("user", "Hi")], False),
    ],
    ids=["last", "and more behind it", "answered", "not asked", "first"],
)
def test_a_summary_is_wanted_where_the_client_asks_for_one_last(
    messages: list[dict[str, Any]], is_wanted: bool
) -> None:
    """Not where a result or an earlier message has the same words."""
    assert blocks.asks_for_summary(blocks.read_blocks({"messages": messages}) or []) is is_wanted


def test_a_result_that_holds_the_words_for_a_summary_asks_for_none() -> None:
    """Somebody may read the client's own prompt."""
    result = {"type": "tool_result", "tool_use_id": "t1", "content": WANTED}
    messages = [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": [result]}]

    assert not blocks.asks_for_summary(blocks.read_blocks({"messages": messages}) or [])


@pytest.mark.parametrize(
    ("fields", "is_helper"),
    [
        ({}, True),
        ({"tools": []}, True),
        ({"tools": "all"}, True),
        ({"tools": [{"name": "Read"}]}, False),
        ({"tools": [{"name": "Read"}], "tool_choice": {"type": "auto"}}, False),
        ({"tools": [{"name": "Read"}], "tool_choice": {"type": "tool", "name": "Read"}}, True),
        ({"tools": [{"name": "Read"}], "tool_choice": "tool"}, False),
    ],
)
def test_a_request_without_tools_or_with_one_it_must_call_is_a_helpers(
    fields: dict[str, Any], is_helper: bool
) -> None:
    """A title, a page to sum up, a search: none of the conversation."""
    assert blocks.is_request_outside_conversation(fields) is is_helper


def test_a_request_names_its_session_or_is_known_by_its_beginning() -> None:
    """What is not a name does not count; the same beginning is the same session."""
    named = {"metadata": {"user_id": '{"session_id": "s1"}'}, "messages": [said("user", "a")]}
    nameless: list[Any] = [
        {},
        {"metadata": None},
        {"metadata": {"user_id": "{"}},
        {"metadata": {"user_id": "[1]"}},
        {"metadata": {"user_id": '{"session_id": 3}'}},
        {"metadata": {"user_id": '{"session_id": ""}'}},
    ]
    first, later = [said("user", "a")], [said("user", "a"), said("assistant", "b")]

    assert blocks.session_id_or_hash(named) == "s1"
    assert len({blocks.session_id_or_hash({**one, "messages": first}) for one in nameless}) == 1
    assert blocks.session_id_or_hash({"messages": later}) == blocks.session_id_or_hash(
        {"messages": first}
    )
    assert blocks.session_id_or_hash(
        {"messages": [said("user", "c")]}
    ) != blocks.session_id_or_hash(named)
    assert blocks.session_id_or_hash({"messages": []}) != blocks.session_id_or_hash(
        {"messages": first}
    )
    assert blocks.session_id_or_hash(
        {"system": "x", "messages": first}
    ) != blocks.session_id_or_hash({"messages": first})


def test_the_last_round_begins_with_a_call_or_the_users_words() -> None:
    """A result alone, or words of the model alone, begin none."""
    call = {"role": "assistant", "content": [CALL]}
    result: Any = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    answer = {"role": "user", "content": [result]}
    start, prose = said("user", "Go"), said("assistant", "Done")

    begins = [
        blocks.index_of_last_call_or_prompt_message({"messages": messages})
        for messages in (
            [start],
            [start, prose],
            [start, call, answer],
            [start, call, answer, prose],
            [start, call, answer, call, answer],
            [start, prose, said("user", "More")],
            [start, prose, {"role": "user", "content": "More"}],
        )
    ]

    assert begins == [0, 0, 1, 1, 3, 2, 2]


@pytest.mark.row("S2-12", "S2-33")
def test_a_summary_takes_the_place_of_all_but_the_last_round() -> None:
    """Of what a model of the caller's makes of the messages; where it fails nothing is changed."""
    call = {"role": "assistant", "content": [CALL]}
    result: Any = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    answer = {"role": "user", "content": [result]}
    body: Any = {"messages": [said("user", "Go"), said("assistant", "Done"), call, answer]}
    asked: list[Any] = []

    def sum_up(messages: list[Any]) -> str:
        asked.append(messages)
        return " All read. "

    first, *rest = blocks.summarise_all_but_last_round(body, sum_up)["messages"]

    assert (asked, rest) == ([body["messages"][:2]], [call, answer])
    assert first["role"] == "user"
    assert first["content"][0]["text"].endswith("gone]\nAll read.")
    others: list[Any] = [{}, {"messages": []}, {"messages": [5]}, {"messages": [said("user", "x")]}]
    for same in (body, *others):
        assert blocks.summarise_all_but_last_round(same, lambda _: " ") is same


def test_a_request_that_begins_with_a_summary_keeps_its_roles_in_turn() -> None:
    """It goes before the user's words, or is a message of its own before the model's."""
    messages = [said("user", "a"), said("assistant", "b"), {"role": "user", "content": "c"}]

    before_model = blocks.body_with_beginning_replaced(
        {"messages": messages, "model": "m"}, 1, "sum"
    )
    before_user = blocks.body_with_beginning_replaced({"messages": messages}, 2, "sum")

    assert before_model["messages"] == [said("user", "sum"), *messages[1:]]
    assert before_model["model"] == "m"
    assert before_user["messages"] == [said("user", "sum", "c")]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({}, 0),
        ({"input_tokens": 5}, 5),
        ({"input_tokens": 5, "cache_read_input_tokens": 70, "output_tokens": 9}, 75),
        ({"input_tokens": 5, "cache_creation_input_tokens": 300}, 305),
        ({"input_tokens": None, "cache_read_input_tokens": 7}, 7),
    ],
)
def test_a_prompt_takes_what_was_fresh_read_and_written(usage: dict[str, Any], tokens: int) -> None:
    """What is missing counts nothing, and the answer does not count."""
    assert blocks.prompt_tokens_of_usage(usage) == tokens


def test_a_call_of_another_tool_and_a_result_that_failed_are_other_blocks() -> None:
    """Though they have the same id and say the same; a marker for the cache changes nothing."""

    def names(tool: str = "Bash", **result: Any) -> list[str]:
        answer = {"type": "tool_result", "tool_use_id": "t1", "content": "ok", **result}
        messages = [
            {"role": "assistant", "content": [{**CALL, "name": tool}]},
            {"role": "user", "content": [answer]},
        ]
        return [block.id for block in blocks.read_blocks({"messages": messages}) or []]

    call, result = names()

    assert names("Grep")[0] != call
    assert names(is_error=True)[1] != result
    assert names(is_error=False)[1] != names(is_error=True)[1]
    assert names(cache_control={"type": "ephemeral"}) == [call, result]


def test_what_a_client_takes_away_of_thinking_leaves_the_names_of_other_blocks() -> None:
    """A block is known by what was said up to it, thinking left out."""
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    answer = {"type": "text", "text": "Yes."}
    with_it, without = [
        blocks.read_blocks(
            {"messages": [said("user", "Hi"), {"role": "assistant", "content": content}]}
        )
        for content in ([thinking, answer], [answer])
    ]

    assert with_it
    assert without
    assert [block.is_thinking for block in with_it] == [False, True, False]
    assert (with_it[0].id, with_it[2].id) == (without[0].id, without[1].id)


@pytest.mark.parametrize("is_error", [True, False, None, "yes"])
def test_a_failed_result_may_hold_the_users_words(is_error: Any) -> None:
    """A refusal counts as one only where the client says that the call failed."""
    refusal = "The user doesn't want to proceed with this tool use. The user said:\nNo."
    result = {"type": "tool_result", "tool_use_id": "t1", "content": refusal, "is_error": is_error}
    messages = [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": [result]}]

    _, read = blocks.read_blocks({"messages": messages}) or []

    assert read.is_error is (is_error is True)
    assert read.kind == (blocks.OTHER if is_error is True else blocks.RESULT)


def test_a_result_in_parts_is_one_text_and_with_a_picture_is_none() -> None:
    """A line per part."""
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    read = [
        (
            blocks.read_blocks({"messages": [{"role": "assistant", "content": [CALL]}, message]})
            or []
        )[1]
        for message in (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", **content}]}
            for content in ({"content": parts}, {"content": [*parts, PICTURE]}, {})
        )
    ]

    assert [block.kind for block in read] == [blocks.RESULT, blocks.OTHER, blocks.OTHER]
    assert read[0].text == "one\ntwo"


MARKED = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def test_a_marker_of_the_cache_is_no_part_of_what_a_block_says() -> None:
    """The client moves it from request to request."""
    plain, marked = [
        (blocks.read_blocks({"messages": [{"role": "user", "content": [block]}]}) or [])[0]
        for block in (PICTURE, PICTURE | MARKED)
    ]

    assert plain.id == marked.id


@pytest.mark.parametrize(
    ("contents", "marked"),
    [
        ([["a"], ["b"], ["c*"]], (1, 0)),
        ([["a", "b"], ["c*"]], (0, 1)),
        ([["a"], "b", ["c*"]], (0, 0)),
        ([["a"], ["b"], ["c"]], None),
        ([["a"], ["b*"], ["c*"]], None),
        ([["a"], [""], ["c*"]], None),
        ([["a*"], ["b*", "c*", "d", "e*"], ["f"]], None),
        (["a", "b", ["c*"]], None),
    ],
    ids=[
        "the last block before it",
        "of a message",
        "a plain text takes none",
        "no marker at all",
        "one is there already",
        "an empty text takes none",
        "four are there",
        "nothing takes one",
    ],
)
def test_a_break_is_marked_at_the_block_before_it_where_that_can_be(
    contents: list[Any], marked: tuple[int, int] | None
) -> None:
    """With the lifetime of the marker behind it; else the request stays as it is."""
    messages = [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "content": content
            if isinstance(content, str)
            else [
                {"type": "text", "text": text.removesuffix("*"), **(MARKED if "*" in text else {})}
                for text in content
            ],
        }
        for number, content in enumerate(contents)
    ]
    body = {"messages": messages}
    read = blocks.read_blocks(body) or []

    after = blocks.body_with_cache_until(body, read, len(read) - 1)

    if marked is None:
        assert after is body
    else:
        number, place = marked
        assert (
            after["messages"][number]["content"][place]["cache_control"] == MARKED["cache_control"]
        )
        assert "cache_control" not in messages[number]["content"][place]


MARKER = {"cache_control": {"type": "ephemeral"}}
BASH_CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
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
        ([("assistant", [BASH_CALL]), ("user", [RESULT])], [blocks.CALL, blocks.RESULT]),
        ([("user", [BASH_CALL]), ("user", [RESULT])], [blocks.OTHER, blocks.RESULT]),
        ([("assistant", [BASH_CALL, RESULT])], [blocks.CALL, blocks.OTHER]),
        ([("user", [RESULT])], [blocks.OTHER]),
        ([("assistant", [{**BASH_CALL, "input": "ls"}]), ("user", [RESULT])], [blocks.OTHER] * 2),
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


def test_a_marker_of_the_request_itself_counts() -> None:
    """The service takes one there too."""
    messages = [{"role": "user", "content": [text("x", **MARKER)] * 4}]

    assert blocks.read_blocks({"messages": messages}) is not None
    assert blocks.read_blocks({"messages": messages, **MARKER}) is None
    assert blocks.read_blocks({"messages": messages, "cache_control": None}) is not None


def test_thinking_is_known_also_where_it_cannot_be_read() -> None:
    """And nothing else is taken for it."""
    said = [{"type": "redacted_thinking", "data": "x"}, {"type": "thinking"}, text("thinking")]

    found = blocks.read_blocks({"messages": [{"role": "assistant", "content": said}]}) or []

    assert [block.is_thinking for block in found] == [True, True, False]


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "image", "source": {}}, blocks._IMAGE_TOKENS),
        ({"type": "document", "source": {}}, blocks._IMAGE_TOKENS),
        ({"type": "x", "y": "z" * 301}, 100),
        ({"type": "x", "y": "z" * 301, **MARKER}, 100),
        ({"type": "thinking", "thinking": "x" * 320}, 100),
        ({"type": "thinking", "thinking": "", "signature": SIGNATURE * 10}, 100),
    ],
)
def test_what_is_left_alone_is_estimated_too(block: dict[str, Any], tokens: int) -> None:
    """A picture by its usual price, all else by what it says, a signature at eight a token."""
    (read,) = blocks.read_blocks({"messages": [{"role": "user", "content": [block]}]}) or []

    assert read.tokens == pytest.approx(tokens)


def test_the_same_words_are_another_block_elsewhere_and_a_call_is_the_same_anywhere() -> None:
    """By who says them, as what, and behind what."""

    def names(*messages: dict[str, Any]) -> list[str]:
        return [block.id for block in blocks.read_blocks({"messages": list(messages)}) or []]

    hello = {"role": "user", "content": [text("Hi")]}
    calls = ({"role": "assistant", "content": [BASH_CALL]}, {"role": "user", "content": [RESULT]})
    first, again = names(hello, hello)

    assert first != again
    assert names(hello) == [first]
    assert names({**hello, "role": "assistant"}) != [first]
    assert names({"role": "user", "content": [{**text("Hi"), "type": "note"}]}) != [first]
    assert names(hello, *calls)[1:] == names(*calls)
    assert names(*calls, hello)[2] != first


def test_a_call_says_its_arguments_as_they_are() -> None:
    """Letters are counted, not their escapes, and nothing stands between the values."""
    call = {**BASH_CALL, "input": {"command": "größer", "n": [1, 2]}}
    told = [{"role": "assistant", "content": [call]}]

    (read,) = blocks.read_blocks({"messages": told}) or []

    assert read.text == '{"command":"größer","n":[1,2]}'
    assert read.tokens == pytest.approx(30 / 3.2 + 25)


@pytest.mark.parametrize(
    ("kinds", "position"),
    [("", 0), ("x", 0), ("t", 1), ("tx", 1), ("xt", 2), ("txtxx", 3), ("xx", 0)],
)
def test_what_comes_behind_all_thinking_is_known_by_its_place(kinds: str, position: int) -> None:
    """Also where there is no other block, or nothing before it."""
    thought = {"type": "thinking", "thinking": "t", "signature": "s"}
    content = [thought if kind == "t" else {"type": "text", "text": "x"} for kind in kinds]
    found = blocks.read_blocks({"messages": [{"role": "assistant", "content": content}]})

    assert found is not None
    assert blocks.position_behind_last_thinking(found) == position
