"""What offloading saved in a session, less what it cost, from its transcript."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.offload import savings
from brimline.offload.accounts import Session, Tally
from brimline.testing import SessionBuilder, text_block

from .transcripts import bulk, call, numbered, offloaded, stub

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.offload.accounts import Account

RATIO = 2.85
FILE = "/home/dev/project/big.py"
# What a call costs beside its arguments, and a result beside its text, as the gauge has it.
CALL_TOKENS, RESULT_TOKENS = 90, 10


def read(session: SessionBuilder, **extra: Any) -> Session:
    """What the session's files tell."""
    return savings.read_session(session.path, **extra)


def main(session: SessionBuilder) -> Account:
    """The account of its main thread."""
    return read(session).tally.main


def subagent(session: SessionBuilder, name: str = "a1") -> SessionBuilder:
    """A file of a subagent that the session started."""
    folder = session.path.removesuffix(".jsonl")
    return SessionBuilder(f"{folder}/subagents/agent-{name}.jsonl", counter=500)


def rows_of(session: SessionBuilder) -> list[dict[str, Any]]:
    """The rows of a session's file."""
    return [json.loads(line) for line in Path(session.path).read_text().splitlines()]


@pytest.mark.row("S3-01")
def test_what_a_stub_kept_out_is_what_would_have_been_shown_less_the_stub(
    session: SessionBuilder,
) -> None:
    """Bytes are counted, tokens estimated by the ratio of the model."""
    shown = offloaded(session, 20_000)

    account = main(session)

    assert (account.stubs, account.recalls) == (1, 0)
    assert (account.stored_bytes, account.shown_bytes) == (20_000, 20_000)
    assert account.stub_bytes == len(shown.encode())
    assert account.kept_out_bytes == 20_000 - len(shown.encode())
    expected = 20_000 * len(shown) / len(shown.encode()) / RATIO - len(shown) / RATIO
    assert account.kept_out_tokens == pytest.approx(expected, rel=1e-3)


def test_newer_models_make_more_tokens_of_the_same_text(session: SessionBuilder) -> None:
    """The ratio is the gauge's."""
    offloaded(session)
    older = main(session).kept_out_tokens
    session.model = "claude-opus-5"
    offloaded(session)

    assert main(session).kept_out_tokens == pytest.approx(older * (1 + RATIO / 2.2))


def test_a_stub_for_what_the_client_would_have_put_aside_costs(session: SessionBuilder) -> None:
    """Of 100,000 characters the client itself shows 2,300, so a longer stub saves nothing."""
    shown = stub(bulk(100_000)) + "more " * 600
    call(session, shown, command="make all")

    account = main(session)

    assert account.stored_bytes == 100_000
    assert account.shown_bytes == 2_300
    assert account.kept_out_bytes == 2_300 - len(shown.encode()) < 0
    assert account.kept_out_tokens < 0


def test_the_clients_own_limit_is_asked_for_by_project(session: SessionBuilder) -> None:
    """It can be set differently for each."""
    offloaded(session, 20_000)
    asked: list[str | None] = []

    def limit(project: str | None) -> int:
        asked.append(project)
        return 4_000

    assert read(session, bash_characters=limit).tally.main.shown_bytes == 2_300
    assert asked == [session.cwd]


@pytest.mark.parametrize(
    "fetch",
    [
        lambda session, text: call(session, text, command="brimline store get 3f2a9c01"),
        lambda session, text: call(session, text, "mcp__brimline__recall", key="3f2a9c01"),
        lambda session, text: call(session, text, "mcp__plugin_brim_brimline__recall", key="3f2a"),
    ],
)
def test_a_recall_takes_back_what_it_brings(
    fetch: Callable[[SessionBuilder, str], str], session: SessionBuilder
) -> None:
    """Its call costs tokens as well."""
    offloaded(session)
    before = main(session)
    fetch(session, "x" * 5_700)

    account = main(session)

    assert (account.recalls, account.recalled_bytes) == (1, 5_700)
    assert account.kept_out_bytes == before.kept_out_bytes - 5_700
    cost = 5_700 / RATIO + CALL_TOKENS + RESULT_TOKENS
    assert account.recalled_tokens == pytest.approx(cost, rel=0.01)
    assert account.recalled_tokens > cost


def test_a_recall_that_begins_with_a_stub_is_a_recall(session: SessionBuilder) -> None:
    """The answers of our server may name what they show in the same words."""
    call(session, stub(bulk(20_000)), "mcp__brimline__recall", key="3f2a9c01")

    account = main(session)

    assert (account.stubs, account.recalls) == (0, 1)


def test_other_commands_of_the_store_bring_nothing_back(session: SessionBuilder) -> None:
    """A list of keys is no content."""
    offloaded(session)
    call(session, "a list", command="brimline store list")

    assert main(session).recalls == 0


def test_reading_a_file_again_takes_back_what_its_stub_kept_out(session: SessionBuilder) -> None:
    """Page by page, and no more than that: later looks would have come anyway."""
    text = bulk(40_000)
    call(session, numbered(stub(text, "Read", FILE)), "Read", file_path=FILE)
    assert main(session).recalls == 0

    call(session, numbered(bulk(4_000)), "Read", file_path=FILE, offset=1, limit=100)
    assert main(session).recalled_bytes == len(numbered(bulk(4_000)))

    call(session, numbered(text), "Read", file_path=FILE)
    account = main(session)
    assert account.recalls == 2
    assert account.recalled_bytes == pytest.approx(account.shown_bytes, rel=0.01)

    call(session, numbered(text), "Read", file_path=FILE)
    assert main(session).recalls == 2


def test_a_file_is_the_same_by_any_path(session: SessionBuilder) -> None:
    """First from the current folder, then in full."""
    path = f"{session.cwd}/big.py"
    call(session, numbered(stub(bulk(40_000), "Read", path)), "Read", file_path="./big.py")
    call(session, numbered(bulk(4_000)), "Read", file_path=path, limit=100)

    account = main(session)

    assert (account.stubs, account.recalls) == (1, 1)


def test_pictures_beside_a_stub_are_not_its_cost(session: SessionBuilder) -> None:
    """They would have been there as well."""
    shown = stub(bulk(20_000), "mcp__lab__plot", "")
    content = [text_block(shown), {"type": "image", "source": {"data": "x" * 9_000}}]
    call_id = session.tool_call(50_000, "mcp__lab__plot")
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    session.row("user", message={"role": "user", "content": [block]})

    account = main(session)

    assert account.stub_bytes == len(shown.encode())
    assert account.stub_tokens == pytest.approx(len(shown) / RATIO)


def test_reading_another_file_is_no_recall(session: SessionBuilder) -> None:
    """Nor is reading one again that was never replaced."""
    call(session, numbered(stub(bulk(40_000), "Read", FILE)), "Read", file_path=FILE)
    call(session, numbered("x"), "Read", file_path="/other.py")
    call(session, numbered("x"), "Read", file_path="/other.py")

    assert main(session).recalls == 0


def test_after_a_compaction_a_file_is_read_anew(session: SessionBuilder) -> None:
    """The whole file would have been gone from the context as well."""
    call(session, numbered(stub(bulk(40_000), "Read", FILE)), "Read", file_path=FILE)
    session.compact(160_000)
    call(session, numbered(bulk(40_000)), "Read", file_path=FILE)

    assert main(session).recalls == 0


def test_stubs_that_are_quoted_do_not_count(session: SessionBuilder) -> None:
    """In what the assistant or the user says, in arguments, in output of other commands."""
    text = stub(bulk(20_000))
    session.prompt(text)
    session.reply(50_000, text_block(text))
    call(session, "ok", "Write", file_path="/x", content=text)
    call(session, text, command="tail -1 session.jsonl | jq -r .message")
    session.row("user", toolUseResult={"stdout": text}, message={"role": "user", "content": "x"})

    found = read(session)

    assert not found.has_any
    assert found.tally.main.kept_out_bytes == 0


def test_a_session_without_any_stub_says_so(session: SessionBuilder) -> None:
    """An empty file as well as a long one."""
    Path(session.path).touch()
    assert not read(session).has_any

    call(session, bulk(20_000), command="make all")
    assert not read(session).has_any


def test_rows_that_a_resumed_session_repeats_count_once(session: SessionBuilder) -> None:
    """With the same uuid, or under a new one with the same ids in them."""
    offloaded(session)
    call(session, "x" * 100, command="brimline store get 3f2a9c01")
    session.reply(60_000)
    once = read(session)
    for row in rows_of(session):
        session.raw(json.dumps(row) + "\n")
        session.raw(json.dumps(row | {"uuid": "again-" + row["uuid"]}) + "\n")

    again = read(session)

    assert again.tally.main == once.tally.main
    assert again.tally.token_requests == once.tally.token_requests
    assert again.tally.requests == once.tally.requests == 2


def test_what_a_forked_session_repeats_counts_once_in_total(
    session: SessionBuilder, world: Path
) -> None:
    """Each session tells all that is in its window; the total tells it once."""
    offloaded(session)
    session.reply(60_000)
    fork = SessionBuilder(str(world / "fork.jsonl"), counter=900)
    Path(fork.path).write_bytes(Path(session.path).read_bytes())
    call(fork, stub(bulk(9_000), source="make docs"), command="make docs", tokens=61_000)
    fork.reply(62_000)
    total = Tally()

    one, two = read(session, total=total), read(fork, total=total)

    assert (one.tally.main.stubs, two.tally.main.stubs, total.main.stubs) == (1, 2, 2)
    assert total.main == two.tally.main
    assert (one.tally.requests, two.tally.requests, total.requests) == (1, 3, 3)
    assert total.token_requests == pytest.approx(two.tally.token_requests)


def test_subagents_have_an_account_of_their_own(session: SessionBuilder) -> None:
    """In their own files, or among the rows of the session as old clients wrote them."""
    offloaded(session)
    other = subagent(session)
    call_id = other.tool_call(9_000, "Bash", command="make all")
    other.tool_result(call_id, stub(bulk(10_000)))
    inline = {"type": "tool_result", "tool_use_id": "toolu_x", "content": stub(bulk(12_000))}
    session.row("user", message={"role": "user", "content": [inline]}, isSidechain=True)
    session.reply(60_000)

    found = read(session).tally

    assert (found.main.stubs, found.main.stored_bytes) == (1, 20_000)
    assert (found.subagents.stubs, found.subagents.stored_bytes) == (2, 22_000)
    assert found.requests == 1


def test_every_request_until_the_next_compaction_is_spared(session: SessionBuilder) -> None:
    """What is in the context is sent again with each request; a recall counts from there on."""
    offloaded(session)
    saved = main(session).kept_out_tokens
    session.reply(51_000)
    session.reply(52_000)
    assert read(session).tally.token_requests == pytest.approx(2 * saved)

    call(session, "x" * 2_850, command="brimline store get 3f2a9c01", tokens=53_000)
    left = main(session).kept_out_tokens
    session.reply(54_000)
    found = read(session)
    assert found.tally.token_requests == pytest.approx(3 * saved + left)
    assert found.tally.requests == 4

    session.compact(160_000)
    session.reply(40_000)
    assert read(session).tally.token_requests == found.tally.token_requests


def test_rows_of_one_reply_are_one_request(session: SessionBuilder) -> None:
    """They share an id and a usage."""
    offloaded(session)
    session.reply(51_000, text_block("a"), text_block("b"), text_block("c"))

    assert read(session).tally.requests == 1


def test_the_fullest_request_is_told_with_what_it_was_spared(session: SessionBuilder) -> None:
    """Measured, and estimated beside it."""
    session.reply(20_000)
    offloaded(session)
    session.reply(90_000)
    session.compact(90_500)
    session.reply(30_000)

    found = read(session)

    assert found.fullest_tokens == 90_000
    assert found.fullest_kept_out_tokens == pytest.approx(found.tally.main.kept_out_tokens)


def final(session: SessionBuilder, tokens: int, output_tokens: int, **asked: Any) -> str:
    """A reply whose recorded size is its true one, and that ends in a command."""
    call_id = f"toolu_{tokens}"
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": asked}
    usage = {"input_tokens": tokens, "output_tokens": output_tokens}
    message: dict[str, Any] = {"id": f"msg_{tokens}", "role": "assistant", "model": session.model}
    message |= {"content": [block], "stop_reason": "tool_use", "usage": usage}
    session.row("assistant", message=message)
    return call_id


def test_what_a_stub_really_took_is_measured_where_it_came_alone(session: SessionBuilder) -> None:
    """Two requests and the size of the reply between them tell it, up to a line of the client's."""
    shown = stub(bulk(20_000))
    session.tool_result(final(session, 50_000, 200, command="make all"), shown)
    session.row("attachment", attachment={"type": "reminder"}, rendered="x" * 20)
    session.reply(50_900)

    tally = read(session).tally

    assert (tally.measured_stubs, tally.measured_tokens) == (1, 700)
    assert tally.measured_estimate == pytest.approx(len(shown) / RATIO)


@pytest.mark.parametrize(
    "disturb",
    [
        lambda session: session.prompt("also this " * 50),
        lambda session: call(session, "ok " * 90, command="true"),
        lambda session: session.compact(160_000),
        lambda session: session.row("attachment", attachment={"type": "x"}, rendered="a " * 99),
    ],
)
def test_nothing_is_measured_where_something_else_came(
    disturb: Callable[[SessionBuilder], object], session: SessionBuilder
) -> None:
    """Then the growth is not the stub's alone."""
    session.tool_result(final(session, 50_000, 200, command="make all"), stub(bulk(20_000)))
    disturb(session)
    session.reply(50_900)

    assert read(session).tally.measured_stubs == 0


def test_replies_whose_size_is_a_placeholder_measure_nothing(session: SessionBuilder) -> None:
    """Clients write the true one with the last row of a reply only."""
    offloaded(session)
    session.reply(50_900)

    assert read(session).tally.measured_stubs == 0


def test_damaged_transcripts_tell_what_is_left_of_them(session: SessionBuilder) -> None:
    """Torn lines, two objects on a line, no newline at the end."""
    session.raw('{"type":"assistant","message":{"id":"msg_0","content":[{"type":"tool_u\n')
    first = session.tool_call(50_000, "Bash", command="make all")
    row = session.tool_result(first, stub(bulk(20_000)))
    second = {"type": "tool_result", "tool_use_id": "toolu_b", "content": stub(bulk(9_000))}
    other = row | {"uuid": "other", "message": {"role": "user", "content": [second]}}
    session.raw(json.dumps(row | {"uuid": "same"}) + json.dumps(other) + "\n")
    session.raw(b"\xff\xfe\x00\n" + json.dumps(row)[:-300].encode())

    account = main(session)

    assert (account.stubs, account.stored_bytes) == (2, 29_000)


def test_a_result_before_its_call_counts(session: SessionBuilder) -> None:
    """Parallel calls are written in any order."""
    session.tool_result("toolu_000900", stub(bulk(20_000)))
    session.reply(
        50_000,
        {"type": "tool_use", "id": "toolu_000900", "name": "Bash", "input": {"command": "x"}},
    )

    assert main(session).stubs == 1


def test_progress_adds_up_to_the_size_of_all_files(session: SessionBuilder) -> None:
    """Whether a file had to be taken apart or not."""
    offloaded(session)
    call(subagent(session), "nothing of ours", command="ls")
    files = [Path(session.path), *Path(session.path[:-6]).rglob("*.jsonl")]
    told: list[int] = []

    read(session, progress=told.append)

    assert sum(told) == sum(file.stat().st_size for file in files)
    assert len(files) == 2


def test_a_mark_across_two_blocks_is_seen(
    session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are looked through block by block before they are taken apart."""
    offloaded(session)
    for size in range(7, 60, 5):
        monkeypatch.setattr(savings, "_BLOCK_BYTES", size)

        assert read(session).has_any


def test_a_file_that_cannot_be_read_is_told(session: SessionBuilder) -> None:
    """The caller decides what that means for the rest."""
    with pytest.raises(FileNotFoundError):
        read(session)
