"""A pause in a running session: when its cache expires, and what the person hears."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.dialogue import set_by_user

from brimline.fast import clock
from brimline.mod import request
from brimline.state.session import SessionState
from brimline.transcript import find

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
    talk.session.model = "claude-opus-5-5"
    talk.session.reply(tokens, output_tokens=0)
    moment = talk.session.now + minutes * MINUTE_S
    monkeypatch.setattr(clock, "now_s", lambda: moment)
    monkeypatch.setattr(find, "files_beginning_with", lambda _: [str(talk.session.path)])
    if is_off:
        SessionState(talk.home_dir, talk.session.session_id).switch_off_or_on(off=True)

    def ask() -> dict[str, Any]:
        question = {"session": talk.session.session_id, "cwd": "/"}
        return request.respond("pause", question, talk.home_dir)

    first = ask()

    assert list(first) == ([answer] if answer else [])
    assert ("text" in first) is ("about $1.06" in first.get("text", ""))
    assert "text" not in ask()


@pytest.mark.parametrize(
    ("seconds", "is_wanted", "wait_s"),
    [(60, True, 241), (299, True, 2), (300, True, 1), (301, True, None), (60, False, None)],
)
def test_it_is_asked_again_a_second_after_the_cache_expired(
    seconds: int,
    is_wanted: bool,
    wait_s: float | None,
    talk: Talk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It lives for five minutes; nobody is asked where the notice is not wanted."""
    set_by_user(talk.home_dir, "/", "cost.cold_cache", str(is_wanted).lower())
    talk.session.model = "claude-opus-5-5"
    talk.session.reply(212_000, output_tokens=0)
    moment = talk.session.now + seconds
    monkeypatch.setattr(clock, "now_s", lambda: moment)
    monkeypatch.setattr(find, "files_beginning_with", lambda _: [str(talk.session.path)])
    question = {"session": talk.session.session_id, "cwd": "/"}

    found = request.respond("pause", question, talk.home_dir)

    assert found.get("wait_s") == (wait_s and pytest.approx(wait_s, abs=0.01))
    assert ("text" in found) is (is_wanted and wait_s is None)
