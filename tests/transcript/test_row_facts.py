"""What single rows say: each fact by its key, and nothing where the key is missing or wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.transcript import row, usage

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]
CUT = {"type": "tool_results_cut", "standIn": "[cut]", "roughTokens": 900}


def reply_lacking(results: Any, tokens: Any) -> Row:
    """A reply to a request from which the service left out results, and thoughts."""
    told = {"cleared_tool_uses": results, "cleared_input_tokens": tokens}
    edits = [{"type": "clear_thinking_20251015", "cleared_input_tokens": 50}, "x"]
    edits += [{"type": "clear_tool_uses_20250919", **told}]
    return {"message": {"context_management": {"applied_edits": edits}}}


@pytest.mark.parametrize(
    ("fact", "fields", "expected"),
    [
        (row.is_sidechain, {"isSidechain": True}, True),
        (row.is_sidechain, {"isSidechain": 1}, False),
        (row.is_sidechain, {}, False),
        (row.is_meta, {"isMeta": True}, True),
        (row.is_meta, {}, False),
        (row.is_synthetic, {"message": {"model": "<synthetic>"}}, True),
        (row.is_synthetic, {"message": {"model": "m"}}, False),
        (row.is_rebuilt_by_mod, {"message": {"model": "<synthetic>"}, "madeBy": "other"}, True),
        (row.is_rebuilt_by_mod, {"message": {"model": "<synthetic>"}}, False),
        (row.is_rebuilt_by_mod, {"message": {"model": "m"}, "madeBy": "other"}, False),
        (row.has_final_usage, {"message": {"stop_reason": "end_turn"}}, True),
        (row.has_final_usage, {"message": {"stop_reason": None}}, False),
        (row.type_of, {"type": "user"}, "user"),
        (row.type_of, {"type": 5}, ""),
        (row.uuid_of, {"uuid": "u"}, "u"),
        (row.uuid_of, {"uuid": ""}, None),
        (row.session_id_in, {"sessionId": "s"}, "s"),
        (row.session_id_in, {}, None),
        (row.clients_first_session_id, {"session_id": "s"}, "s"),
        (row.clients_first_session_id, [], None),
        (row.cwd_of, {"cwd": "/a"}, "/a"),
        (row.cwd_of, {}, None),
        (row.branch_of, {"gitBranch": "main"}, "main"),
        (row.branch_of, {}, None),
        (row.message_id, {"type": "assistant", "message": {"id": "m1"}}, "m1"),
        (row.message_id, {"type": "user", "message": {"id": "m1"}}, None),
        (row.message_id, {"type": "assistant", "message": {}}, None),
        (row.timestamp_mark_of_row, {"timestamp": "t"}, b'"timestamp":"t"'),
        (row.clients_first_session_mark, "s", b'"session_id":"s"'),
        (row.subagent_id_of, {}, ""),
        (row.subagent_id_of, {"isSidechain": True, "agentId": "a1"}, "a1"),
        (row.subagent_id_of, {"isSidechain": True}, "sidechain"),
        (row.subagent_id_of, {"isSidechain": False, "agentId": "a1"}, ""),
        (row.type_with_subtype, {"type": "system", "subtype": "init"}, "system/init"),
        (row.type_with_subtype, {"type": "user"}, "user"),
        (row.type_with_subtype, {}, "without a type"),
        (row.forked_from_session, {"forkedFrom": {"sessionId": "s"}}, "s"),
        (row.forked_from_session, {"forkedFrom": {"sessionId": ""}}, None),
        (row.forked_from_session, {"forkedFrom": "s"}, None),
        (row.forked_from_session, [], None),
        (
            row.queue_operation_and_text,
            {"type": "queue-operation", "operation": "enqueue", "content": "x"},
            ("enqueue", "x"),
        ),
        (row.queue_operation_and_text, {"type": "user", "operation": "enqueue"}, ("", "")),
        (row.queue_operation_and_text, None, ("", "")),
        (row.is_marked_as_holding_persons_words, {"holdsPersonsWords": True}, True),
        (row.is_marked_as_holding_persons_words, {"holdsPersonsWords": 1}, False),
        (row.is_marked_as_holding_persons_words, {"userFeedback": "no"}, True),
        (row.is_marked_as_holding_persons_words, {}, False),
        (row.compaction_figures, {}, (None, None, None)),
        (
            row.compaction_figures,
            {"compactMetadata": {"trigger": "auto", "preTokens": 5, "postTokens": 0}},
            ("auto", 5, None),
        ),
        (
            row.compaction_figures,
            {"compactMetadata": {"trigger": "a\x07", "postTokens": 3}},
            (None, None, 3),
        ),
        (row.preserved_ids_and_ends, {}, (frozenset(), None, None)),
        (
            row.preserved_ids_and_ends,
            {
                "compactMetadata": {
                    "preservedSegment": {"headUuid": "a", "tailUuid": "b"},
                    "preservedMessages": {"uuids": ["c"]},
                }
            },
            (frozenset("abc"), "a", "b"),
        ),
        (row.cut_results, {"microcompactMetadata": {"compactedToolIds": ["t1"]}}, (["t1"], "", 0)),
        (row.cut_results, {"microcompactMetadata": "x"}, ([], "", 0)),
        (
            row.cut_results,
            {"type": "attachment", "attachment": CUT | {"callIds": ["t2"]}},
            (["t2"], "[cut]", 900),
        ),
        (
            row.cut_results,
            {"type": "attachment", "attachment": CUT | {"callIds": 3, "standIn": 4}},
            ([], "", 900),
        ),
        (row.results_cleared_by_service, reply_lacking(7, 4_000), (7, 4_000)),
        (row.results_cleared_by_service, reply_lacking("x", None), (0, 0)),
        (row.results_cleared_by_service, {"message": {"context_management": [1]}}, (0, 0)),
        (row.answered_call_ids, {"type": "assistant"}, []),
        (
            row.rendered_attachment,
            {"type": "attachment", "attachment": {"a": 1}, "rendered": "r"},
            "r",
        ),
        (row.rendered_attachment, {"type": "user", "rendered": "r"}, None),
        (row.attachment_of, {"type": "attachment", "attachment": "x"}, {}),
        (
            row.attachment_of,
            {"type": "attachment", "attachment": {"a": 1}, "isSidechain": True},
            {},
        ),
        (row.attachment_of, {"type": "user", "attachment": {"a": 1}}, {}),
        (usage.is_compaction_row, {"type": "system", "subtype": "compact_boundary"}, True),
        (usage.is_compaction_row, {"type": "system", "subtype": "other"}, False),
        (usage.is_compaction_row, {"type": "user", "subtype": "compact_boundary"}, False),
        (usage.is_compaction_row, {"isCompactSummary": True}, True),
        (usage.is_compaction_row, {"isCompactSummary": True, "isSidechain": True}, False),
        (usage.is_compaction_row, [], False),
        (usage.is_summary, {"isCompactSummary": 1}, False),
        (usage.count_or_none, None, 0),
        (usage.count_or_none, True, None),
        (usage.count_or_none, -1, None),
        (usage.count_or_none, 0, 0),
        (usage.count_or_none, 10**12, 10**12),
        (usage.count_or_none, 10**12 + 1, None),
        (usage.count_or_none, 1.0, None),
        (usage.is_message, {"type": "assistant"}, True),
        (usage.is_message, {"type": "system"}, False),
    ],
)
def test_a_fact_is_read_by_its_key(fact: Callable[[Any], Any], fields: Any, expected: Any) -> None:
    """Any JSON value may stand there."""
    found = fact(fields)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("change", "counted"),
    [
        ({}, True),
        ({"type": "user"}, False),
        ({"isSidechain": True}, False),
        ({"isApiErrorMessage": True}, False),
        ({"message": {"model": "<synthetic>", "usage": {"input_tokens": 1}}}, False),
        ({"message": {"usage": {"input_tokens": 0}}}, False),
        ({"message": {"usage": {"input_tokens": 1}}}, True),
        ({"message": {"usage": {"input_tokens": "1"}}}, False),
        ({"message": {"usage": [1]}}, False),
        ({"message": None}, False),
    ],
)
def test_a_reply_of_the_main_thread_has_a_usage(change: Row, counted: bool) -> None:
    """Not what the client wrote by itself, nor one that took nothing."""
    message = {"id": "m", "model": "x", "usage": {"input_tokens": 3, "output_tokens": 2}}

    assert (usage.usage_of({"type": "assistant", "message": message} | change) is not None) is (
        counted
    )


def test_a_usage_tells_sizes_and_names() -> None:
    """The prompt is what was sent, read and written; what the cache did not have is fresh."""
    figures = {"input_tokens": 1, "cache_read_input_tokens": 20, "output_tokens": 7}
    fields = {
        "type": "assistant",
        "timestamp": "t",
        "version": "2",
        "sessionId": "s",
        "requestedModel": "x[1m]",
        "message": {
            "id": "m",
            "model": "x",
            "usage": figures | {"cache_creation_input_tokens": 300},
        },
    }

    found = usage.usage_of(fields)

    assert found is not None
    assert (found.prompt_tokens, found.output_tokens, found.fresh_tokens) == (321, 7, 301)
    assert (found.message_id, found.model, found.timestamp) == ("m", "x", "t")
    assert (found.requested_model, found.version, found.session_id) == ("x[1m]", "2", "s")
    assert row.spent_of(fields).cache_lifetime_s == 300
    assert row.costs_of(fields) == ("", 0, 1, 300, 0, 20, 7)
    assert (row.message_id(fields), row.model_of(fields)) == ("m", "x")
    assert row.costs_of(fields | {"isApiErrorMessage": True}) is None
    assert row.costs_of(fields | {"type": "user"}) is None
    assert row.costs_of({"type": "assistant", "message": {"usage": {"input_tokens": 0}}}) is None


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"type": "user", "message": {"content": "abc"}}, 3),
        ({"type": "user", "message": {"content": "abc"}, "isSidechain": True}, 0),
        ({"type": "user", "message": {"content": "abc"}, "isVisibleInTranscriptOnly": True}, 0),
        ({"type": "system", "message": {"content": "abc"}}, 0),
        ({"type": "attachment", "rendered": ["ab", {"x": "c"}]}, 3),
        ({"type": "attachment", "attachment": {"content": "abc"}}, 0),
        ([], 0),
    ],
)
def test_what_the_model_is_sent_of_a_row_is_counted(fields: Any, count: int) -> None:
    """Of the main thread alone."""
    assert usage.characters_model_is_sent(fields) == count


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ("abcd", 4),
        ([{"type": "text", "text": "abc"}, "loose"], 3),
        ([{"type": "tool_use", "name": "Bash", "input": {"a": ["bc", {"d": "e"}], "n": 5}}], 7),
        ([{"type": "thinking", "thinking": "ab", "signature": "xyz"}], 2),
        ([{"type": "image"}, {"type": "document"}], 8_000),
        ([{"type": "other", "text": "abc"}], 0),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "ab"}]}], 2),
        ([{"type": "tool_result", "content": "abc"}], 3),
        (None, 0),
    ],
)
def test_content_of_every_kind_is_counted(content: Any, count: int) -> None:
    """An image as much as four thousand characters."""
    assert usage.content_characters(content) == count


@pytest.mark.parametrize(
    ("change", "blocks"),
    [
        ({}, 1),
        ({"isSidechain": True}, 0),
        ({"isApiErrorMessage": True}, 0),
        ({"isVisibleInTranscriptOnly": True}, 0),
        ({"isVisibleInTranscriptOnly": True, "isCompactSummary": True}, 1),
        ({"type": "system"}, 0),
        ({"message": {"content": "x", "model": "<synthetic>"}}, 0),
        ({"message": {"content": [1, 2]}}, 2),
        ({"message": {"content": 5}}, 0),
    ],
)
def test_the_blocks_of_a_message_are_those_that_are_sent(change: Row, blocks: int) -> None:
    """A plain text is one of them."""
    fields = {"type": "user", "message": {"content": "x"}} | change

    assert len(row.blocks_sent_to_model(fields)) == blocks


def test_texts_in_results_are_found_with_their_places() -> None:
    """Those of results alone; images are not among them."""
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}
    parts = [{"type": "image"}, {"type": "text", "text": "yes"}, {"type": "text", "text": 5}]
    fine = {"type": "tool_result", "tool_use_id": "t2", "content": parts}
    fields = {"type": "user", "message": {"content": [{"type": "text", "text": "x"}, failed, fine]}}

    assert list(row.result_block_texts_at_paths(fields)) == [
        ("t1", ("message", "content", 1, "content"), "no"),
        ("t2", ("message", "content", 2, "content", 1, "text"), "yes"),
    ]
    assert list(row.result_block_texts_at_paths(fields | {"type": "assistant"})) == []
    assert row.answered_call_ids(fields) == ["t1", "t2"]
    found = list(row.main_thread_results(fields | {"toolUseResult": {"stdout": "yes"}}))
    assert [(one.call_id, one.text, one.is_error) for one in found] == [
        ("t1", "no", True),
        ("t2", "yes\n", False),
    ]
    assert found[0].record == {"stdout": "yes"}
    assert next(row.main_thread_results(fields | {"toolUseResult": "Error: x"})).record == {}
    assert list(row.main_thread_results(fields | {"type": "assistant"})) == []


def test_calls_are_those_of_replies() -> None:
    """Arguments of another shape are none."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    odd = {"type": "tool_use", "id": 5, "name": "Read", "input": "x"}
    fields = {"type": "assistant", "message": {"content": [call, odd, {"type": "text"}]}}

    found = [(one.id, one.name, one.arguments) for one in row.main_thread_calls(fields)]

    assert found == [("t1", "Bash", {"command": "ls"}), ("", "Read", {})]
    assert list(row.main_thread_calls(fields | {"type": "user"})) == []
    assert list(row.main_thread_calls(fields | {"isSidechain": True})) == []
    assert len(list(row.any_thread_calls(fields | {"isSidechain": True}))) == 2


def test_a_failed_answer_is_written_as_the_client_would() -> None:
    """With the names of the reply that it answers, a subagent's too."""
    reply = {"uuid": "u1", "sessionId": "s", "cwd": "/a", "type": "assistant", "agentId": "g"}

    made = row.make_failed_tool_results_row(reply, ["t1"], "gone", "u2")

    assert (made["type"], made["uuid"], made["parentUuid"]) == ("user", "u2", "u1")
    assert (made["sourceToolAssistantUUID"], made["toolUseResult"]) == ("u1", "Error: gone")
    assert (made["agentId"], made["cwd"]) == ("g", "/a")
    (block,) = made["message"]["content"]
    assert (block["tool_use_id"], block["content"], block["is_error"]) == ("t1", "gone", True)
    assert "agentId" not in row.make_failed_tool_results_row({"uuid": "u1"}, [], "gone", "u2")


def test_thinking_that_is_not_sent_again_is_marked_as_the_client_does() -> None:
    """From a message on; who reads it back finds that message."""
    made = row.make_strip_thinking_notice({"sessionId": "s"}, "u2", "u1", "m7")

    assert made["attachment"]["from"] == {"messageId": "m7", "thinkingIndex": 0}
    assert (made["uuid"], made["parentUuid"], made["type"]) == ("u2", "u1", "attachment")
    assert row.thinking_stripped_from_id(made) == "m7"
    everything = {"type": "attachment", "attachment": {"type": "thinking_stripped"}}
    assert row.thinking_stripped_from_id(everything) == ""
    assert (
        row.thinking_stripped_from_id({"type": "attachment", "attachment": {"type": "x"}}) is None
    )


def test_a_compaction_names_what_stays() -> None:
    """Beside what the client has told."""
    made = row.with_preserved_rows(
        {"uuid": "b", "compactMetadata": {"trigger": "auto"}}, ["x", "y"]
    )

    assert made["compactMetadata"]["trigger"] == "auto"
    assert row.preserved_ids_and_ends(made)[0] == {"b", "x", "y"}
    assert row.preserved_ids_and_ends(
        row.with_preserved_rows({"uuid": "b", "compactMetadata": 5}, [])
    )[0] == {"b"}


@pytest.mark.parametrize(
    ("text", "inner"),
    [("<a> x </a>", "x"), ("<a>x", ""), ("x</a>", ""), ("<a></a>", ""), ("<b>x</b>", "")],
)
def test_what_stands_between_two_marks_is_found(text: str, inner: str) -> None:
    """Where both are there."""
    assert row.text_in_tag(text, "a") == inner


@pytest.mark.parametrize(
    ("attachment", "expected"),
    [
        ({"type": "plan_mode", "planFilePath": "/p"}, "/p"),
        ({"type": "plan_mode", "planFilePath": "/p", "planExists": True}, "/p"),
        ({"type": "plan_mode", "planFilePath": "/p", "planExists": False}, ""),
        ({"type": "other", "planFilePath": "/p"}, ""),
        ({"type": "plan_mode"}, ""),
    ],
)
def test_a_plan_is_known_by_its_file(attachment: Row, expected: str) -> None:
    """Where there is one."""
    fields = {"type": "attachment", "attachment": attachment}

    assert row.plan_file_of(fields) == expected
    assert row.reminded_tasks(fields) is None
    reminder = {"type": "attachment", "attachment": {"type": "task_reminder", "content": [1]}}
    assert row.reminded_tasks(reminder) == [1]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "hello"),
        ({"isSidechain": True}, ""),
        ({"isMeta": True}, ""),
        ({"origin": {"kind": "human"}}, "hello"),
        ({"origin": {"kind": "channel"}}, ""),
        ({"origin": {"kind": "channel", "asUser": True}}, "hello"),
        ({"origin": "x"}, "hello"),
        ({"isCompactSummary": True}, ""),
        ({"type": "assistant"}, ""),
        ({"isVisibleInTranscriptOnly": True}, ""),
    ],
)
def test_a_message_is_the_users_unless_somebody_else_sent_it(change: Row, expected: str) -> None:
    """Agents, channels and the client itself send too."""
    fields = {"type": "user", "message": {"content": "hello"}} | change

    assert row.text_sent_by_user(fields) == expected


@pytest.mark.parametrize(
    ("an_hour", "lifetime_s", "billed"),
    [
        (None, 300, (1, 300, 0, 20, 7)),
        (0, 300, (1, 300, 0, 20, 7)),
        (1, 3_600, (1, 299, 1, 20, 7)),
        (300, 3_600, (1, 0, 300, 20, 7)),
        (900, 3_600, (1, 0, 300, 20, 7)),
        ("x", 300, (1, 300, 0, 20, 7)),
    ],
)
def test_what_was_written_for_an_hour_is_billed_apart(
    an_hour: Any, lifetime_s: int, billed: tuple[int, ...]
) -> None:
    """It is part of what was written, however much more a row claims."""
    figures = {"input_tokens": 1, "cache_read_input_tokens": 20, "output_tokens": 7}
    figures |= {"cache_creation_input_tokens": 300}
    split = {"cache_creation": {"ephemeral_1h_input_tokens": an_hour}}
    fields = {"type": "assistant", "message": {"model": "x", "usage": figures | split}}

    assert row.spent_of(fields).cache_lifetime_s == lifetime_s
    assert (row.costs_of(fields) or ())[2:] == billed


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens"])
def test_a_reply_is_billed_whatever_it_took(field: str) -> None:
    """One token is enough; what the client wrote by itself is not."""
    fields = {"type": "assistant", "message": {"model": "x", "usage": {field: 1}}}
    made = {"type": "assistant", "message": {"model": "<synthetic>", "usage": {field: 1}}}

    assert sum((row.costs_of(fields) or ("", 0, 0))[1:]) == 1
    assert row.costs_of(made) is None


@pytest.mark.parametrize(
    ("attachment", "told"),
    [
        ({"type": "thinking_stripped", "scope": "all"}, "all, by the client after a refusal"),
        (
            {"type": "thinking_stripped", "scope": "partial"},
            "those from one reply on, by the client after a refusal, or by a purge",
        ),
        (
            {
                "type": "thinking_drop",
                "newlyDropped": {"blockCount": 3, "reason": "prefix"},
                "clientChange": {"kinds": ["tools", "system"]},
            },
            "3, by the service (prefix; changed: tools, system)",
        ),
        (
            {"type": "thinking_drop", "newlyDropped": 5, "clientChange": 5},
            "some, by the service (; changed: unknown)",
        ),
        ({"type": "other"}, ""),
    ],
)
def test_thinking_that_is_lost_is_told_with_who_left_it_out(attachment: Row, told: str) -> None:
    """How much of it and why, so far as that is known."""
    assert row.describe_dropped_thinking({"type": "attachment", "attachment": attachment}) == told


@pytest.mark.parametrize(
    ("fact", "fields", "expected"),
    [
        (row.title_of, {"type": "custom-title", "customTitle": "a"}, "a"),
        (row.title_of, {"type": "ai-title", "aiTitle": "b", "customTitle": "a"}, "b"),
        (row.title_of, {"type": "user", "customTitle": "a"}, ""),
        (
            row.is_idle_compaction_notice,
            {"type": "system", "content": "Compacted while idle"},
            True,
        ),
        (row.is_idle_compaction_notice, {"type": "user", "content": "Compacted while idle"}, False),
        (row.is_idle_compaction_notice, {"type": "system", "content": "x"}, False),
        (row.content_texts, [{"type": "text", "text": "a"}, {"type": "image"}, 5], ["a"]),
        (row.content_texts, "a", ["a"]),
        (row.content_texts, None, []),
        (row.content_text, [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        (usage.all_texts_in, {"a": ["1", {"b": "2"}], "c": "3", "d": 4}, ["1", "2", "3"]),
        (usage.count_text_characters, ["ab", {"c": "d"}], 3),
        (row.model_of, {"message": {"model": "m"}}, "m"),
        (row.model_of, {"message": {"model": 5}}, ""),
    ],
)
def test_more_facts_are_read_by_their_keys(
    fact: Callable[[Any], Any], fields: Any, expected: Any
) -> None:
    """Titles, notices, attachments, and texts in their order."""
    assert fact(fields) == expected


def test_thinking_is_told_with_and_without_its_text() -> None:
    """What is kept hidden is thinking too, but nothing of it can be shown."""
    thought = {"type": "thinking", "thinking": "hm"}
    hidden = {"type": "redacted_thinking", "data": "xx"}
    fields = {"type": "assistant", "message": {"content": [{"type": "text"}, thought, hidden]}}

    assert row.thinking_blocks(fields) == [thought, hidden]
    assert row.thinking_texts(fields) == ["hm"]


@pytest.mark.parametrize(("mark", "expected"), [({}, ""), ({"holdsPersonsWords": True}, "yes, do")])
def test_words_beside_a_result_are_the_users_where_the_client_says_so(
    mark: Row, expected: str
) -> None:
    """A hook may have written them otherwise."""
    blocks = [{"type": "tool_result", "content": "x"}, {"type": "text", "text": "yes, do"}]
    fields = {"type": "user", "message": {"content": blocks}} | mark

    assert row.text_sent_by_user(fields) == expected
