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

    assert blocks.index_of_last_call_or_prompt_message({"messages": messages}) == begins_at


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": [5]}])
def test_where_there_is_no_conversation_there_is_nothing_to_sum_up(body: Any) -> None:
    """Nobody is asked."""
    model = Model("A summary")

    result = summarise.summarise_all_but_last_round(body, State(), model)

    assert result.body is body
    assert result.layer == (3, "nothing", 0, 0.0)
    assert result.summary == ""
    assert model.asked == []


def test_what_a_summary_saves_is_the_difference_and_a_success_closes_the_breaker() -> None:
    """In tokens, as both requests are estimated; failures count only in a row."""
    body, state = talk().body(), State(summary_failures=2)

    done = summarise.summarise_all_but_last_round(body, state, Model("All read."), 500)

    before, after = (
        sum(block.tokens for block in blocks.read_blocks(one) or ()) for one in (body, done.body)
    )
    assert done.layer[:3] == (3, "applied", 7)
    assert done.layer.saved_tokens == pytest.approx(before - after)
    assert state.summary_failures == 0
    assert done.summary == "All read."
    assert done.memories == ()


@pytest.mark.parametrize(
    ("answer", "summary", "memories"),
    [
        ("  Read.  \nRemember:\n- a\n-b\n\n  c  \n", "Read.", ("a", "b", "c")),
        ("Read.\nRemember: one thing", "Read.", ("one thing",)),
        ("Read. Remember: all", "Read. Remember: all", ()),
        ("Read.\nRemember:\nRemember: b", "Read.", ("Remember: b",)),
    ],
)
def test_lessons_are_the_lines_behind_their_heading(
    answer: str, summary: str, memories: tuple[str, ...]
) -> None:
    """With or without a dash; without the heading there are none."""
    done = summarise.summarise_all_but_last_round(talk().body(), State(), Model(answer))

    assert (done.summary, done.memories) == (summary, memories)
    assert done.body["messages"][0]["content"][0]["text"].endswith(f"\n{summary}")


def test_an_answer_of_lessons_alone_is_no_summary() -> None:
    """The request stays as it is, and the failure counts."""
    body, state = talk().body(), State()

    done = summarise.summarise_all_but_last_round(body, state, Model("\nRemember:\n- a"))

    assert (done.body is body, done.layer, done.memories) == (True, (3, "failed", 0, 0.0), ())
    assert state.summary_failures == 1
