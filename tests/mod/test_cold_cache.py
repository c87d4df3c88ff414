"""A pause in a running session: when its cache expires, and what the person hears."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.figures.test_expiry import HOUR_S, filled

from brimline.fast import clock, paths
from brimline.mod import request
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk

MINUTE_S = 60


@pytest.mark.parametrize(
    ("minutes", "tokens", "is_off", "answer"),
    [
        (1, 212_000, False, "wait_s"),
        (6, 212_000, False, "text"),
        (6, 99_000, False, None),
        (6, 212_000, True, None),
        (1, 212_000, True, None),
    ],
)
def test_a_pause_is_answered_with_the_notice_or_with_when_to_ask_again(
    minutes: int,
    tokens: int,
    is_off: bool,
    answer: str | None,
    talk: Talk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With nothing for a small context and where the person wants silence; and told once."""
    filled(talk, tokens)
    moment = talk.session.now + minutes * MINUTE_S
    monkeypatch.setattr(clock, "now_s", lambda: moment)
    monkeypatch.setattr(paths, "transcript_of_session", lambda _: str(talk.session.path))
    if is_off:
        SessionState(talk.home_dir, talk.session.session_id).switch_off_or_on(off=True)

    def ask() -> dict[str, Any]:
        question = {"session": talk.session.session_id, "cwd": talk.session.cwd}
        return request.respond("pause", question, talk.home_dir)

    first = ask()

    assert list(first) == ([answer] if answer else [])
    assert ("text" in first) is ("about $1.06" in first.get("text", ""))
    assert "text" not in ask()


@pytest.mark.parametrize(
    ("seconds", "wanted", "wait_s"),
    [(60, "say", 241), (299, "do", 2), (300, "say", 1), (301, "do", None), (60, "off", None)],
)
def test_it_is_asked_again_a_second_after_the_cache_expired(
    seconds: int,
    wanted: str,
    wait_s: float | None,
    talk: Talk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It lives for five minutes; nobody is asked where the notice is not wanted."""
    talk.use(compaction__when_cold=wanted)
    filled(talk)
    moment = talk.session.now + seconds
    monkeypatch.setattr(clock, "now_s", lambda: moment)
    monkeypatch.setattr(paths, "transcript_of_session", lambda _: str(talk.session.path))
    question = {"session": talk.session.session_id, "cwd": talk.session.cwd}

    found = request.respond("pause", question, talk.home_dir)

    assert found.get("wait_s") == (wait_s and pytest.approx(wait_s, abs=0.01))
    assert ("text" in found) is (wanted != "off" and wait_s is None)


@pytest.mark.parametrize(
    ("wanted", "hours", "results", "told"),
    [
        ("do", 3, 60, "text saving"),
        ("do", 0, 60, "wait_s"),
        ("do", 3, 20, None),
        ("say", 3, 60, "text"),
    ],
)
def test_what_a_compaction_saves_is_told_where_one_is_to_be_made(
    wanted: str,
    hours: int,
    results: int,
    told: str | None,
    talk: Talk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only if the person set it so, the cache is cold, and there is enough to let go of."""
    talk.use(compaction__when_cold=wanted)
    filled(talk, results=results)
    moment = talk.session.now + hours * HOUR_S
    monkeypatch.setattr(clock, "now_s", lambda: moment)
    monkeypatch.setattr(paths, "transcript_of_session", lambda _: str(talk.session.path))
    question = {"session": talk.session.session_id, "cwd": talk.session.cwd}

    answer = request.respond("pause", question, talk.home_dir)

    saving = "The cache had expired: the next request costs about $0.48 in place of $1.06."
    assert list(answer) == (told.split() if told else [])
    assert answer.get("saving", saving) == saving
