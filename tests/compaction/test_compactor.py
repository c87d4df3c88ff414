"""The layers over a conversation: what is replaced, when, by what, and what never is."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compaction.talks import TOOLS, Talk, flat

from brimline.bulk import cold
from brimline.compaction import blocks, compactor, stand_ins
from brimline.compaction.compactor import Outcome, Settings, State

SUMMARY = "Your task is to create a detailed summary of the conversation so far, please."
LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))


def played(talk: Talk, state: State) -> Outcome:
    """The next request of a conversation, far from the brim."""
    return compactor.compact(talk.body(), state, Settings())


def pressed(body: Any, state: State | None = None) -> Outcome:
    """A request at the brim, where whatever is freed is worth it."""
    state = state or State(sent=[])
    state.prompt_tokens = 1_000_000
    return compactor.compact(body, state, Settings(worth_ratio=0.0))


@pytest.mark.row("S2-10", "S2-27", "S2-28", "S2-34")
def test_bulk_is_a_preview_from_its_first_request_on() -> None:
    """Layer 1, at arrival: nothing that was sent before changes."""
    talk, state = Talk(), State()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)

    outcome = played(talk, state)

    content = outcome.body["messages"][2]["content"][0]["content"]
    assert content.startswith("[brimline stored ")
    assert len(content) < len(LOG) / 2
    assert [one.layer for one in outcome.fresh.values()] == [1]
    assert outcome.report.rewritten_tokens == 0
    assert [block.text for block in outcome.originals.values()] == [LOG]


def test_the_same_call_again_passes() -> None:
    """A way out that needs no permission."""
    talk, state = Talk(), State()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    played(talk, state)
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)

    outcome = played(talk, state)

    assert outcome.body["messages"][4]["content"][0]["content"] == LOG
    assert outcome.body["messages"][2]["content"][0]["content"] != LOG


def test_what_merely_begins_like_a_reference_is_bulk_as_any_other() -> None:
    """A program may print what it likes."""
    talk = Talk()
    talk.step("Bash", {"command": "journalctl -u web"}, f"[brimline] started\n{LOG}")

    assert played(talk, State()).is_changed


def source(size: int = 6_000) -> str:
    """A file with names of its own."""
    return "\n".join(f"{n}\tdef core_part{n}(): return coreTable[{n}]" for n in range(999))[:size]


def test_words_of_the_user_behind_a_reminder_stay() -> None:
    """In the same block they are as much theirs as in one of their own."""
    words = "Never touch the database!"
    file = f"<system-reminder>\nNote: /w/core.py was modified\n{source()}\n</system-reminder>"
    talk = Talk()
    for text in (f"{file}\n{words}", f"{file}{words}{file}"):
        talk.messages[0]["content"].append({"type": "text", "text": text})
    talk.idle(30)

    outcome = pressed(talk.body())

    assert outcome.body["messages"][0] == talk.messages[0]


def cooled(state: State, steps: int = 5) -> tuple[Talk, list[Outcome]]:
    """Three files are read and never mentioned again; every request is played."""
    talk, outcomes = Talk(), []
    for name in ("alpha", "beta", "gamma"):
        talk.read(f"/w/{name}.py")
        outcomes.append(played(talk, state))
    for _ in range(steps):
        talk.idle(1)
        outcomes.append(played(talk, state))
    return talk, outcomes


@pytest.mark.row("S2-11", "S2-14", "S2-29", "S2-33")
def test_what_nothing_refers_to_becomes_a_line_near_the_brim() -> None:
    """Layers 2 and 5, all that is cold at once; before that nothing that was sent changes."""
    state = State()
    talk, outcomes = cooled(state)
    assert not any(outcome.is_changed for outcome in outcomes)
    talk.idle(1)

    outcome = pressed(talk.body(), state)

    line = outcome.body["messages"][2]["content"][0]["content"]
    assert line.startswith("[brimline: Read /w/alpha.py: ")
    assert outcome.report.reason == "brim"
    assert "Looked into module number alpha." in outcome.body["messages"][1]["content"][0]["text"]
    assert {one.layer for one in outcome.fresh.values()} == {2, 5}


@pytest.mark.row("S2-27", "S2-29")
def test_the_cheapest_layer_takes_a_block_and_what_is_recent_stays() -> None:
    """New bulk is a preview and old reads are lines; each stand-in says of which layer it is."""
    state = State()
    talk, _ = cooled(state)
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    talk.read("/w/delta.py")

    outcome = pressed(talk.body(), state)

    texts = [block["content"] for _, block in flat(outcome.body) if block["type"] == "tool_result"]
    assert [text.partition(" ")[0] for text in texts[:2]] == ["[brimline:"] * 2
    assert texts[-2].startswith("[brimline stored ")
    assert "delta_part9" in texts[-1]
    assert {one.layer for one in outcome.fresh.values()} == {1, 2, 5}


@pytest.mark.parametrize(("since", "is_gone"), [(2, False), (3, True)])
def test_what_came_in_the_last_requests_stays_however_many_calls_brought_it(
    since: int, *, is_gone: bool
) -> None:
    """The model has hardly looked at it."""
    talk = Talk()
    for number in range(6):
        talk.read(f"/w/file{number}.py")
    first, *rest = talk.messages
    parts = [[part for message in rest[at::2] for part in message["content"]] for at in (0, 1)]
    called = {"role": "assistant", "content": parts[0]}
    talk.messages = [first, called, {"role": "user", "content": parts[1]}]
    talk.idle(since)

    assert pressed(talk.body()).is_changed is is_gone


@pytest.mark.row("S2-15")
def test_nearly_every_request_leaves_what_was_sent_before_as_it_was() -> None:
    """Files are read, changed and left behind: 19 of 20 requests take the fast way."""
    state, talk, near = State(), Talk(), Settings(brim_tokens=60_000)
    before: list[Any] = []
    changed = 0
    for number in range(150):
        if number % 6 == 0:
            talk.read(f"/w/module{number}.py", 9_000)
        elif number % 6 == 1:
            change = {"old_string": "value", "new_string": "item"}
            talk.step("Edit", {"file_path": f"/w/module{number - 1}.py", **change}, "ok")
        elif number % 10 == 3:
            talk.step("Bash", {"command": f"journalctl -u web{number}"}, LOG)
        else:
            talk.idle(1)
        outcome = compactor.compact(talk.body(), state, near)
        compactor.note_occupancy(state, {"input_tokens": round(outcome.report.sent_tokens)})
        sent = flat(outcome.body)
        changed += sent[: len(before)] != before
        before = sent

    assert 1 <= changed <= 150 * 0.05


def test_near_the_brim_an_edit_does_not_wait() -> None:
    """A compaction would cost more than any break."""
    state = State()
    talk, _ = cooled(state, 12)
    compactor.note_occupancy(state, {"input_tokens": 9_000})
    talk.idle(1)

    body = talk.body()
    outcome = compactor.compact(body, state, Settings(brim_tokens=10_000))

    assert outcome.report.reason == "brim"
    assert outcome.report.rewritten_tokens > 0


def test_a_break_is_marked_for_the_cache_with_at_most_four_markers() -> None:
    """Without a marker near the change the service would find none of the conversation."""
    state = State()
    talk, _ = cooled(state)

    text = json.dumps(pressed(talk.body(), state).body)
    assert text.count('"cache_control"') == 3


FIVE, HOUR = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    ("top", "tools", "system", "nested", "last", "expected"),
    [
        (FIVE, FIVE, FIVE, None, FIVE, None),
        (None, FIVE, FIVE, FIVE, FIVE, None),
        (None, HOUR, FIVE, None, FIVE, FIVE),
        (None, HOUR, HOUR, None, FIVE, FIVE),
        (None, HOUR, HOUR, None, HOUR, HOUR),
        (FIVE, HOUR, HOUR, None, None, FIVE),
        (None, None, HOUR, None, None, HOUR),
        (None, None, None, None, None, None),
    ],
)
def test_a_marker_of_ours_is_valid_where_it_stands(
    top: Any, tools: Any, system: Any, nested: Any, last: Any, expected: Any
) -> None:
    """At most four wherever they are, longer lifetimes first; none where nothing is cached."""
    talk = Talk()
    talk.idle(4)
    talk.step("Bash", {"command": "ls"}, [{"type": "text", "text": "ok"}])
    body = json.loads(json.dumps(talk.body()))
    result = body["messages"][-1]["content"][-1]
    places = (body, body["tools"][0], body["system"][0], result["content"][0], result)
    for part, marker in zip(places, (top, tools, system, nested, last), strict=True):
        part.pop("cache_control", None)
        if marker:
            part["cache_control"] = marker
    found = blocks.read_blocks(body)
    assert found is not None

    marked = blocks.body_with_cache_until(body, found, 4)

    assert marked["messages"][2]["content"][0].get("cache_control") is None
    assert marked["messages"][3]["content"][0].get("cache_control") == expected
    assert marked["messages"][5:] == body["messages"][5:]


@pytest.mark.row("S2-18", "S2-38")
def test_a_compaction_request_gets_what_stands_in_already_and_nothing_new() -> None:
    """Left alone it would carry all originals; changed anew it would share no prefix."""
    state = State()
    talk, _ = cooled(state)
    before = flat(pressed(talk.body(), state).body)
    talk.read("/w/delta.py")
    talk.step("Bash", {"command": "journalctl"}, LOG)
    body = talk.body()
    body["messages"].append({"role": "user", "content": [{"type": "text", "text": SUMMARY}]})

    outcome = pressed(body, state)

    assert outcome.report.kind == "compaction"
    assert flat(outcome.body)[: len(before)] == before
    assert outcome.fresh == {}
    assert LOG in [block.get("content") for _, block in flat(outcome.body)]


@pytest.mark.parametrize("fields", [{"tools": []}, {"tool_choice": {"type": "tool", "name": "x"}}])
def test_helpers_are_left_alone(fields: dict[str, Any]) -> None:
    """Titles, pages, searches: they are no conversation."""
    talk = Talk()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    body = talk.body(**fields)

    assert compactor.compact(body, State(), Settings()).body is body


@pytest.mark.row("S2-13", "S2-16", "S2-17")
def test_a_refused_request_is_shortened_once_and_then_the_breaker_is_open() -> None:
    """Layer 4: one retry, and none again before the conversation has shrunk."""
    state, talk = State(), Talk()
    for n in range(12):
        talk.read(f"/w/file{n}.py", 9_000)
    body = talk.body()
    compactor.compact(body, state, Settings())
    told = "prompt is too long: 40000 tokens > 20000 maximum"

    harder = compactor.compact_harder(body, state, Settings(), told)

    assert harder is not None
    assert harder.report.reason == "refused"
    assert harder.report.sent_tokens < harder.report.original_tokens / 2
    compactor.note_second_refusal(state, body)
    assert compactor.compact_harder(body, state, Settings(), told) is None
    small = Talk()
    small.read("/w/one.py")
    compactor.compact(small.body(), state, Settings())
    assert state.refused_tokens is None


def test_other_errors_are_no_business_of_layer_4() -> None:
    """Only the service's own words count."""
    talk = Talk()
    talk.read("/w/alpha.py", 20_000)

    assert compactor.compact_harder(talk.body(), State(), Settings(), "overloaded") is None


words = st.text(max_size=40)
long_text = st.integers(0, 400).map(lambda n: "Some name_of_thing in path/to/file.py. " * n)
text_block = st.builds(lambda t: {"type": "text", "text": t}, words | long_text)
strange = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
call = st.builds(
    lambda n, i: {"type": "tool_use", "id": f"t{n}", "name": "Edit", "input": i},
    st.integers(0, 5),
    st.dictionaries(words, long_text | strange, max_size=3),
)
result = st.builds(
    lambda n, c: {"type": "tool_result", "tool_use_id": f"t{n}", "content": c},
    st.integers(0, 5),
    long_text | st.lists(text_block, max_size=2) | strange,
)
thinking = st.builds(lambda t: {"type": "thinking", "thinking": t, "signature": "s"}, long_text)
image = st.just({"type": "image", "source": {"type": "base64", "data": "aGk="}})
block = text_block | call | result | thinking | image | st.dictionaries(words, strange, max_size=2)
message = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system"]),
        "content": words | st.lists(block, max_size=4),
    }
)
body_of = st.fixed_dictionaries(
    {"tools": st.just([{"name": "Edit"}]), "messages": st.lists(message, max_size=60)}
)


@settings(max_examples=60, deadline=None)
@given(body_of, st.booleans(), st.booleans())
def test_any_input_keeps_its_shape(body: dict[str, Any], is_refused: bool, is_bound: bool) -> None:
    """Pairs, roles and order stay; what is not understood stays whole, as do words and thoughts.

    But for bound thinking behind an edit, which is left out.
    """
    original, state = copy.deepcopy(body), State(sent=[], prompt_tokens=1_000_000)
    rules = Settings(is_bound=is_bound, rule=cold.Rule(0.0, 0, 1, 0, 1, 0, 1), worth_ratio=0.0)
    outcome = compactor.compact(body, state, rules)
    if is_refused:
        told = "prompt is too long: 9 tokens > 1 maximum"
        outcome = compactor.compact_harder(body, state, rules, told) or outcome

    assert body == original
    sent = outcome.body["messages"]
    assert [one["role"] for one in sent] == [one["role"] for one in original["messages"]]
    for now, before in zip(sent, original["messages"], strict=True):
        if not isinstance(before["content"], list):
            assert now == before
            continue
        kept = before["content"]
        nothing_left = [{"type": "text", "text": "(thinking)"}]
        if is_bound and (len(now["content"]) < len(kept) or now["content"] == nothing_left):
            kept = [one for one in kept if one.get("type") != "thinking" or one in now["content"]]
            kept = kept or nothing_left
        for one, other in zip(now["content"], kept, strict=True):
            _keeps(one, other, before["role"])
    thought = [n for n, one in enumerate(sent) if '"type": "thinking"' in json.dumps(one)]
    if is_bound and thought:
        assert sent[: thought[-1]] == original["messages"][: thought[-1]]
    json.dumps(outcome.body)


def _keeps(one: Any, other: dict[str, Any], role: str) -> None:
    kind = other.get("type")
    assert one.get("type") == kind
    for name in ("id", "tool_use_id", "name"):
        assert one.get(name) == other.get(name)
    if kind in ("thinking", "image") or (kind == "text" and role != "assistant"):
        assert {k: v for k, v in one.items() if k != "cache_control"} == other
    if kind == "tool_use" and isinstance(other["input"], dict):
        assert isinstance(one["input"], dict)
        assert one["input"].keys() == other["input"].keys()
    if kind == "text":
        assert one["text"] or not other["text"]


@settings(max_examples=40, deadline=None)
@given(strange)
def test_what_is_no_request_comes_back_as_it_is(body: Any) -> None:
    """Whatever a client may send."""
    for one in (body, {"tools": [1], "messages": body}, {"tools": body, "messages": []}):
        assert compactor.compact(one, State(), Settings()).body is one


def test_an_answer_without_figures_leaves_what_was_known() -> None:
    """Of the size."""
    state = State()
    compactor.note_occupancy(state, {"input_tokens": 5})

    compactor.note_occupancy(state, {})

    assert state.prompt_tokens == 5


@pytest.mark.parametrize(
    ("used", "brim", "reason"),
    [(8_999, 10_000, ""), (9_000, 10_000, "brim"), (9_000, None, "")],
    ids=["not yet", "near", "somebody else's"],
)
def test_the_brim_is_near_from_its_share_on(used: int, brim: int | None, reason: str) -> None:
    """As the service counted, with what has come since."""
    state = State()
    talk, _ = cooled(state, 12)
    compactor.note_occupancy(state, {"input_tokens": used})

    outcome = compactor.compact(talk.body(), state, Settings(brim_tokens=brim))

    assert outcome.report.reason == reason


def test_near_the_brim_an_edit_that_frees_little_waits() -> None:
    """Six percent of the brim is little enough to be spent at once."""
    saved = []
    for share in (0.0, 1.0):
        state = State()
        talk, _ = cooled(state, 12)
        compactor.note_occupancy(state, {"input_tokens": 9_000})
        hard = Settings(brim_tokens=10_000, worth_ratio=share)
        saved.append(compactor.compact(talk.body(), state, hard).is_changed)

    assert saved == [True, False]


def refused_files(message: str) -> tuple[compactor.Outcome, State, Any]:
    """A request of twelve files, each three steps after the one before, that was refused."""
    state, talk = State(), Talk()
    for number in range(12):
        talk.read(f"/w/file{number}.py", 9_000)
        talk.idle(2)
    body = talk.body()
    compactor.compact(body, state, Settings(brim_tokens=None))
    outcome = compactor.compact_harder(body, state, Settings(), message)
    assert outcome
    return outcome, state, body


def test_after_a_refusal_no_more_goes_than_has_to() -> None:
    """By the figures of the refusal; where it has none a tenth is tried."""
    slightly, _, _ = refused_files("prompt is too long: 40000 tokens > 39000 maximum")
    much, _, _ = refused_files("prompt is too long: 40000 tokens > 2000 maximum")
    unknown, _, _ = refused_files("prompt is too long")

    assert len(slightly.fresh) == len(unknown.fresh) < len(much.fresh)
    for outcome in (slightly, much, unknown):
        assert outcome.report.reason == "refused"
    assert unknown.report.sent_tokens <= 0.9 * unknown.report.original_tokens


def test_where_nothing_is_left_to_take_out_a_refusal_is_passed_on() -> None:
    """And where it is of no conversation."""
    talk, small = Talk(), Talk()
    talk.read("/w/alpha.py", 20_000)
    talk.idle(12)
    told = "prompt is too long: 40000 tokens > 20000 maximum"

    assert compactor.compact_harder(small.body(), State(), Settings(), told) is None
    assert compactor.compact_harder(talk.body(tools=[]), State(), Settings(), told) is None
    assert compactor.compact_harder(talk.body(), State(), Settings(), told)


def test_the_breaker_closes_when_the_conversation_is_smaller_than_what_was_refused() -> None:
    """Not when it is as large as that."""
    _, state, body = refused_files("prompt is too long")
    compactor.note_second_refusal(state, body)
    compactor.compact(body, state, Settings())
    as_large = state.refused_tokens
    shorter = {**body, "messages": body["messages"][:-2]}
    compactor.compact(shorter, state, Settings())

    assert as_large
    assert state.refused_tokens is None


def test_what_could_not_be_kept_is_not_sent_again() -> None:
    """What stood in before does so again."""
    outcome, state, body = refused_files("prompt is too long")
    names = list(outcome.fresh)
    assert all(state.standing[name] for name in names)

    compactor.undo_fresh_stand_ins(state, outcome)

    assert not any(state.standing[name] for name in names)
    assert not compactor.compact(body, state, Settings(brim_tokens=None)).is_changed


def test_what_was_sent_before_is_the_same_bytes_again() -> None:
    """With what stood in then, and nothing else."""
    outcome, state, body = refused_files("prompt is too long")
    found = blocks.read_blocks(body) or []

    same = compactor.rebuild_sent_request(body, found, state.standing, outcome.marked)
    bare = compactor.rebuild_sent_request(body, found, {}, None)

    assert same.body == outcome.body
    assert same.report.sent_tokens == pytest.approx(outcome.report.sent_tokens)
    assert same.report.original_tokens == pytest.approx(outcome.report.original_tokens)
    assert (bare.body, bare.is_changed) == (body, False)


def test_after_a_refusal_of_thinking_all_of_it_goes() -> None:
    """Where nothing was edited, or none is left, there is no other request to make."""
    talk = Talk()
    for number in range(3):
        talk.read(f"/w/file{number}.py", 9_000)
        thought = {"type": "thinking", "thinking": f"hm {number}", "signature": "s"}
        talk.messages[-2]["content"].insert(0, thought)
    body = talk.body()
    found = blocks.read_blocks(body) or []
    thoughts = [block.id for block in found if block.is_thinking]
    edited = next(block for block in found if block.kind == blocks.RESULT and block.step == 2)
    stand_in = stand_ins.StandIn(2, {"content": "a line"}, "key", 5.0)

    def left_out(*, is_edited: bool) -> list[int] | None:
        fresh = {edited.id: stand_in} if is_edited else {}
        state = State(standing={**fresh})
        outcome = compactor.rebuild_sent_request(body, found, state.standing, None)
        outcome.fresh = fresh
        made = compactor.outcome_without_thinking(body, found, state, outcome)
        if made is None:
            return None
        return [thoughts.index(name) for name in made.fresh if name in thoughts]

    assert left_out(is_edited=True) == [0, 1, 2]
    assert left_out(is_edited=False) is None


def test_a_preview_that_nothing_refers_to_becomes_a_line_and_stays_one() -> None:
    """The same line from then on, whatever comes later."""
    state, talk = State(), Talk()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    shown = []
    for round_number in range(3):
        outcome = pressed(talk.body(), state) if round_number else played(talk, state)
        shown.append(outcome.body["messages"][2]["content"][0]["content"])
        talk.idle(5)

    assert shown[0].startswith("[brimline stored ")
    assert shown[1].startswith("[brimline: Bash journalctl -u web: ")
    assert shown[2] == shown[1]


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
    usual: dict[str, Any] = {"is_bound": True, "brim_tokens": 10_000, "worth_ratio": 0.0}
    hard = Settings(**(usual | fields))
    compactor.compact(talk.body(), state, hard)
    compactor.note_occupancy(state, {"input_tokens": used})
    return compactor.compact(talk.body(), state, hard), state


def test_far_from_the_brim_its_past_stays() -> None:
    """An edit would cost all thinking behind it."""
    talk, state = thoughtful(), State()
    talk.idle(25)
    think(talk, "last")
    compactor.compact(talk.body(), state, BOUND)

    assert not compactor.compact(talk.body(), state, BOUND).is_changed


def test_only_what_arrives_behind_all_thinking_is_edited() -> None:
    """The same log before the last thought stays whole."""
    talk = Talk()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    talk.step("Bash", {"command": "journalctl -u mail"}, LOG)
    think(talk)

    outcome = compactor.compact(talk.body(), State(sent=[]), BOUND)

    assert results_in(outcome.body) == ["2026-01-08", "[brimline"]


@pytest.mark.parametrize(("size", "is_previewed"), [(19_999, False), (20_000, True)])
def test_content_is_held_to_four_fifths_of_the_usual_size(size: int, *, is_previewed: bool) -> None:
    """When it arrives, because that is the only time."""
    talk = Talk()
    talk.read("/w/parser.py", size)

    outcome = compactor.compact(talk.body(), State(), Settings())

    assert outcome.is_changed is is_previewed


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
    again = compactor.compact(talk.body(), state, BOUND)

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
        near_the_brim(talk, worth_ratio=share * factor)[0].report.reason for factor in (0.99, 1.1)
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


def test_the_request_without_thinking_keeps_its_edits_and_its_marker() -> None:
    """And what was left out stands as left out from then on."""
    talk = thoughtful()
    talk.idle(12)
    state = State()
    compactor.compact(talk.body(), state, Settings())
    compactor.note_occupancy(state, {"input_tokens": 9_500})
    outcome = compactor.compact(talk.body(), state, Settings(brim_tokens=10_000))
    found = blocks.read_blocks(talk.body()) or []

    made = compactor.outcome_without_thinking(talk.body(), found, state, outcome)

    assert outcome.marked is not None
    assert made
    assert made.marked == outcome.marked
    assert thoughts_in(outcome.body) == ["thought 0", "thought 1", "thought 2"]
    assert thoughts_in(made.body) == []
    assert results_in(made.body) == results_in(outcome.body)
    assert outcome.fresh.items() <= made.fresh.items()
    assert thoughts_in(compactor.compact(talk.body(), state, Settings()).body) == []


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


def test_what_stands_in_already_needs_no_marker_of_its_own() -> None:
    """Only a break of what was sent does."""
    talk, state = Talk(), State()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    marked = []
    for _ in range(2):
        outcome = compactor.compact(talk.body(), state, Settings())
        marked.append((outcome.is_changed, outcome.marked, outcome.report.reason))
        assert json.dumps(outcome.body).count('"cache_control"') == 2
        talk.idle(1)

    assert marked == [(True, None, "")] * 2


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
        compactor.compact(talk.body(), state, Settings(), lookup=look_up)
    found = blocks.read_blocks(talk.body()) or []
    talk.idle(1)
    compactor.compact(talk.body(), state, Settings(), lookup=look_up)
    later = blocks.read_blocks(talk.body()) or []

    assert asked == [
        [block.id for block in found if block.text != "Go on."],
        [block.id for block in later[len(found) :]],
    ]


def test_of_the_same_call_every_second_result_is_shown_whole() -> None:
    """It came again to see all of it; another call in between makes no difference."""
    talk, state = Talk(), State()
    for number in range(4):
        talk.step("Bash", {"command": "journalctl -u web"}, f"{LOG}\n{number}")
        compactor.compact(talk.body(), state, Settings())
        talk.step("Bash", {"command": f"journalctl -u mail{number}"}, LOG)
        body = compactor.compact(talk.body(), state, Settings()).body

    assert [start == "[brimline" for start in results_in(body)[::2]] == [True, False, True, False]
    assert results_in(body)[1::2] == ["[brimline"] * 4
