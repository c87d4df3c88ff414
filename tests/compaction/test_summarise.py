"""Layer 3: a summary in the place of what came before, by one call of somebody's model."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compaction.talks import Talk

from brimline.compaction import blocks, compactor, summarise
from brimline.compaction.compactor import State

Json = dict[str, Any]


class Model:
    """Answers what it is told to, and counts."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[list[Json], str, int]] = []

    def summarize(self, messages: list[Json], instructions: str, most_tokens: int) -> str:
        """One call."""
        self.asked.append((messages, instructions, most_tokens))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def talk() -> Talk:
    """Four files were read."""
    found = Talk()
    for name in ("alpha", "beta", "gamma", "delta"):
        found.read(f"/w/{name}.py")
    return found


@pytest.mark.row("S2-12", "S2-19", "S2-20", "S2-33")
def test_one_call_sums_up_and_remembers() -> None:
    """A boundary, the last round whole, lessons out of the same answer."""
    model = Model("The parser is tidy.\nRemember:\n- Run make check first.\n")

    done = summarise.summarise_all_but_last_round(talk().body(), State(), model)

    assert len(model.asked) == 1
    assert model.asked[0][2] == 20_000
    first, *rest = done.body["messages"]
    assert first["role"] == "user"
    assert "boundary" in first["content"][0]["text"]
    assert "The parser is tidy." in first["content"][0]["text"]
    assert [message["role"] for message in rest] == ["assistant", "user"]
    assert done.memories == ("Run make check first.",)
    assert done.layer.outcome == "applied"
    assert done.layer.saved_tokens > 1_000
    assert compactor.compact(done.body, State(), compactor.Settings()).report.kind == "conversation"


def test_the_users_last_words_follow_the_summary() -> None:
    """In one message: two of one role in a row are none that a client sends."""
    asked = talk()
    asked.messages.append({"role": "assistant", "content": [{"type": "text", "text": "Done."}]})
    asked.messages.append({"role": "user", "content": [{"type": "text", "text": "And now?"}]})

    done = summarise.summarise_all_but_last_round(asked.body(), State(), Model("All read."))

    assert [message["role"] for message in done.body["messages"]] == ["user"]
    assert done.body["messages"][0]["content"][-1]["text"] == "And now?"


@pytest.mark.parametrize("answer", ["", RuntimeError("overloaded")])
def test_a_failure_leaves_the_request_and_opens_the_breaker_in_the_end(answer: Any) -> None:
    """Once per request, three times in a row, then no more."""
    model, state, body = Model(answer), State(), talk().body()

    done = [summarise.summarise_all_but_last_round(body, state, model) for _ in range(5)]

    assert all(one.body is body for one in done)
    assert [one.layer.outcome for one in done] == ["failed"] * 3 + ["breaker open"] * 2
    assert len(model.asked) == 3


@pytest.mark.parametrize(
    ("roles", "begins_at"),
    [
        ([("user", "text")], 0),
        ([("assistant", "text"), ("assistant", "text")], 0),
        ([("user", "text"), ("assistant", "tool_use"), ("user", "tool_result")], 1),
        ([("user", "text"), ("assistant", "text"), ("user", "text")], 2),
    ],
)
def test_the_last_round_begins_with_a_call_or_the_users_words(
    roles: list[tuple[str, str]], begins_at: int
) -> None:
    """Where there is neither, with the conversation itself."""
    messages = [{"role": role, "content": [{"type": kind}]} for role, kind in roles]

    assert blocks.first_message_of_last_round({"messages": messages}) == begins_at


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": [5]}])
def test_where_there_is_no_conversation_there_is_nothing_to_sum_up(body: Any) -> None:
    """Nobody is asked."""
    model = Model("A summary")

    result = summarise.summarise_all_but_last_round(body, State(), model)

    assert result.body is body
    assert result.layer == (3, "nothing", 0, 0.0)
    assert result.summary == ""
    assert model.asked == []
