"""What a purge decides and does to a session, and what it never touches."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.transcript.compacted import compact_inside

from brimline.bulk import contents, pins, put
from brimline.hooks import entry
from brimline.session import copies, session_documents, session_text
from brimline.session import purge as purging
from brimline.session.copying import CopyError
from brimline.testing import text_block
from brimline.transcript import find

from .recorded import everything, output

if TYPE_CHECKING:
    from .recorded import Recorded


@pytest.fixture
def old_result(session: Recorded) -> str:
    """A session with one old large result; the id of its call."""
    session.prompt()
    call_id = session.call(output("build"))
    session.talk()
    return call_id


@pytest.mark.row("S3-48", "S3-52", "S3-55", "S3-56", "S2-11", "S2-32")
def test_an_old_result_becomes_a_line(session: Recorded, home_dir: str, old_result: str) -> None:
    """The store holds its bytes under the key in it; looking touches nothing; figures are right."""
    before, names = session.data, [row["uuid"] for row in session.rows]
    put.put(home_dir, b"something", {})
    kept = everything(home_dir)

    found = session.plan()
    assert (everything(home_dir), session.data) == (kept, before)
    done = session.purge(found)

    text, content = session.results[old_result], output("build").encode()
    key = "sha256:" + hashlib.sha256(content).hexdigest()
    assert text == f"[brimline: Bash make: {len(content):,} bytes, recall {key[:19]}]"
    assert contents.read_content(home_dir, key) == content
    # So that it can be recalled when the session's file is gone.
    about = contents.read_sidecar(home_dir, key)
    assert about["session"] == "session"
    assert about["cwd"] == find.folder_it_began_in(str(session.path))
    assert [row["uuid"] for row in session.rows] == names
    assert (done.length, done.size_bytes) == (len(before), len(session.data))
    assert found.saved_context_tokens == int((len(output("build")) - len(text)) / 2.85)


def test_a_preview_becomes_a_line_that_names_its_original(session: Recorded, home_dir: str) -> None:
    """As in a compaction; a printed reference does not, and what stands behind a preview stays."""
    content = "\n".join(f"def handler_{n}(request): return render(request)" for n in range(2_000))
    call = session.tool_call(50_000, "Bash", command="cat a.py")
    response = {"stdout": content, "stderr": "old", "interrupted": False, "isImage": False}
    event: dict[str, Any] = {
        "session_id": find.session_id_of(session.path),
        "cwd": "/p",
        "tool_name": "Bash",
    }
    event |= {"tool_input": {"command": "cat a.py"}, "tool_response": response}
    raw = entry.respond("PostToolUse", json.dumps(event | {"tool_use_id": call}).encode(), home_dir)
    shown = json.loads(raw)["hookSpecificOutput"]["updatedToolOutput"]["stdout"]
    session.tool_result(call, f"{shown}\nold")
    printed = f"{shown}\nold" + "\nmade" * 400
    printing = session.call(printed, command="./build.sh")
    session.talk()

    session.purge()

    key = "sha256:" + hashlib.sha256(content.encode()).hexdigest()
    line = f"[brimline: Bash cat a.py: {len(content):,} bytes, recall {key[:19]}]"
    assert session.results[call] == f"{line}\nold"
    assert f": {len(printed.encode()):,} bytes, recall " in session.results[printing]
    assert key[:19] not in session.results[printing]


@pytest.mark.row("S2-18")
def test_what_no_request_contains_is_counted_as_disk_only(session: Recorded) -> None:
    """Those the client itself cleared; before the last compaction and in subagents all stay."""
    session.prompt()
    session.call(output("before"))
    session.tool_result("toolu_nobody", output("orphan"))
    half = json.dumps({"type": "tool_result", "tool_use_id": "h", "content": "\ud800" * 6_000})
    session.raw('{"type":"user","uuid":"u","message":{"content":[' + half + "]}}\n")
    session.compact(150_000)
    session.tool_result(session.tool_call(1_000, command="x"), output("side"), isSidechain=True)
    cleared = session.call(output("cleared"))
    told = {"trigger": "auto", "compactedToolIds": [cleared]}
    session.row("system", subtype="microcompact_boundary", microcompactMetadata=told)
    session.talk()

    found = session.plan()

    assert (len(found.results), found.saved_context_tokens) == (1, 0)
    assert found.saved_disk_bytes > 5_000


@pytest.mark.row("S3-71")
def test_recent_results_stay_by_the_number_of_requests(session: Recorded) -> None:
    """Rows of one reply are one request, and a result belongs to the request that called."""
    session.prompt()
    old, recent = session.call(output("one")), session.call(output("two"))
    for number in range(3):
        session.reply(60_000, text_block("a"), text_block("b"), message_id=f"msg_x{number}")

    session.purge(keep_requests=4)

    assert session.is_gone(old)
    assert session.results[recent] == output("two")
    session.purge(keep_requests=0)
    assert session.is_gone(recent)


@pytest.mark.row("S3-47")
def test_summaries_and_what_a_compaction_preserved_are_never_touched(session: Recorded) -> None:
    """Neither the messages that it names nor those between the ends of a stretch."""
    session.prompt()
    gone = session.call(output("gone"))
    session.reply(60_000)
    head = session.parent
    between = session.call(output("between"))
    tail = session.parent
    named = session.call(output("named"))
    kept = {"headUuid": head, "tailUuid": tail}
    told = {"preservedSegment": kept, "preservedMessages": {"uuids": [session.parent]}}
    session.row("system", subtype="compact_boundary", compactMetadata=told)
    block = {"type": "tool_result", "tool_use_id": "x", "content": output("summary")}
    session.row("user", message={"role": "user", "content": [block]}, isCompactSummary=True)
    session.talk()

    session.purge()

    assert session.results[gone] == output("gone")
    wanted = {between: output("between"), named: output("named"), "x": output("summary")}
    assert session.results.items() >= wanted.items()


@pytest.mark.row("S3-58")
def test_results_that_the_user_pinned_stay(session: Recorded, home_dir: str) -> None:
    """By their content; what is written of pins in a conversation pins nothing."""
    session.prompt()
    other = session.call(output("other"))
    session.prompt("brim:pin last")
    pinned = session.call(output("pinned"))
    pins.pin(home_dir, put.put(home_dir, output("pinned").encode(), {}), "soft")
    session.talk()

    found = session.plan()
    session.purge()

    assert found.kept["pinned"] == 1
    assert session.is_gone(other)
    assert not session.is_gone(pinned)


def test_a_session_that_changed_since_it_was_looked_at_is_refused(
    session: Recorded, home_dir: str, old_result: str
) -> None:
    """There is no copy, and no record of one; what was added since is in the session alone."""
    found = session.plan()
    original = session.data
    for changed in (original.replace("naïvely".encode(), b"cleverly"), original[100:]):
        session.data = changed
        with pytest.raises(CopyError, match="changed by another program"):
            session.purge(found)
        assert session.data == changed
    assert os.listdir(os.path.dirname(session.path)).count("session.jsonl") == 1
    assert not any(name.startswith(f"{home_dir}/copies") for name in everything(home_dir))

    session.data = original + b'{"type":"late"}\n'
    session.purge(found)
    assert b'"late"' not in session.data
    assert session.is_gone(old_result)


def test_the_judgement_is_that_of_a_compaction_without_a_model(session: Recorded) -> None:
    """The last fifteen results stay, the user's words, a failure, the file that was edited last."""
    session.prompt()
    old = session.call(output("old"))
    answer = session.call(output("answer"), "AskUserQuestion", questions=[])
    read = session.call(output("read"), "Read", file_path="/a.py")
    failed = session.tool_call(50_000, command="make lint")
    block = {"type": "tool_result", "tool_use_id": failed, "is_error": True}
    block["content"] = output("x", 2_500)
    session.row("user", message={"role": "user", "content": [block]})
    session.call("edited", "Edit", file_path="/a.py")
    recent = session.call(output("recent"))
    for number in range(24):
        session.call("ok", command=f"echo {number}")

    session.purge(keep_requests=None)

    assert session.is_gone(old)
    assert not any(session.is_gone(call) for call in (answer, read, failed, recent))


def test_only_the_conversation_as_it_is_now_is_judged(session: Recorded) -> None:
    """Behind a compaction without a model the copies; what stands before it is the way back."""
    session.prompt()
    call = session.call(output("before", 1_400))
    compact_inside(session)
    session.talk()
    boundary = next(n for n, one in enumerate(session.rows) if "compactMetadata" in one)
    before = session.rows[:boundary]

    session.purge(threshold_bytes=1_000)

    assert session.is_gone(call)
    assert session.rows[:boundary] == before


@pytest.mark.parametrize("model", ["claude-fable-5-2", "claude-sonnet-4-6"])
def test_thinking_that_is_bound_is_counted_and_left_out(session: Recorded, model: str) -> None:
    """The client's own row, the last one, names the first reply behind the first change."""
    session.model = model
    thought = {"type": "thinking", "thinking": "t" * 2_200, "signature": "s"}
    session.prompt()
    session.reply(40_000, thought, message_id="msg_before")
    session.call(output("old"))
    session.reply(40_000, thought, message_id="msg_after")
    session.talk()
    session.reply(40_000, thought, message_id="msg_last")
    session.talk(1)
    end = session.parent
    found = session.plan()
    session.purge(found)

    added = [row for row in session.rows if row["type"] == "attachment"]
    if model == "claude-sonnet-4-6":
        assert (found.lost_thoughts, added) == ([], [])
        return
    assert (len(found.lost_thoughts), len(found.survey.sent.thoughts)) == (2, 3)
    assert found.lost_thinking_tokens == pytest.approx(2_000, abs=1)
    document = session_documents.purge_plan_document(session.path, found)
    plan = " ".join(session_text.purge_plan_text(document).split())
    assert "2 of 3 thoughts behind the first replaced result will not be sent again" in plan
    assert (session.rows[-1], added[0]["parentUuid"]) == (added[0], end)
    assert added[0]["attachment"] == {
        "type": "thinking_stripped",
        "scope": "partial",
        "from": {"messageId": "msg_after", "thinkingIndex": 0},
    }


@pytest.mark.parametrize(
    ("tool", "begin", "is_error"),
    [
        ("Bash", "The user doesn't want to proceed with this tool use. the user said:\n", True),
        ("AskUserQuestion", "User has answered your questions: ", False),
        ("ExitPlanMode", "User has approved your plan.\n\n## Approved Plan:\n", False),
    ],
)
def test_the_users_words_in_results_stay(
    session: Recorded, tool: str, begin: str, *, is_error: bool
) -> None:
    """However long they are, and with the client's own copy; other results beside them go."""
    session.prompt()
    ids = [session.tool_call(50_000, name) for name in (tool, "Bash")]
    texts = [begin + output("words"), output("bulk")]
    for call_id, text, failed in zip(ids, texts, (is_error, False), strict=True):
        block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        content = [block | {"is_error": failed}]
        session.row("user", message={"role": "user", "content": content}, toolUseResult=text)
    session.talk()
    before = session.rows

    session.purge()

    changed = [row for row, old in zip(session.rows, before, strict=True) if row != old]
    assert len(changed) == 1
    assert changed[0]["message"]["content"][0]["tool_use_id"] == ids[1]


def test_a_line_names_the_source_and_the_form_of_a_list_stays(session: Recorded) -> None:
    """Large texts become lines one by one; images and small texts stay."""
    session.prompt()
    call_id = session.tool_call(50_000, "mcp__x", command="make\n  all  " + "x" * 100)
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 9_000}}
    texts = ["Exit code 2\n" + output("failure"), "small", output("two")]
    blocks = [image, *[{"type": "text", "text": text} for text in texts]]
    block = {"type": "tool_result", "tool_use_id": call_id, "content": blocks, "is_error": True}
    session.row("user", message={"role": "user", "content": [block]})
    session.talk()

    session.purge()

    content = session.rows[2]["message"]["content"][0]["content"]
    assert content[0] == image
    assert content[2] == blocks[2]
    for place in (1, 3):
        size = len(texts[place - 1].encode())
        start = f"[brimline: mcp__x make all {'x' * 70}…: {size:,} bytes, recall sha256:"
        assert content[place]["text"].startswith(start)


def test_thinking_that_an_earlier_purge_lost_is_not_lost_again(session: Recorded) -> None:
    """It is not sent any more; what was thought since is."""
    session.model = "claude-fable-5-2"
    thought = {"type": "thinking", "thinking": "t" * 2_200, "signature": "s"}
    session.prompt()
    for label in ("one", "two", "three"):
        session.call(output(label))
        session.reply(40_000, thought, message_id=f"msg_{label}")
    session.talk(1)
    first = session.plan(threshold_bytes=1_000, keep_requests=4)
    session.purge(first)
    session.reply(40_000, thought, message_id="msg_since")

    second = session.plan(threshold_bytes=1_000, keep_requests=0)

    assert [lost.message_id for lost in first.lost_thoughts] == ["msg_one", "msg_two", "msg_three"]
    assert [kept.message_id for kept in second.survey.sent.thoughts] == ["msg_since"]
    assert [lost.message_id for lost in second.lost_thoughts] == ["msg_since"]


def test_a_result_that_is_no_longer_than_its_line_stays(session: Recorded) -> None:
    """What would replace it must be shorter, on the disk and for the model."""
    session.prompt()
    short = session.tool_call(50_000, command="make")
    texts = [{"type": "text", "text": "y" * size} for size in (699, 700)]
    block = {"type": "tool_result", "tool_use_id": short, "content": texts}
    session.row("user", message={"role": "user", "content": [block]})
    session.talk()

    found = session.plan(threshold_bytes=1)

    line = next(iter(found.changes.values()))[0].line
    assert found.characters_of == {short: 700 - len(line)}
    assert found.saved_disk_bytes == 700 - len(line)


def test_what_is_saved_is_counted_in_tokens_up_to_what_the_context_holds(
    session: Recorded,
) -> None:
    """By call; a session that never measured itself has no such bound."""
    session.prompt()
    calls = [session.call(output(label, 40_000)) for label in ("a", "b")]
    session.talk()

    found = session.plan()

    by_call = found.saved_tokens_by_call()
    assert [*by_call] == calls
    saved = int(found.characters_of.total() / 2.85)
    assert (found.saved_context_tokens, found.lost_thinking_tokens) == (saved, 0)
    assert abs(sum(by_call.values()) - found.saved_context_tokens) <= 2
    found.survey.occupancy_tokens = 100
    assert found.saved_context_tokens == 100
    found.survey.occupancy_tokens = None
    assert found.saved_context_tokens == saved


def test_the_same_result_written_twice_is_counted_once_and_goes_twice(session: Recorded) -> None:
    """A resume sends it once."""
    session.prompt()
    call_id = session.call(output("same"))
    session.tool_result(call_id, output("same"))
    session.talk()

    found = session.plan()

    first, second = [*found.changes.values()]
    assert [*found.characters_of] == [call_id]
    assert (first[0].is_again, second[0].is_again) == (False, True)
    assert found.saved_disk_bytes > 2 * 5_500
    assert found.results == {(call_id, first[0].digest)}


def test_a_plan_keeps_nothing_that_only_planning_needs(session: Recorded, old_result: str) -> None:
    """It lives as long as the question to the user; the key and the line are made from an item."""
    found = session.plan()
    survey = found.survey

    assert (survey.items, survey.sent.calls) == ([], {})
    item = next(iter(found.changes.values()))[0]
    assert item.call.id == old_result
    assert purging.key_of_item(item) == f"sha256:{item.digest}"
    assert found.kept == {"pinned": 0, "preserved": 0}


def test_the_note_on_a_purge_tells_what_it_took(session: Recorded, old_result: str) -> None:
    """Tokens by call, and the keys; the last thing stored is not what a purge took."""
    last = put.put(session.home_dir, b"something", {})
    found = session.plan()
    session.purge(found)

    note = copies.copy_of_id(session.home_dir, find.session_id_of(session.path))

    assert note is not None
    assert (note.kind, note.context_tokens) == ("purged", found.saved_context_tokens)
    assert note.tokens_of == {old_result: found.saved_context_tokens}
    key = "sha256:" + hashlib.sha256(output("build").encode()).hexdigest()
    assert list(note.keys) == [key]
    assert contents.last_key(session.home_dir) == last
    assert contents.read_content(session.home_dir, key) == output("build").encode()


def test_progress_is_told_for_every_byte_of_a_purge(session: Recorded, old_result: str) -> None:
    """Once each, so that a bar ends where the file does."""
    found, told = session.plan(), list[int]()
    size = len(session.data)

    done = purging.purge(session.path, found, session.home_dir, progress=told.append)

    assert sum(told) == size
    assert old_result in found.characters_of
    assert done.is_new


def test_a_text_with_fewer_characters_than_its_line_stays(session: Recorded) -> None:
    """Though it has more bytes: the model would be sent more."""
    session.prompt()
    few = session.call("😀" * 175, "mcp__" + "x" * 90, command="y" * 80)
    many = session.call("😀" * 400, "mcp__" + "x" * 90, command="y" * 80)
    session.talk()

    found = session.plan(threshold_bytes=1)

    assert [*found.characters_of] == [many]
    assert few not in found.characters_of
