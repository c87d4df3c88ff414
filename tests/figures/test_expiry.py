"""The notice on a cold cache: to the person, once per pause, at the right price."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from brimline import models
from brimline.bulk import cold
from brimline.fast import clock, paths
from brimline.figures import LEAST_TOKENS, expiry
from brimline.figures.expiry import _MOST_OWN_TOKENS as MOST
from brimline.mod import request

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk

    from brimline.testing import SessionBuilder

HOUR_S = 3_600


def resume(talk: Talk, monkeypatch: pytest.MonkeyPatch, after_s: float) -> str:
    """What the person is told where the session goes on so long after its last row."""
    moment = talk.session.now + after_s
    monkeypatch.setattr(clock, "now_s", lambda: moment)
    monkeypatch.setattr(paths, "transcript_of_session", lambda _: str(talk.session.path))
    question = {"session": talk.session.session_id, "cwd": talk.session.cwd, "is_resumed": True}
    return str(request.respond("pause", question, talk.home_dir).get("text", ""))


def filled(talk: Talk, tokens: int = 212_000, results: int = 60) -> None:
    """A session of this size and so many results, with a cache that lives for five minutes."""
    for number in range(results):
        call_id = talk.session.tool_call(9_000, command=f"cat {number}")
        talk.session.tool_result(call_id, "x" * 9_000)
    talk.session.model = "claude-opus-5-5"
    talk.session.reply(tokens, output_tokens=0)


@pytest.mark.parametrize(
    ("after_s", "tokens", "is_told"),
    [
        (3 * HOUR_S, 212_000, True),
        (3 * HOUR_S, LEAST_TOKENS, True),
        (301, 212_000, True),
        (300, 212_000, False),
        (3 * HOUR_S, LEAST_TOKENS - 1_000, False),
    ],
)
def test_a_large_context_with_a_cold_cache_is_told_of(
    after_s: float,
    tokens: int,
    is_told: bool,
    talk: Talk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When it is resumed."""
    filled(talk, tokens)

    told = resume(talk, monkeypatch, after_s)

    assert ("The cache of this session expired" in told) is is_told


def test_it_is_told_once_per_pause(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again after the next one; who wants silence hears nothing."""
    filled(talk)
    first = resume(talk, monkeypatch, 3 * HOUR_S)
    assert re.fullmatch(
        r"brimline: The cache of this session expired 2 h ago: the next request writes 212,001 "
        r"tokens again, about \$1\.06\. `/compact` first makes it about \d+,000, \$0\.\d\d, "
        r"without a model\.",
        first,
    )
    assert resume(talk, monkeypatch, 4 * HOUR_S) == ""
    talk.session.now += 9 * HOUR_S
    talk.session.reply(213_000)
    assert "expired 45 min ago" in resume(talk, monkeypatch, 50 * 60)
    talk.session.now += 9 * HOUR_S
    talk.session.reply(214_000)
    talk.use(compaction__when_cold="off")
    assert resume(talk, monkeypatch, 3 * HOUR_S) == ""


@pytest.mark.parametrize(
    ("model", "lifetime_s", "thoughts", "cost", "left", "saving"),
    [
        (
            *("claude-opus-5-5", 3_600, 41),
            ", about $1.70.",
            "$0.76, without a model, and lets go of 41 thoughts.",
            ": the next request costs about $0.76 in place of $1.70; 41 thoughts went.",
        ),
        (
            *("claude-opus-5-5", 300, 0),
            ", about $1.06.",
            "$0.47, without a model.",
            ": the next request costs about $0.47 in place of $1.06.",
        ),
        (
            *("my-own-model", 300, 0),
            *(".", "without a model.", "."),
        ),
    ],
)
def test_both_prices_are_those_of_the_model_and_the_caches_lifetime(
    model: str, lifetime_s: int, thoughts: int, cost: str, left: str, saving: str
) -> None:
    """Without a known price there is none. Where thinking would have stayed it is said to go."""
    cache = expiry.Cache(0.0, lifetime_s, model)
    offer = expiry.Offer(cache, models.lookup_model(model), 212_000, 95_000, thoughts)

    assert offer.text(9_000).endswith(
        f"the next request writes 212,000 tokens again{cost} "
        f"`/compact` first makes it about 95,000, {left}"
    )
    assert offer.saving_text() == f"The cache had expired{saving}"


def test_a_session_that_used_no_cache_has_none_to_lose(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor has one without a transcript."""
    usage = {"input_tokens": 212_000, "output_tokens": 1}
    message = {"id": "msg_1", "role": "assistant", "model": "claude-opus-5-5", "content": []}
    talk.session.row("assistant", message=message | {"usage": usage})

    assert resume(talk, monkeypatch, 3 * HOUR_S) == ""
    assert expiry.cache_of_last_request(talk.session.path + "-gone") is None


@pytest.mark.parametrize(
    ("inside", "results", "is_told"),
    # Elsewhere a model would summarise all of it: that costs what the notice warns of.
    [("balanced", 60, True), ("off", 60, False), ("balanced", 20, False)],
)
def test_only_a_compaction_without_a_model_is_offered(
    inside: str,
    results: int,
    is_told: bool,
    talk: Talk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With what it leaves of the messages since the last one; else there is nothing to say."""
    talk.use(compaction__inside=inside)
    talk.session.tool_result(talk.session.tool_call(9_000, command="old"), "x" * 900_000)
    talk.session.compact(9_000)
    filled(talk, results=results)

    told = resume(talk, monkeypatch, 3 * HOUR_S)

    assert ("makes it about 97,000, $0.48" in told) is is_told
    assert is_told or told == ""


def test_thinking_that_a_compaction_would_end_is_counted(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a model that would be sent it again."""
    block = {"type": "thinking", "thinking": "", "signature": "s"}
    message = {"id": "msg_t", "role": "assistant", "model": "claude-opus-5-5", "content": [block]}
    talk.session.row("assistant", message=message)
    filled(talk)

    assert resume(talk, monkeypatch, 3 * HOUR_S).endswith(", and lets go of 1 thought.")


@pytest.mark.parametrize(
    ("seconds", "ago"),
    [
        (0, "just now"),
        (59.9, "just now"),
        (60, "1 min ago"),
        (7_199, "119 min ago"),
        (7_200, "2 h ago"),
        (172_799, "47 h ago"),
        (172_800, "2 days ago"),
    ],
)
def test_how_long_ago_a_cache_expired_is_told_in_minutes_hours_or_days(
    seconds: float, ago: str
) -> None:
    """Two of the larger unit at the least."""
    cache = expiry.Cache(1_000.0, 300, None)
    offer = expiry.Offer(cache, models.lookup_model("nobody-knows"), 123_456, 9_000, 0)

    assert offer.text(1_300.0 + seconds).startswith(
        f"brimline: The cache of this session expired {ago}: the next request writes 123,456 "
    )


def left_after_compaction(
    session: SessionBuilder, first: int, results: int, characters: int, inside: str = "balanced"
) -> int | None:
    """What would be left of 212,000 tokens, of which the first request took so many."""
    session.prompt("go")
    session.reply(first)
    for number in range(results):
        call_id = session.tool_call(first + number, command=f"cat {number}")
        session.tool_result(call_id, "x" * characters)
    settings = {"compaction.inside": inside, "offload.never": []}
    return expiry.tokens_left_by_compaction(session.path, 212_000, settings)


@pytest.mark.parametrize("first", [0, MOST // 4, MOST - 1_000, MOST, MOST + 1_000, 2 * MOST])
def test_what_the_client_itself_says_stays_in_a_compaction(
    session: SessionBuilder, first: int
) -> None:
    """Of the first request, but not without end; to a thousand."""
    left = 92_000 + min(first, MOST) * 120 / 212
    assert left_after_compaction(session, first, 60, 9_000) == pytest.approx(left, abs=1_000)


@pytest.mark.parametrize(
    ("results", "inside", "left"),
    [
        (16, "keep", None),
        (20, "keep", 165_000),
        (36, "balanced", None),
        (37, "balanced", 152_000),
        (21, "thrifty", None),
        (22, "thrifty", 153_000),
        (60, "off", None),
    ],
)
def test_a_compaction_lets_go_of_enough_or_is_not_made(
    session: SessionBuilder, results: int, inside: str, left: int | None
) -> None:
    """All but the last fifteen or twenty-five results; a tenth or three tenths of the messages."""
    assert left_after_compaction(session, 20_000, results, 9_000, inside) == left


@pytest.mark.parametrize("results", [0, 1])
def test_where_there_is_little_a_compaction_lets_go_of_nothing(
    session: SessionBuilder, results: int
) -> None:
    """Nor where there is no transcript."""
    settings = {"compaction.inside": "keep", "offload.never": []}

    assert left_after_compaction(session, 20_000, results, 9_000, "keep") is None
    assert expiry.tokens_left_by_compaction(session.path + "-gone", 9, settings) is None


def test_a_line_of_250_characters_stands_in_for_each_result(session: SessionBuilder) -> None:
    """So much is left of it in any case."""
    left_after_compaction(session, 0, 80, 2_500)
    settings = {"compaction.inside": "balanced", "offload.never": []}
    rule = cold.RULES["balanced"]

    whole, none = expiry._rows_since_compaction(session.path), list[dict[str, Any]]()

    assert expiry._count_characters_to_free(whole, rule, []) == 55 * (2_500 - 250)
    assert expiry._count_characters_to_free(whole, rule, ["Bash"]) == 0
    cut = session.cut(*(f"toolu_{number:06d}" for number in range(1, 300)))
    assert expiry._count_characters_to_free([*whole, cut], rule, []) == 0
    assert expiry._count_characters_to_free(none, rule, []) == 0
    never = settings | {"offload.never": ["Bash"]}
    assert expiry.tokens_left_by_compaction(session.path, 212_000, never) is None


def test_what_the_user_keeps_counts_among_the_last_results(session: SessionBuilder) -> None:
    """As in the compaction itself: it stays, and nothing stays in its stead."""
    rule = cold.RULES["balanced"]
    for command in ["make"] * 20 + ["keep this"] * rule.warm_calls:
        session.tool_result(session.tool_call(9_000, command=command), "x" * 9_000)
    rows = expiry._rows_since_compaction(session.path)

    assert expiry._count_characters_to_free(rows, rule, ["keep*"]) == 20 * (9_000 - 250)
