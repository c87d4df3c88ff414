"""A compaction without a model: what goes, what stays, and that all of it can be had back."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.mod import compact
from brimline.settings.values import defaults
from brimline.store import contents

from .conversation import Conversation

BULK = "a line of output\n" * 400


@pytest.fixture
def talk() -> Conversation:
    """A conversation with one old large result, and enough calls behind it."""
    found = Conversation()
    found.say("user", "Make the tests pass, and never touch the billing tables.")
    found.run("make test", BULK)
    found.fill(20)
    return found


@pytest.fixture
def ask(home_dir: str) -> Any:
    """Ask for a compaction under a setting."""

    def asked(talk: Conversation, inside: str = "balanced", **fields: Any) -> dict[str, Any]:
        values = defaults() | {"compaction.inside": inside}
        return compact.answer(talk.request(**fields), home_dir, values)

    return asked


def test_old_bulk_becomes_a_line_and_comes_back_to_the_byte(
    talk: Conversation, ask: Any, home_dir: str
) -> None:
    """The line says what it was, how large, and its key."""
    answer = ask(talk)
    key = answer["keys"]["toolu_1"]
    assert answer["results"] == {
        "toolu_1": f"[brimline: Bash make test: 6,800 bytes, recall {key[:19]}]"
    }
    assert contents.get(home_dir, key) == BULK.encode()


def test_where_too_little_would_go_the_client_summarises(ask: Any) -> None:
    """Nothing is stored or replaced for a conversation without bulk."""
    talk = Conversation()
    talk.say("user", BULK)
    talk.run("make test", "a line of output\n" * 100)
    talk.fill(20)
    assert ask(talk) == {"pass": "too little to let go"}
    assert "results" in ask(talk, "keep")
    assert ask(Conversation()) == {"pass": "too little to let go"}


@pytest.mark.parametrize("fields", [{"instructions": "keep the plan"}, {"trigger": "precompute"}])
def test_words_with_compact_and_unknown_triggers_are_passed_on(
    talk: Conversation, ask: Any, fields: dict[str, Any]
) -> None:
    """A summary is what the user asked for, or nobody knows what is meant."""
    assert ask(talk, **fields) == {"pass": "a summary was asked for"}


def test_switched_off_it_passes(talk: Conversation, ask: Any) -> None:
    """The setting says so."""
    assert ask(talk, "off") == {"pass": "compaction.inside is off"}
