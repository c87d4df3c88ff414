"""What a purge decides and does to a session, and what it never touches."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

import pytest

from brimline.session import purge as purging
from brimline.session.disk import BusyError, RewriteError
from brimline.store import contents, pins, put, stub
from brimline.testing import text_block

from .recorded import QUIET_S, call, data, everything, output, prepare, purge, results, rows, talk

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


@pytest.fixture
def old_result(session: SessionBuilder) -> str:
    """A session with one old large result; the id of its call."""
    session.prompt()
    call_id = call(session, output("build"))
    talk(session)
    return call_id


@pytest.mark.row("S3-52")
@pytest.mark.row("S3-55")
@pytest.mark.row("S3-56")
@pytest.mark.row("S2-11")
def test_an_old_large_result_becomes_a_reference(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """The store holds its exact bytes under the key in the reference; ids stay."""
    before = rows(session)

    purge(session, home_dir)

    text = results(session)[old_result]
    found = stub.parse(text)
    content = output("build").encode()
    assert found is not None
    assert found.key == "sha256:" + hashlib.sha256(content).hexdigest()
    assert (found.content_bytes, found.tool, found.source) == (len(content), "Bash", "make")
    assert contents.get(home_dir, found.key) == content
    assert f"brimline store get {found.key[:19]}" in text
    assert [row["uuid"] for row in rows(session)] == [row["uuid"] for row in before]


@pytest.mark.row("S3-50")
def test_lines_that_are_not_changed_stay_byte_for_byte(
    session: SessionBuilder, home_dir: str
) -> None:
    """Torn, merged, CRLF, broken UTF-8, a byte order mark, foreign rows, 9 MB in one line."""
    odd = [
        b"\xef\xbb\xbf" + b'{"type":"mark","uuid":"m"}\n',
        b'{"type":"crlf","x":1}\r\n',
        b'{"type":"user","message":{"content":"\xff\xfe"}}\n',
        b'{"type":"one"}{"type":"two"}\n',
        b'{"type":"torn","message":{"content":[\n',
        b"not json at all\n",
        b"\n",
        b'{ "type" : "spaced", "toolUseResult" : 1 }\n',
        b'{"type":"from-the-future","blob":"' + b"z" * 8_000 + b'"}\n',
        b'{"type":"long","text":"' + b"x" * (9 << 20) + b'"}\n',
    ]
    session.prompt()
    call(session, output("old"))
    for line in odd:
        session.raw(line)
    talk(session)
    session.raw(b'{"type":"last","without":"an end"')

    done = purge(session, home_dir)

    after = data(session)
    assert done.swapped
    assert b"".join(odd) in after
    assert after.endswith(b'{"type":"last","without":"an end"')


@pytest.mark.row("S3-51")
def test_a_second_purge_changes_nothing(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """A result that is a reference stays one."""
    purge(session, home_dir)

    assert prepare(session, home_dir).is_empty
    assert prepare(session, home_dir, threshold_bytes=1).is_empty


@pytest.mark.row("S3-48")
def test_looking_touches_neither_the_session_nor_the_store(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """What analyze and dry-run do leaves no trace."""
    put.put(home_dir, b"something", {})
    kept, before = everything(home_dir), data(session)

    found = prepare(session, home_dir)

    assert found.disk_bytes > 5_000
    assert everything(home_dir) == kept
    assert data(session) == before


def test_the_figures_are_what_the_file_loses(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """Disk bytes are exact; context tokens are the characters that the next request loses."""
    before = len(data(session))
    found = prepare(session, home_dir)
    lost_characters = len(output("build"))

    done = purging.purge(session.path, found, home_dir, quiet_s=QUIET_S)

    lost_characters -= len(results(session)[old_result])
    assert before - len(data(session)) == found.disk_bytes
    assert done.before.length - done.after.length == found.disk_bytes
    assert found.context_tokens == int(lost_characters / 2.85)


@pytest.mark.row("S2-18")
def test_what_no_request_contains_is_counted_as_disk_only(
    session: SessionBuilder, home_dir: str
) -> None:
    """Results before the last compaction and in subagents leave the file, but no context."""
    session.prompt()
    call(session, output("before"))
    session.compact(150_000)
    side = session.tool_call(1_000, command="x")
    session.tool_result(side, output("subagent"), isSidechain=True)
    talk(session)

    saving = prepare(session, home_dir).savings["old"]

    assert (saving.items, saving.context_items, saving.context_characters) == (2, 0, 0)
    assert saving.disk_bytes > 10_000


def test_keep_recent_counts_requests(session: SessionBuilder, home_dir: str) -> None:
    """Rows of one reply are one request, and a result belongs to the request that called."""
    session.prompt()
    old, recent = call(session, output("one")), call(session, output("two"))
    for number in range(3):
        session.reply(60_000, text_block("a"), text_block("b"), message_id=f"msg_x{number}")

    purge(session, home_dir, keep_requests=4)

    assert stub.parse(results(session)[old]) is not None
    assert results(session)[recent] == output("two")


@pytest.mark.row("S3-47")
def test_a_compaction_summary_is_never_touched(session: SessionBuilder, home_dir: str) -> None:
    """However large and old it is, and whatever it holds."""
    session.prompt()
    block = {"type": "tool_result", "tool_use_id": "x", "content": output("summary")}
    session.row("user", message={"role": "user", "content": [block]}, isCompactSummary=True)
    call(session, output("old"))
    talk(session)
    summary = data(session).splitlines()[1]

    purge(session, home_dir)

    assert data(session).splitlines()[1] == summary


def test_what_a_compaction_preserved_is_never_touched(
    session: SessionBuilder, home_dir: str
) -> None:
    """Neither the messages that it names nor those between the ends of a stretch."""
    session.prompt()
    gone = call(session, output("gone"))
    session.reply(60_000)
    head = session.parent
    between = call(session, output("between"))
    tail = session.parent
    named = call(session, output("named"))
    session.row(
        "system",
        subtype="compact_boundary",
        compactMetadata={
            "preservedSegment": {"headUuid": head, "tailUuid": tail},
            "preservedMessages": {"uuids": [session.parent]},
        },
    )
    talk(session)

    found = prepare(session, home_dir)
    purge(session, home_dir)

    assert found.kept["preserved"] == 2
    assert stub.parse(results(session)[gone]) is not None
    assert results(session)[between] == output("between")
    assert results(session)[named] == output("named")


@pytest.mark.row("S3-42")
def test_usage_rows_and_thoughts_stay_byte_for_byte(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """Every reply is exactly the line it was."""
    thought = {"type": "thinking", "thinking": "t" * 9_000, "signature": "s" * 400}
    session.reply(61_000, thought)
    talk(session)
    replies = [line for line in data(session).splitlines() if b'"assistant"' in line]

    purge(session, home_dir)

    assert [line for line in data(session).splitlines() if b'"assistant"' in line] == replies


@pytest.mark.row("S3-58")
@pytest.mark.row("S3-59")
@pytest.mark.row("S3-60")
def test_results_that_the_user_pinned_stay(session: SessionBuilder, home_dir: str) -> None:
    """By a directive in a message, its client's copy with it; also one typed during the work."""
    session.prompt()
    last = call(session, output("last"))
    session.prompt('brim:pin last level=hard reason="needed"')
    session.prompt("ccm:pin next")
    following = call(session, output("following"))
    other = call(session, output("other"))
    queued = call(session, output("queued"))
    session.row(
        "attachment",
        attachment={"type": "queued_command", "prompt": "BRIM:PIN last", "commandMode": "prompt"},
    )
    talk(session)
    before = data(session).splitlines()

    found = prepare(session, home_dir)
    purge(session, home_dir)

    after = results(session)
    assert found.kept["pinned"] == 3
    assert after[last] == output("last")
    assert after[following] == output("following")
    assert after[queued] == output("queued")
    assert stub.parse(after[other]) is not None
    assert before[2] in data(session).splitlines()


def test_only_users_pin(session: SessionBuilder, home_dir: str, old_result: str) -> None:
    """A model that quotes a directive, and a result that holds one, pin nothing."""
    session.reply(60_000, text_block("brim:pin last"))
    call(session, "brim:pin last")
    talk(session)

    purge(session, home_dir)

    assert stub.parse(results(session)[old_result]) is not None


def test_content_that_is_pinned_in_the_store_stays(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """A pin by key holds wherever the content occurs."""
    key = put.put(home_dir, output("build").encode(), {})
    pins.pin(home_dir, key, "soft")

    assert prepare(session, home_dir).savings["old"].items == 0
    pins.pin(home_dir, key, "none")
    assert prepare(session, home_dir).savings["old"].items == 1


@pytest.mark.row("S2-32")
def test_no_message_is_ever_dropped(session: SessionBuilder, home_dir: str) -> None:
    """Only progress rows go; whoever is asked finds every message and every pair."""
    session.prompt()
    for number in range(30):
        call(session, output(str(number)))
    before = [row for row in rows(session) if row["type"] != "progress"]

    purge(session, home_dir, keep_requests=0)

    after = rows(session)
    assert [row["uuid"] for row in after] == [row["uuid"] for row in before]
    assert [row["parentUuid"] for row in after] == [row["parentUuid"] for row in before]


def test_a_session_that_changed_since_it_was_looked_at_is_refused(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """Nothing is swapped, and no record of a purge stays behind."""
    found = prepare(session, home_dir)
    changed = data(session).replace("naïvely".encode(), b"cleverly")
    with open(session.path, "wb") as file:
        file.write(changed)
    os.utime(session.path, (1_700_000_000, 1_700_000_000))

    with pytest.raises(RewriteError, match="changed by another program"):
        purging.purge(session.path, found, home_dir, quiet_s=QUIET_S)

    assert data(session) == changed
    assert not os.path.exists(f"{home_dir}/backups/purges")


def test_what_was_appended_since_it_was_looked_at_goes_along(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """Lines that came between the preview and the answer are copied as they are."""
    found = prepare(session, home_dir)
    session.prompt("late")
    session.reply(60_000)
    os.utime(session.path, (1_700_000_000, 1_700_000_000))
    late = data(session).splitlines()[-2:]

    purging.purge(session.path, found, home_dir, quiet_s=QUIET_S)

    assert data(session).splitlines()[-2:] == late
    assert stub.parse(results(session)[old_result]) is not None


def test_a_store_that_cannot_take_a_result_leaves_the_session_alone(
    session: SessionBuilder, home_dir: str, old_result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is an error before anything is swapped, and no record stays behind."""

    def full(*_arguments: object, **_named: object) -> str:
        raise OSError(28, "No space left on device")

    before = data(session)
    found = prepare(session, home_dir)
    monkeypatch.setattr(put, "put", full)

    with pytest.raises(RewriteError, match=r"No space left.*nothing was changed"):
        purging.purge(session.path, found, home_dir, quiet_s=QUIET_S)

    assert data(session) == before
    assert not os.path.exists(f"{home_dir}/backups/purges")


def test_an_empty_session_has_nothing_to_purge(session: SessionBuilder, home_dir: str) -> None:
    """Neither has one with nothing but foreign lines."""
    session.raw(b"")
    assert prepare(session, home_dir).is_empty

    session.raw(b"what is this\n\n{")
    assert prepare(session, home_dir).is_empty


def test_results_without_a_call_or_with_half_characters_are_left_or_handled(
    session: SessionBuilder, home_dir: str
) -> None:
    """An orphan is large too; text that no bytes stand for stays where it is."""
    session.prompt()
    session.tool_result("toolu_nobody", output("orphan"))
    half = json.dumps({"type": "tool_result", "tool_use_id": "h", "content": "\ud800" * 6_000})
    session.raw('{"type":"user","uuid":"u","message":{"content":[' + half + "]}}\n")
    talk(session)
    line = data(session).splitlines()[2]

    purge(session, home_dir)

    assert stub.parse(results(session)["toolu_nobody"]) is not None
    assert data(session).splitlines()[2] == line


def test_two_purges_at_once_do_not_mix(
    session: SessionBuilder, home_dir: str, old_result: str
) -> None:
    """The second is told so, whenever it comes."""
    from brimline.session import recovery

    found = prepare(session, home_dir)
    with recovery.opened(os.path.realpath(session.path)), pytest.raises(BusyError):
        purging.purge(session.path, found, home_dir, quiet_s=QUIET_S)
    purging.purge(session.path, found, home_dir, quiet_s=QUIET_S)
    with pytest.raises(RewriteError):
        purging.purge(session.path, found, home_dir, quiet_s=QUIET_S)
