"""What was cleared from a session's requests, by whom, and which rows that say so are obeyed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.testing import STAND_IN
from brimline.transcript import clearings
from brimline.transcript.calls import Call
from brimline.transcript.clearings import CLIENT, NOBODY, SERVICE
from brimline.transcript.typed import Row, Session, measure

from .test_row_facts import reply_lacking

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

PAUSE_S = 7_200


def read(session: SessionBuilder) -> tuple[Session, list[Row]]:
    """All of it, and its rows."""
    found = Session()
    return found, list(found.rows_of(session.path))


def add_calls(session: SessionBuilder, count: int, characters: int = 4_000) -> list[str]:
    """Calls with results; the third one fails."""
    calls = []
    for number in range(count):
        calls.append(session.tool_call(10_000 + 1_000 * number, "Read", file_path=f"/f{number}"))
        block = {"type": "tool_result", "tool_use_id": calls[-1], "is_error": number == 2}
        message = {"role": "user", "content": [block | {"content": "x" * characters}]}
        session.row("user", message=message)
    return calls


def test_the_client_says_which_results_it_cut_and_the_first_row_for_one_holds(
    session: SessionBuilder,
) -> None:
    """Failing results, and those no longer than the stand-in, are sent all the same."""
    calls = add_calls(session, 5)
    short = session.tool_call(15_000, command="true")
    session.tool_result(short, "ok")
    session.now += PAUSE_S
    session.cut(*calls[:3], short, tokens=4_000)
    session.cut(*calls[:4], tokens=1_000)
    session.reply(9_000)

    found, rows = read(session)

    told = [(one.by, one.after_request, one.results, one.tokens) for one in found.clearings]
    assert told == [(CLIENT, 6, 2, 2_000), (CLIENT, 6, 1, 250)]
    assert found.clearings[0].call_ids == tuple(calls[:2])
    assert found.cut_by_client == {*calls[:2], calls[3]}
    assert [row.clearing for row in rows if row.clearing] == found.clearings
    assert clearings.stand_ins_by_call(session.path) == dict.fromkeys([*calls[:4], short], STAND_IN)
    report = Call("", "Agent", "", 9_000)
    assert not clearings.is_sent_as_stand_in(STAND_IN, report)
    assert [one.results for one in measure(session.path).clearings] == [4, 1]


def test_the_service_says_how_much_and_what_nobody_says_is_a_drop_after_a_pause(
    session: SessionBuilder,
) -> None:
    """Every reply repeats all that its request lacks; a compaction begins anew."""

    def reply(tokens: int, lacking: tuple[int, int] | None = None, **extra: Any) -> None:
        told = reply_lacking(*lacking)["message"] if lacking else {}
        for one in session.reply(tokens, **extra):
            session.row("assistant", message=one["message"] | told)

    reply(90_000)
    reply(60_000, (8, 30_000))
    reply(61_000, (8, 30_000))
    reply(58_000, (9, 34_000))
    session.now += PAUSE_S
    reply(20_000)
    session.model = "claude-haiku-4-5"
    session.now += PAUSE_S
    reply(100)
    session.compact(60_000)
    reply(50_000, (2, 7_000))

    found, _ = read(session)

    told = [(one.by, one.after_request, one.results, one.tokens) for one in found.clearings]
    assert told == [
        (SERVICE, 1, 8, 30_000),
        (SERVICE, 3, 1, 4_000),
        (NOBODY, 4, 0, 38_000),
        (SERVICE, 6, 2, 7_000),
    ]
    assert found.clearings[0].phrase == "8 results, ~30,000 tokens, by the service"
    assert measure(session.path).clearings == found.clearings
