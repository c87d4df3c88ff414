"""What a gateway knows of conversations: learned from what the service counted."""

from __future__ import annotations

import contextlib
import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.compaction.talks import Talk
from tests.gateway.test_proxy import SESSION, bulky, raw_of

from brimline.bulk import contents, put
from brimline.compaction.compactor import Settings
from brimline.fast import clock
from brimline.gateway import conversations as conversing
from brimline.gateway.conversations import _MOD_SIGN_S as YOUNG_S
from brimline.gateway.conversations import Conversations
from brimline.gateway.stickiness import Stickiness
from brimline.settings import config
from brimline.state import logs
from brimline.state.session import GATEWAY_SAVED, MOD_ALIVE, SessionState, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTED = {"input_tokens": 10, "cache_read_input_tokens": 48_990, "output_tokens": 5}


def test_the_size_of_a_conversation_is_what_the_service_counted(home_dir: str) -> None:
    """An answer without usage teaches nothing, and leaves what was known."""
    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        policy = config.build_live_policy(home_dir, home_dir)
        conversations = Conversations(home_dir, Settings(), policy, sticky)
        headers = {name.lower().encode(): value.encode() for name, value in SESSION.items()}
        passing = conversations.prepare_request(raw_of(bulky()), headers)
        assert passing.known is not None
        learned = []
        for usage in (None, COUNTED, None):
            conversations.note_answer(passing, usage)
            learned.append(passing.known.state.prompt_tokens)

    assert learned == [None, 49_000, 49_000]


@pytest.fixture
def conversations(home_dir: str) -> Iterator[Conversations]:
    """Those of a gateway that has just been started."""
    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        policy = config.build_live_policy(home_dir, home_dir)
        yield Conversations(home_dir, Settings(), policy, sticky)


def test_a_request_is_of_the_session_and_agent_that_its_headers_name(
    conversations: Conversations,
) -> None:
    """Else of the one that its body names; a large window is asked for by a header."""
    body = bulky().body(metadata={"user_id": '{"session_id": "of the body"}'})
    raw = json.dumps(body).encode()
    own = {b"x-claude-code-session-id": b"of the header", b"x-claude-code-agent-id": b"a1"}

    named = conversations.prepare_request(raw, own)
    plain = conversations.prepare_request(raw, {b"anthropic-beta": b"x,context-1m-2025"})

    assert (named.session, named.agent, named.name) == ("of the header", "a1", "of the header/a1")
    assert (plain.session, plain.agent, plain.name) == ("of the body", "", "of the body/")
    assert (named.is_large, plain.is_large) == (False, True)


@pytest.mark.parametrize("raw", [b"no json", b"[]", b'{"tools": [], "messages": []}'])
def test_what_is_of_no_conversation_passes_as_is(conversations: Conversations, raw: bytes) -> None:
    """And nothing is learned from its answer."""
    passing = conversations.prepare_request(raw, {})

    conversations.note_answer(passing, COUNTED)

    assert (passing.raw, passing.known, passing.outcome) == (raw, None, None)
    assert conversations.body_as_if_sent(raw, {}) == raw
    assert not conversations.shorten_refused_in_place(passing, b"prompt is too long")
    assert not conversations.drop_thinking_in_place(passing)


def test_a_refused_request_is_made_shorter_once(conversations: Conversations) -> None:
    """And not again where the shorter one was refused, too, in this request or the next."""
    talk = Talk()
    for number in range(12):
        talk.read(f"/w/file{number}.py", 9_000)
    told = b"prompt is too long: 40000 tokens > 20000 maximum"
    passing = conversations.prepare_request(raw_of(talk), {})
    before = len(passing.raw)

    first = conversations.shorten_refused_in_place(passing, told)
    shorter = len(passing.raw)
    second = conversations.shorten_refused_in_place(passing, told)
    conversations.note_second_refusal(passing)
    talk.idle(1)
    later = conversations.prepare_request(raw_of(talk), {})

    assert (first, second) == (True, False)
    assert shorter < 0.6 * before
    assert not conversations.shorten_refused_in_place(later, told)


@pytest.mark.parametrize("text", ["1.5", "0.1", "1e3", "-2.50", "1E-5"])
def test_a_number_is_read_where_a_float_says_it_exactly(text: str) -> None:
    """Else the request passes as it is."""
    assert conversing._require_exact_float(text) == float(text)
    with pytest.raises(ValueError, match=r"0\.10{20}1 cannot be said as a float"):
        conversing._require_exact_float("0.1000000000000000000001")
    with pytest.raises(ValueError, match=r"^0\.1{38} cannot be said as a float"):
        conversing._require_exact_float("0." + "1" * 50)


def test_half_of_a_surrogate_pair_is_sent_as_an_escape() -> None:
    """All else as it is, without blanks."""
    assert conversing._json_bytes_of_body({"a": ["é", 1]}) == '{"a":["é",1]}'.encode()
    assert conversing._json_bytes_of_body({"é": "\ud800"}) == b'{"\\u00e9":"\\ud800"}'


@pytest.mark.parametrize(
    ("sign", "has_mod"),
    [
        ({}, False),
        ({"at": "then", "inside": "full"}, False),
        ({"at": 0, "inside": "full"}, True),
        ({"at": 99 - YOUNG_S, "inside": "full"}, True),
        ({"at": -YOUNG_S - 99, "inside": "full"}, False),
        ({"at": YOUNG_S + 99, "inside": "full"}, False),
        ({"at": 0, "inside": "off"}, False),
        ({"at": 0}, False),
    ],
)
def test_a_mod_that_compacts_by_itself_is_known_by_a_young_sign(
    conversations: Conversations, home_dir: str, sign: dict[str, Any], has_mod: bool
) -> None:
    """Where it is alive the gateway does not look at the brim."""
    at = sign.get("at")
    if isinstance(at, int):
        sign = sign | {"at": time.time() + at}
    SessionState(home_dir, "s1").save_document(MOD_ALIVE, sign)

    passing = conversations.prepare_request(raw_of(bulky()), {b"x-claude-code-session-id": b"s1"})

    assert passing.settings
    assert (passing.settings.brim_tokens is None) is has_mod


def test_what_was_done_to_a_request_is_a_line_in_its_sessions_spool(
    conversations: Conversations, home_dir: str
) -> None:
    """With what was saved and what the service counted; the last figures are in a file, too."""
    headers = {b"x-claude-code-session-id": b"s1"}
    passing = conversations.prepare_request(raw_of(bulky()), headers)
    conversations.note_answer(passing, COUNTED)

    folder = Path(SessionState(home_dir, "s1").folder)
    line = SessionState(home_dir, "s1").last_spooled_row_of("Gateway")
    saved = line["saved"]
    assert passing.outcome
    assert saved > 0
    assert (line["kind"], line["prompt"]) == ("conversation", 49_000)
    assert sum(tokens for _, _, tokens in line["fresh"]) == pytest.approx(saved, abs=20)
    assert len(line["fresh"]) == len(passing.outcome.fresh)
    assert (folder / GATEWAY_SAVED).read_text() == f"{saved} 49000"
    assert not {"agent", "broke", "rewritten"} & line.keys()


def test_an_agents_request_has_its_name_in_the_spool_and_leaves_the_figures(
    conversations: Conversations, home_dir: str
) -> None:
    """They are those of the session itself; without usage there is no prompt."""
    headers = {b"x-claude-code-session-id": b"s1", b"x-claude-code-agent-id": b"a1"}
    passing = conversations.prepare_request(raw_of(bulky()), headers)
    conversations.note_answer(passing, None)

    folder = Path(SessionState(home_dir, "s1").folder)
    line = SessionState(home_dir, "s1").last_spooled_row_of("Gateway")
    assert line["agent"] == "a1"
    assert "prompt" not in line
    assert not (folder / GATEWAY_SAVED).exists()


def test_the_same_request_is_sent_in_the_same_bytes_after_a_restart(
    conversations: Conversations, home_dir: str
) -> None:
    """And one that goes on with it has the same conversation; another has a name of its own."""
    raw, longer, stranger = raw_of(bulky()), raw_of(bulky(1)), Talk()
    stranger.read("/w/other.py", 9_000)
    first = conversations.prepare_request(raw, {})
    with contextlib.closing(Stickiness(home_dir, time.time())) as sticky:
        policy = config.build_live_policy(home_dir, home_dir)
        restarted = Conversations(home_dir, Settings(), policy, sticky)
        again = restarted.prepare_request(raw, {})
        later = restarted.prepare_request(longer, {})
        other = restarted.prepare_request(raw_of(stranger), {})

    assert again.raw == first.raw != raw
    assert [again.name, later.name] == [first.name, first.name]
    assert later.raw.startswith(first.raw[:1_000])
    assert other.name.startswith(f"{first.name}#")
    assert again.fresh == []


def test_an_original_is_stored_with_its_source(conversations: Conversations, home_dir: str) -> None:
    """Its tool, what the tool was asked for, and the session."""
    headers = {b"x-claude-code-session-id": b"s1"}
    passing = conversations.prepare_request(raw_of(bulky()), headers)
    assert passing.outcome
    keys = [one.key for one in passing.outcome.fresh.values() if one.key]

    metas = [contents.read_sidecar(home_dir, key) for key in keys]
    assert keys
    assert {meta["session"] for meta in metas} == {"s1"}
    assert all(meta["tool"] and meta["source"] for meta in metas)


@pytest.mark.parametrize(
    ("age_s", "is_young"),
    [(YOUNG_S - 1, True), (YOUNG_S, False), (1 - YOUNG_S, True), (-YOUNG_S, False)],
)
def test_a_sign_of_life_counts_for_a_while(
    home_dir: str, age_s: int, is_young: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever clock is ahead."""
    monkeypatch.setattr(clock, "now_s", lambda: 1_800_000_000.0)
    sign = {"at": 1_800_000_000.0 - age_s, "inside": "full"}
    SessionState(home_dir, "s1").save_document(MOD_ALIVE, sign)

    assert conversing._does_mod_compact(SessionState(home_dir, "s1")) is is_young


def test_the_brim_is_that_of_the_window_that_was_asked_for_or_is_told(
    conversations: Conversations, home_dir: str
) -> None:
    """By a header, or by the status line of the session, which says nothing about its agents."""
    large = {b"anthropic-beta": b"context-1m-2025-08-07"}
    SessionState(home_dir, "s1").save_snapshot(
        Snapshot(at=time.time(), window_tokens=1_000_000, model="claude-sonnet-4-5")
    )

    def brim(headers: dict[bytes, bytes]) -> int:
        passing = conversations.prepare_request(raw_of(bulky()), headers)
        assert passing.settings
        assert passing.settings.brim_tokens
        return passing.settings.brim_tokens

    usual, asked = brim({}), brim({b"x-claude-code-session-id": b"s2"} | large)
    told = brim({b"x-claude-code-session-id": b"s1"})
    agent = brim({b"x-claude-code-session-id": b"s1", b"x-claude-code-agent-id": b"a"})

    assert 100_000 < usual < 200_000
    assert 800_000 < asked < 1_000_000
    assert (told, agent) == (asked, usual)


def test_an_original_that_the_gateway_stores_is_not_the_last_output(
    conversations: Conversations, home_dir: str
) -> None:
    """That is the one that a person saw last."""
    key = put.put(home_dir, b"seen", {})
    passing = conversations.prepare_request(raw_of(bulky()), {})

    assert passing.outcome
    assert len(contents.list_blobs(home_dir)) == 1 + len(passing.outcome.originals) > 1
    assert contents.resolve_key(home_dir, contents.LAST) == key
    (meta,) = [contents.read_sidecar(home_dir, each) for each in passing.outcome.originals]
    assert (meta["tool"], meta["source"]) == ("Bash", "journalctl -u web")


def test_so_many_conversations_are_known_at_a_time_the_last_ones(
    conversations: Conversations,
) -> None:
    """One that goes on is among the last."""
    most = conversing._MOST_CONVERSATIONS
    for number in range(most):
        conversations.prepare_request(raw_of(Talk(f"Wish {number}.")), _session(number))
    conversations.prepare_request(raw_of(Talk("Wish 0.")), _session(0))
    whole = list(conversations._known)
    conversations.prepare_request(raw_of(Talk("One more.")), _session(most))

    assert len(whole) == most
    assert list(conversations._known) == [*whole[1:], f"s{most}/"]
    assert whole[-1] == "s0/"


def _session(number: int) -> dict[bytes, bytes]:
    return {b"x-claude-code-session-id": f"s{number}".encode()}


@pytest.mark.parametrize(
    ("model", "factor"), [("claude-opus-5-5", 2.85 / 2.2), ("claude-sonnet-4-5", 1.0)]
)
def test_what_is_saved_is_counted_in_the_tokens_of_the_model(
    conversations: Conversations, home_dir: str, model: str, factor: float
) -> None:
    """In the line of the session as in what is told of each block."""
    raw = json.dumps(bulky().body(model=model)).encode()
    passing = conversations.prepare_request(raw, _session(1))
    conversations.note_answer(passing, COUNTED)
    line = SessionState(home_dir, "s1").last_spooled_row_of("Gateway")

    assert passing.outcome
    report = passing.outcome.report
    assert line["saved"] == round((report.original_tokens - report.sent_tokens) * factor)
    ((layer, key, tokens),) = line["fresh"]
    (own,) = passing.outcome.fresh.values()
    original = passing.outcome.originals[key].tokens
    assert (layer, key) == (own.layer, own.key)
    assert tokens == round((original - own.tokens) * factor)
    assert line["ms"] == 0.0


def test_whatever_fails_is_a_line_in_the_error_log_and_the_request_goes_on(
    conversations: Conversations, home_dir: str
) -> None:
    """Also where its tokens are only counted."""
    conversations._stickiness.close()
    raw = raw_of(bulky())

    passing = conversations.prepare_request(raw, {})
    counted = conversations.body_as_if_sent(raw, {})

    failures = logs.recent_failures(home_dir, 0.0)
    assert (passing.raw, passing.outcome, counted) == (raw, None, raw)
    assert [failure["event"] for failure in failures] == ["Gateway"] * 2


def test_a_request_that_was_refused_is_not_made_shorter_where_nothing_is_known_of_it(
    conversations: Conversations,
) -> None:
    """And that it was refused twice is noted of nothing."""
    passing = conversing.Passing(b"{}", b"{}")

    conversations.note_second_refusal(passing)
    conversations.note_answer(passing, COUNTED)

    assert not conversations._replace_refused_in_place(
        passing, lambda _: pytest.fail("nothing is known")
    )


def test_a_request_that_nothing_was_changed_in_leaves_no_line(
    conversations: Conversations, home_dir: str
) -> None:
    """It was sent as it came."""
    plain = conversations.prepare_request(raw_of(Talk()), _session(1))
    conversations.note_answer(plain, COUNTED)

    assert plain.outcome
    assert not plain.outcome.is_changed
    assert plain.raw == plain.original
    assert not SessionState(home_dir, "s1").last_spooled_row_of("Gateway")
    assert not Path(SessionState(home_dir, "s1").folder, GATEWAY_SAVED).exists()


def test_where_an_original_cannot_be_stored_the_request_passes_as_it_is(
    conversations: Conversations, home_dir: str
) -> None:
    """With a line in the error log; nothing stands in for it."""
    Path(home_dir, "store").write_text("no folder")
    raw = raw_of(bulky())

    passing = conversations.prepare_request(raw, _session(1))

    (failure,) = logs.recent_failures(home_dir, 0.0)
    assert failure["event"] == "Gateway"
    assert (passing.raw, passing.fresh) == (raw, [])
    assert passing.outcome
    assert not passing.outcome.is_changed
    assert conversations._stickiness.last_requests("s1/") == []


def test_counting_adopts_nothing_of_another_conversation(conversations: Conversations) -> None:
    """What is only counted was never sent."""
    sent = conversations.prepare_request(raw_of(bulky()), _session(1))

    counted = conversations.body_as_if_sent(raw_of(bulky(1)), _session(2))

    adopted = conversations._stickiness.sent_stand_ins(sent.names, "s2/")
    assert len(counted) < len(raw_of(bulky(1)))
    assert adopted == {}
    assert conversations._stickiness.sent_stand_ins(sent.names, "s1/")


def test_a_conversation_beside_another_has_a_name_of_its_own(conversations: Conversations) -> None:
    """By what it says, in 32 digits."""
    conversations.prepare_request(raw_of(Talk("One wish.")), _session(1))
    other = conversations.prepare_request(raw_of(Talk("Another.")), _session(1))

    assert re.fullmatch(r"s1/#[0-9a-f]{32}", other.name)
    assert other.sent
    assert (len(other.sent.hash), len(other.sent.prefix)) == (32, 32)
    assert other.sent.blocks == len(other.names)


def test_a_refusal_of_thinking_leaves_out_only_what_our_edits_made_invalid(
    conversations: Conversations,
) -> None:
    """Where there is no thinking there is no other form; what we did not change is not ours."""
    plain = conversations.prepare_request(raw_of(Talk()), _session(1))
    edited = conversations.prepare_request(raw_of(bulky()), _session(2))

    told = [conversations.drop_thinking_in_place(passing) for passing in (plain, edited)]

    assert told == [False, False]
    assert edited.raw != edited.original
