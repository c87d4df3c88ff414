"""A model that binds its thinking to what came before it: its past is edited at once or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.compaction.talks import TOOLS, Talk, flat

from brimline.compaction import blocks, compactor, stand_ins
from brimline.compaction.compactor import Outcome, Settings, State
from brimline.compaction.layers import RETRY

LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))
BOUND = Settings(is_bound=True, brim_tokens=10_000)


def think(talk: Talk, thought: str = "hm") -> None:
    """The last reply began with a thought."""
    block = {"type": "thinking", "thinking": thought, "signature": "s"}
    talk.messages[-2]["content"].insert(0, block)


def thoughts_in(body: Any) -> list[str]:
    """The thinking that is left in a request."""
    return [block["thinking"] for _, block in flat(body) if block["type"] == "thinking"]


def results_in(body: Any) -> list[str]:
    """How each result of a request begins."""
    found = [block for _, block in flat(body) if block["type"] == "tool_result"]
    return [str(block["content"]).partition(" ")[0] for block in found]


def thoughtful(steps: int = 3, size: int = 6_000) -> Talk:
    """So many files are read, each after a thought that is numbered."""
    talk = Talk()
    for number in range(steps):
        talk.read(f"/w/file{number}.py", size)
        think(talk, f"thought {number}")
    return talk


def near_the_brim(talk: Talk, used: int = 9_500, **fields: Any) -> tuple[Outcome, State]:
    """The next request of a conversation that takes so many tokens already."""
    state = State()
    usual: dict[str, Any] = {"is_bound": True, "brim_tokens": 10_000, "bound_worth_ratio": 0.0}
    hard = Settings(**(usual | fields))
    compactor.compact(talk.body(), state, hard, now=0.0)
    compactor.note_lifetime_and_occupancy(state, {}, {"input_tokens": used})
    return compactor.compact(talk.body(), state, hard, now=1.0), state


def test_far_from_the_brim_its_past_stays_even_if_the_cache_has_expired() -> None:
    """An edit would cost all thinking behind it; another model's past goes for nothing."""
    talk = thoughtful()
    talk.idle(25)
    think(talk, "last")
    changed = []
    for settings in (BOUND, Settings(brim_tokens=10_000)):
        state = State()
        compactor.compact(talk.body(), state, settings, now=0.0)
        changed.append(compactor.compact(talk.body(), state, settings, now=1e6).report.reason)

    assert changed == ["", "expired"]


def test_only_what_arrives_behind_all_thinking_is_edited() -> None:
    """The same log before the last thought stays whole."""
    talk = Talk()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    talk.step("Bash", {"command": "journalctl -u mail"}, LOG)
    think(talk)

    shown = {
        is_bound: results_in(
            compactor.compact(talk.body(), State(sent=[]), Settings(is_bound=is_bound)).body
        )
        for is_bound in (True, False)
    }

    assert shown[True] == ["2026-01-08", "[brimline"]
    assert shown[False] == ["[brimline", "[brimline"]


@pytest.mark.parametrize(
    ("size", "is_bound", "is_previewed"),
    [(19_999, True, False), (20_000, True, True), (24_999, False, False), (25_000, False, True)],
)
def test_content_is_held_to_four_fifths_of_the_usual_size(
    size: int, *, is_bound: bool, is_previewed: bool
) -> None:
    """When it arrives, because that is the only time."""
    talk = Talk()
    talk.read("/w/parser.py", size)

    outcome = compactor.compact(talk.body(), State(), Settings(is_bound=is_bound), now=0.0)

    assert outcome.is_changed is is_previewed


@pytest.mark.parametrize(("used", "reason"), [(8_999, ""), (9_000, "brim")])
def test_its_brim_is_near_from_nine_tenths_on(used: int, reason: str) -> None:
    """Then the one pass over its past is made."""
    talk = thoughtful()
    talk.idle(4)
    outcome, _ = near_the_brim(talk, used)

    assert outcome.report.reason == reason
    assert outcome.is_changed is bool(reason)


def test_near_the_brim_what_was_not_referred_to_for_three_requests_goes() -> None:
    """And what is younger stays."""
    talk = thoughtful(6)

    outcome, _ = near_the_brim(talk)

    assert results_in(outcome.body) == ["[brimline:"] * 3 + ["1\tdef"] * 3


def test_thinking_goes_from_the_first_edit_on_and_stays_before_it() -> None:
    """It is left out for good, and counts no more."""
    talk = Talk()
    talk.idle(1)
    think(talk, "before")
    talk.read("/w/alpha.py")
    think(talk, "of the edited call")
    talk.messages[-2]["content"].append({"type": "thinking", "thinking": "behind"})
    talk.idle(4)
    think(talk, "last")

    outcome, state = near_the_brim(talk)
    again = compactor.compact(talk.body(), state, BOUND, now=2.0)

    assert thoughts_in(outcome.body)[:1] == ["before"]
    assert "last" not in thoughts_in(outcome.body)
    assert outcome.body["messages"][0] == talk.messages[0]
    gone = [name for name, stands in outcome.fresh.items() if stands is stand_ins.LEFT_OUT]
    found = blocks.read_blocks(talk.body()) or []
    thinking = [block.id for block in found if block.is_thinking]
    assert gone == thinking[-len(gone) :]
    assert len(gone) == len(thinking) - len(thoughts_in(outcome.body))
    assert flat(again.body) == flat(outcome.body)
    assert again.fresh == {}
    left = sum((state.standing[block.id] or block).tokens for block in found)
    assert outcome.report.sent_tokens == pytest.approx(left)


def test_the_pass_has_to_free_its_share_of_what_is_sent() -> None:
    """With the thinking that it costs; a little less is not enough."""
    talk = thoughtful()
    talk.idle(4)
    think(talk, "long " * 400)
    done, _ = near_the_brim(talk)
    freed = done.report.original_tokens - done.report.sent_tokens
    share = freed / done.report.original_tokens

    reasons = [
        near_the_brim(talk, bound_worth_ratio=share * factor)[0].report.reason
        for factor in (0.999, 1.001)
    ]

    assert reasons == ["brim", ""]


def test_where_nothing_is_edited_no_thinking_goes() -> None:
    """Near the brim too."""
    talk = Talk()
    talk.idle(6)
    think(talk)

    outcome, _ = near_the_brim(talk)

    assert not outcome.is_changed
    assert outcome.fresh == {}


def test_without_thinking_there_is_no_other_request_to_make() -> None:
    """Though it was changed by us."""
    talk = Talk()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    state = State()
    outcome = compactor.compact(talk.body(), state, Settings(), now=0.0)
    found = blocks.read_blocks(talk.body()) or []

    made = compactor.outcome_without_thinking(talk.body(), found, state, outcome, all_of_it=True)

    assert outcome.is_changed
    assert made is None


def test_the_request_without_thinking_keeps_its_edits_and_its_marker() -> None:
    """And what was left out stands as left out from then on."""
    talk = thoughtful()
    talk.idle(12)
    state = State()
    compactor.compact(talk.body(), state, Settings(), now=0.0)
    compactor.note_lifetime_and_occupancy(state, {}, {"input_tokens": 9_500})
    outcome = compactor.compact(talk.body(), state, Settings(brim_tokens=10_000), now=1.0)
    found = blocks.read_blocks(talk.body()) or []

    made = compactor.outcome_without_thinking(talk.body(), found, state, outcome, all_of_it=True)

    assert outcome.marked is not None
    assert made
    assert made.marked == outcome.marked
    assert thoughts_in(outcome.body) == ["thought 0", "thought 1", "thought 2"]
    assert thoughts_in(made.body) == []
    assert results_in(made.body) == results_in(outcome.body)
    assert outcome.fresh.items() <= made.fresh.items()
    assert thoughts_in(compactor.compact(talk.body(), state, Settings()).body) == []


@pytest.mark.parametrize(
    ("allowed", "gone"), [(99_000, 2), (60_000, 7), (2_000, 10)], ids=["little", "more", "most"]
)
def test_after_a_refusal_the_oldest_go_first(allowed: int, gone: int) -> None:
    """What was not referred to for ten requests; if that is not enough for five, then for two."""
    talk = Talk()
    for number in range(12):
        talk.read(f"/w/file{number}.py", 4_000)
    told = f"prompt is too long: 100000 tokens > {allowed} maximum"

    outcome = compactor.compact_harder(talk.body(), State(), Settings(), told)

    assert outcome
    assert results_in(outcome.body) == ["[brimline:"] * gone + ["1\tdef"] * (12 - gone)


def test_a_refusal_is_answered_by_every_layer_where_its_own_is_on() -> None:
    """Whichever of the others are."""
    talk = Talk()
    for number in range(12):
        talk.read(f"/w/file{number}.py", 4_000)

    alone = Settings(layers=(RETRY,))

    assert compactor.compact_harder(talk.body(), State(), alone, "prompt is too long")
    assert not compactor.compact(talk.body(), State(at=0.0), alone, now=1e6).is_changed


def test_what_is_no_conversation_is_not_made_again() -> None:
    """Nothing is taken out of what is not understood."""
    body = {"tools": [{"name": "Read"}], "messages": [5]}
    state = State()

    assert compactor.compact_harder(body, state, Settings(), "prompt is too long") is None
    compactor.note_second_refusal(state, body)
    assert state.refused_tokens == 0


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (None, "helper"),
        ({"messages": []}, "helper"),
        ({"tools": [{"name": "Read"}], "messages": None}, "unknown"),
        ({"tools": TOOLS, "messages": [{"role": "user", "content": "Hi"}]}, "conversation"),
    ],
)
def test_a_report_says_what_a_request_was_taken_for(body: Any, kind: str) -> None:
    """A conversation is what is understood and has tools."""
    assert compactor.compact(body, State(), Settings()).report.kind == kind


def test_a_cache_that_expired_without_anything_to_do_is_no_reason() -> None:
    """What is reported are edits."""
    talk, state = Talk(), State()
    talk.idle(2)
    compactor.compact(talk.body(), state, Settings(), now=0.0)

    outcome = compactor.compact(talk.body(), state, Settings(), now=1e6)

    assert (outcome.report.reason, outcome.marked, outcome.is_changed) == ("", None, False)


def test_the_very_first_block_goes_cold_as_any_other() -> None:
    """A file that the client put before the user's first words."""
    lines = "\n".join(f"def core_part{n}(): return coreTable[{n}]" for n in range(200))
    file = f"<system-reminder>Note: /w/core.py was modified\n{lines}</system-reminder>"
    talk, state = Talk(), State()
    talk.messages[0]["content"].insert(0, {"type": "text", "text": file})
    talk.idle(25)
    compactor.compact(talk.body(), state, Settings(), now=0.0)

    outcome = compactor.compact(talk.body(), state, Settings(), now=1e6)

    first, words = outcome.body["messages"][0]["content"]
    assert first["text"].startswith("<system-reminder>Note: /w/core.py was modified")
    assert len(first["text"]) < len(file) / 4
    assert words == talk.messages[0]["content"][1]
    assert (outcome.report.reason, outcome.report.rewritten_tokens) == ("expired", 0)


def test_what_stands_in_already_needs_no_marker_of_its_own() -> None:
    """Only a break of what was sent does."""
    talk, state = Talk(), State()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    marked = []
    for number in range(2):
        outcome = compactor.compact(talk.body(), state, Settings(), now=float(number))
        marked.append((outcome.is_changed, outcome.marked, outcome.report.reason))
        assert json.dumps(outcome.body).count('"cache_control"') == 2
        talk.idle(1)

    assert marked == [(True, None, "")] * 2


def test_waiting_adds_up_request_by_request_until_the_edit_is_made() -> None:
    """A tenth of what it would save each time; then nothing is left of it."""
    talk, state = Talk(), State()
    talk.read("/w/alpha.py")
    talk.idle(40)
    noted = []
    for _ in range(3):
        compactor.compact(talk.body(), state, Settings(waiting_weight=0.0), now=0.0)
        noted.append(dict(state.waited))
    compactor.compact(talk.body(), state, Settings(), now=1e6)

    assert noted[0]
    for name, waited in noted[0].items():
        assert noted[1][name] == pytest.approx(2 * waited)
        assert noted[2][name] == pytest.approx(3 * waited)
    assert state.waited == {}


def test_what_stands_in_is_looked_up_once_and_not_for_words_without_an_answer() -> None:
    """Calls and results at once, all else when the model has answered."""
    talk, state = Talk(), State()
    talk.read("/w/alpha.py")
    talk.messages[-1]["content"].append({"type": "text", "text": "Go on."})
    asked: list[list[str]] = []

    def look_up(names: list[str]) -> dict[str, stand_ins.StandIn]:
        asked.append(names)
        return {}

    for _ in range(2):
        compactor.compact(talk.body(), state, Settings(), now=0.0, lookup=look_up)
    found = blocks.read_blocks(talk.body()) or []
    talk.idle(1)
    compactor.compact(talk.body(), state, Settings(), now=0.0, lookup=look_up)
    later = blocks.read_blocks(talk.body()) or []

    assert asked == [
        [block.id for block in found if block.text != "Go on."],
        [block.id for block in later[len(found) :]],
    ]


@pytest.mark.parametrize(("since", "is_cold"), [(18, False), (19, True)])
def test_a_reply_that_ends_a_request_counts_as_one(since: int, *, is_cold: bool) -> None:
    """The model is to go on with it: what came before is as old as if it had answered."""
    talk = Talk()
    talk.read("/w/alpha.py")
    talk.idle(since)
    talk.messages.append({"role": "assistant", "content": [{"type": "text", "text": "So"}]})

    outcome = compactor.compact(talk.body(), State(at=0.0, sent=[]), Settings(), now=1e6)

    assert results_in(outcome.body)[0] == ("[brimline:" if is_cold else "1\tdef")


def test_of_the_same_call_every_second_result_is_shown_whole() -> None:
    """It came again to see all of it; another call in between makes no difference."""
    talk, state = Talk(), State()
    for number in range(4):
        talk.step("Bash", {"command": "journalctl -u web"}, f"{LOG}\n{number}")
        compactor.compact(talk.body(), state, Settings(), now=float(number))
        talk.step("Bash", {"command": f"journalctl -u mail{number}"}, LOG)
        body = compactor.compact(talk.body(), state, Settings(), now=float(number)).body

    assert [start == "[brimline" for start in results_in(body)[::2]] == [True, False, True, False]
    assert results_in(body)[1::2] == ["[brimline"] * 4


def test_what_a_block_was_before_is_told_with_what_it_is_now() -> None:
    """And under which key its text is to be kept."""
    talk, state = Talk(), State()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    first = compactor.compact(talk.body(), state, Settings(), now=0.0)
    talk.idle(25)
    later = compactor.compact(talk.body(), state, Settings(), now=1e6)

    ((name, preview),) = first.fresh.items()
    assert first.former == {name: None}
    assert later.former[name] == preview
    assert later.fresh[name].layer == 2
    assert list(first.originals) == [preview.key]
    assert first.originals[preview.key].id == name
    compactor.undo_fresh_stand_ins(state, later)
    assert state.standing[name] == preview


def test_the_figures_of_a_report_are_those_of_the_blocks() -> None:
    """Before, after, and what each layer saved."""
    talk, state = Talk(), State()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    found = blocks.read_blocks(talk.body()) or []

    outcome = compactor.compact(talk.body(), state, Settings(), now=0.0)

    (made,) = outcome.fresh.values()
    whole = sum(block.tokens for block in found)
    assert outcome.report.original_tokens == pytest.approx(whole)
    assert outcome.report.sent_tokens == pytest.approx(whole - found[-1].tokens + made.tokens)
    assert outcome.report.layers[0][:3] == (1, "applied", 1)
    assert outcome.report.layers[0].saved_tokens == pytest.approx(found[-1].tokens - made.tokens)
    assert [layer[1:] for layer in outcome.report.layers[1:]] == [("nothing", 0, 0.0)] * 2
    assert state.estimated_tokens == outcome.report.sent_tokens
    assert state.sent == [block.id for block in found]
    assert state.at == 0.0
