"""The ladder of tiers through the hooks: where each begins, how often it speaks, what raises it."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from brimline.fast import paths
from brimline.guard.monitor import REARM_POINTS
from brimline.hooks import statusline
from brimline.hooks.entry import answer_turn, open_turn
from brimline.testing import bash_event, event, statusline_event

from .dialogue import SILENT, Answer, Talk

# Of 200,000 tokens: compaction at 167,000, a point is 2,000, and a reply of the builder's adds 120.
POINT = 2_000
REPLY = 120
CLIMB = (110_000, 140_000, 155_000, 163_000)
DISTANCES = [(31, 0), (30, 1), (16, 1), (15, 2), (8, 2), (7, 3), (4, 3), (3, 4), (0, 4), (-9, 4)]
# Model and client's settings: where the context ends.
BRIMS = {
    "compacted": ("claude-sonnet-4-6", 167_000),
    "refused": ("claude-haiku-4-5-20251001", 200_000),
    "older": ("claude-3-7-sonnet-20250219", 200_000),
    "unknown": ("my-own-model", 167_000),
}


@pytest.mark.row("S4-12")
@pytest.mark.parametrize(("points", "tier"), DISTANCES)
@pytest.mark.parametrize("brim", BRIMS)
def test_four_tiers_by_distance_to_the_brim(brim: str, points: int, tier: int, talk: Talk) -> None:
    """30, 15, 7 and 3 points before it, to the token, wherever it is (FINDINGS B2)."""
    talk.session.model, end = BRIMS[brim]
    talk.use(context_window=200_000)
    tokens = end - points * POINT - REPLY

    assert talk.heard(tokens) == (str(tier) if tier else "-")
    if points in (30, 15, 7, 3):
        talk.anew("a token less")
        assert talk.heard(tokens - 1) == (str(tier - 1) if tier > 1 else "-")


@pytest.mark.row("S4-12", "S4-13", "S4-17")
@pytest.mark.parametrize(
    ("setting", "begins"),
    [
        ({"guard__preset": "guard-30-15-7-3"}, [108_000, 138_000, 154_000, 162_000]),
        ({"guard__tiers": [20, 10, 5, 1]}, [127_000, 147_000, 157_000, 165_000]),
        ({"guard__tiers": [30, 5]}, [107_000, 157_000]),
        ({"guard__tiers": 40}, [87_000]),
        ({"guard__tiers": 90_000, "guard__tier_unit": "tokens"}, [90_000]),
        ({"guard__tiers": 45.5, "guard__tier_unit": "used"}, [91_000 + REPLY]),
        ({"guard__tiers": 55, "guard__tier_unit": "remaining"}, [90_000 + REPLY]),
    ],
)
def test_ladders_begin_exactly(setting: dict[str, object], begins: list[int], talk: Talk) -> None:
    """What is used and remaining looks at occupancy, the others at the next request."""
    talk.use(guard__velocity_points=0, **setting)

    for level, tokens in enumerate(begins, 1):
        assert talk.heard(tokens - REPLY - 1, tokens - REPLY) == f"-{level}"


@pytest.mark.row("S4-13", "S4-19")
def test_a_ladder_has_any_number_of_tiers(talk: Talk) -> None:
    """The last of several speaks as the last; a ladder of one has no such end."""
    tiers = [45, 40, 35, 30, 25, 20, 15, 10, 5]
    talk.use(guard__tiers=tiers, guard__velocity_points=0)

    notes = [talk.after_tool(167_000 - points * POINT).note for points in tiers]

    assert re.findall(r"tier L(\d)\.", " ".join(notes)) == list("123456789")
    assert ["in small steps" in note for note in notes] == [False] * 8 + [True]
    talk.anew("single")
    talk.use(guard__tiers=30)
    assert talk.heard(165_000, 165_010) == "1-"


@pytest.mark.row("S4-19", "S4-47")
@pytest.mark.parametrize(
    ("climb", "heard"),
    [
        # Each tier once, the last one with every request.
        (sorted([*CLIMB, *[tokens + 10 for tokens in CLIMB]]), "1-2-3-44"),
        # A jump is told as what it leads to; what it skipped is not told later.
        ((60_000, 157_000, 157_500, 165_000), "-3-4"),
        # From L3 back to L1: L2 and L3 may speak again, L1 may not.
        ((120_000, 145_000, 157_000, 120_000, 145_000), "123-2"),
        # The estimated part of a reading moves from call to call; that is no drop.
        ((107_000, 107_000 - REARM_POINTS * POINT, 107_000), "1--"),
    ],
)
def test_a_tier_speaks_once_until_it_was_left(
    climb: tuple[int, ...], heard: str, talk: Talk
) -> None:
    """And every tier that was entered is audited, those that a jump skipped among them."""
    talk.use(guard__velocity_points=0)

    assert talk.heard(*climb) == heard
    entered = [line["level"] for line in talk.audit()]
    assert entered == [*range(1, max(entered) + 1), *([2] if heard == "123-2" else [])]


@pytest.mark.row("S4-19")
def test_the_last_tier_reminds_once_per_request(talk: Talk) -> None:
    """Of the parallel calls of one request one is answered; the next request is told again."""
    talk.session.reply(165_000)
    gate = Barrier(8)

    def call(_: int) -> str:
        gate.wait()
        return talk.after_tool().note

    with ThreadPoolExecutor(8) as pool:
        first = list(filter(None, pool.map(call, range(8))))

    assert len(first) == 1
    assert "Save what must survive first" in first[0]
    assert talk.at_prompt() == SILENT
    assert "Still so" in talk.at_prompt(165_100).note
    assert talk.at_stop(165_200) == SILENT


@pytest.mark.row("S4-19", "S4-47")
def test_a_compaction_arms_the_ladder_again(talk: Talk) -> None:
    """The next climb is announced from its first tier on; until then there is no figure."""
    talk.use(guard__velocity_points=0)
    assert talk.heard(*CLIMB) == "1234"
    talk.session.compact(167_000)
    assert talk.after_tool() == SILENT
    assert talk.kept("spoke-L4").exists()

    assert talk.heard(40_000, *CLIMB) == "-1234"


@pytest.mark.row("S4-14", "S4-15", "S4-39")
@pytest.mark.parametrize(
    ("occupancies", "limit", "tier"),
    [
        # Five points per request over the last three, exactly, and one token less.
        ((78_000, 88_000, 98_000, 108_000), 5, 2),
        ((78_003, 88_000, 98_000, 108_000), 5, 1),
        # The source's own: 55, 48, 40 percent remaining; then a fall that levels off.
        ((90_000, 104_000, 120_000), 5, 2),
        ((100_000, 110_000, 112_000), 5, 1),
        # One large result among small ones is smoothed away, and old growth does not count.
        ((100_000, 100_500, 101_000, 113_000), 5, 1),
        ((100_000, 100_500, 101_000, 131_000), 5, 2),
        ((40_000, 70_000, 110_000, 110_500, 111_000, 111_500), 5, 1),
        # From the second tier to the third, from the third to the fourth, and not beyond.
        ((108_000, 120_000, 138_000), 5, 3),
        ((130_000, 141_000, 154_000), 5, 4),
        ((100_000, 130_000, 165_000), 5, 4),
        # It is a setting, and 0 switches it off.
        ((64_000, 80_000, 96_000, 112_000), 8, 2),
        ((64_000, 80_000, 96_000, 112_000), 8.5, 1),
        ((64_000, 80_000, 96_000, 112_000), 0, 1),
        # Calm ends where the pace leaves five requests; one step alone is no pace.
        ((40_000, 60_000, 80_000), 5, 1),
        ((60_000, 80_000, 100_000), 5, 1),
        ((20_000, 40_000, 60_000), 5, 0),
        ((40_000, 60_000, 80_000), 0, 0),
        ((40_000, 100_000), 5, 0),
    ],
)
def test_steep_growth_raises_the_tier_by_one(
    occupancies: tuple[int, ...], limit: float, tier: int, talk: Talk
) -> None:
    """Five points of the window per request, averaged over the last three."""
    talk.use(guard__velocity_points=limit)
    for tokens in occupancies[:-1]:
        talk.session.reply(tokens)

    assert talk.heard(occupancies[-1]) == (str(tier) if tier else "-")


@pytest.mark.row("S4-19", "S4-47")
def test_a_tier_that_growth_raised_speaks_once_too(talk: Talk) -> None:
    """Not while the growth lasts; once it eased the tier itself is news; none after compaction."""
    assert talk.heard(74_000, 86_000, 98_000, 110_000, 122_000) == "---2-"
    assert talk.heard(122_500, 123_000, 123_500, 138_000) == "---2"
    talk.anew("compacted")
    assert talk.heard(80_000, 95_000) == "--"
    talk.session.compact(95_000)

    assert talk.heard(110_000) == "1"


@pytest.mark.row("S4-12", "S4-21", "S4-24")
def test_tokens_decide_and_not_rounded_percentages(talk: Talk) -> None:
    """The client says 28 % remaining, the counts say 83,500 of 100,000: that is L4."""
    talk.use(guard__preset="guard-30-15-7-3")
    talk.session.now = 1_000_000_000.0
    talk.session.reply(20_000)
    payload = statusline_event(talk.session, 100_000, 83_500)
    payload["context_window"] |= {"used_percentage": 72, "remaining_percentage": 28}
    statusline.respond(json.dumps(payload).encode(), talk.home_dir)

    note = talk.after_tool().note

    assert "tier L4" in note
    assert "Next: ~83,550 of 100,000 tokens (statusline), compaction expected at 84,000" in note


@pytest.mark.row("S4-12")
def test_the_result_at_hand_counts(talk: Talk) -> None:
    """It is not in the file yet, and in the next request all the same."""
    assert talk.after_tool(100_000) == SILENT

    note = talk.after_tool(None, "x" * 28_500, tool_name="Unheard").note

    assert "tier L1" in note
    assert "Next: ~110,120 of 200,000" in note


def test_a_stale_reading_arms_nothing(talk: Talk) -> None:
    """A hook that read the file before the others and decides after them changes nothing."""
    talk.use(guard__velocity_points=0)
    talk.session.reply(60_000)
    slow = open_turn("PostToolUse", json.dumps(bash_event(talk.session)).encode(), talk.home_dir)
    assert slow is not None
    assert slow.reading.tier == 0
    assert talk.heard(157_000) == "3"

    assert answer_turn(slow) == b""
    assert talk.heard(157_100) == "-"


@pytest.mark.parametrize("content", [b"", b"x", b"-1", b"9" * 40])
def test_a_damaged_claim_still_counts_as_spoken(content: bytes, talk: Talk) -> None:
    """A claim that was torn while written keeps its tier quiet, until a drop clears it."""
    assert talk.heard(120_000) == "1"
    talk.kept("spoke-L1").write_bytes(content)

    assert talk.heard(120_010) == "-"


@pytest.mark.row("S1-18")
@pytest.mark.parametrize(("tokens", "level"), [(157_000, 3), (165_000, 4)])
def test_a_high_tier_saves_a_checkpoint_by_itself(tokens: int, level: int, talk: Talk) -> None:
    """Compaction may come before the model acts on the note; half an emoji is no obstacle."""
    talk.use(guard__velocity_points=0)
    prompt = {"role": "user", "content": "never touch prod_db \ud83d"}
    talk.session.raw(json.dumps({"type": "user", "message": prompt, "isSidechain": False}) + "\n")
    folder = paths.carry_session_dir(talk.home_dir, talk.session.session_id)
    saved = Path(folder, "checkpoint.json")

    assert talk.heard(145_000) == "2"
    assert not saved.exists()
    assert talk.heard(tokens) == str(level)

    found = json.loads(saved.read_bytes())
    assert "never touch prod_db" in str(found["ledger"]["messages"])
    assert (found["reading"]["tier"], found["trigger"]) == (level, f"L{level}")


def test_a_tier_is_a_line_for_the_mod_to_show(talk: Talk) -> None:
    """Only where the mod runs."""
    talk.use(guard__velocity_points=0)
    assert talk.heard(120_000) == "1"
    assert not talk.kept("mod-notice").exists()
    talk.kept("mod-alive").write_text("{}")

    assert talk.heard(145_000) == "2"
    notice = talk.kept("mod-notice").read_bytes()
    assert json.loads(notice)["text"] == (
        "brimline: 21,880 tokens to compaction; from here on tier L2"
    )


@pytest.mark.row("S3-34", "S3-12")
@pytest.mark.parametrize("speak", ["after_tool", "at_stop"])
def test_preset_ccm_speaks_once_per_threshold_and_climb(speak: str, talk: Talk) -> None:
    """At 71, 81, 91 and after a fall, to the model after tools, to the person when a turn ends."""
    talk.use(guard__preset="ccm-70-80-90")
    answers = [getattr(talk, speak)(percent * POINT) for percent in (69, 71, 72, 81, 91, 60, 71)]

    said = "told" if speak == "at_stop" else "noted"
    kinds = [answer.kind for answer in answers]
    assert kinds == ["silent", said, "silent", said, said, "silent", said]
    assert [line["level"] for line in talk.audit()] == [1, 2, 3, 1]
    assert talk.heard(139_999) + talk.at_prompt(190_000).note + talk.load().note == "-"


@pytest.mark.row("S3-34")
@pytest.mark.parametrize("tiers", [[50, 60], [50], [50, 55, 60, 65]])
def test_preset_ccm_takes_any_number_of_thresholds(tiers: list[int], talk: Talk) -> None:
    """Heard at exactly these percentages on the way from 45 to 70."""
    talk.use(guard__preset="ccm-70-80-90", guard__tiers=tiers)

    found = [percent for percent in range(45, 71) if talk.after_tool(percent * POINT).note]

    assert found == tiers


@pytest.mark.row("S1-01", "S1-03", "S1-04", "S1-05", "S1-09", "S1-22")
@pytest.mark.parametrize(
    ("threshold", "tokens", "percent"),
    [
        (80, 1, None),
        (80, 159_999, None),
        (80, 160_000, 80),
        (80, 179_200, 90),
        (80, 189_001, 95),
        (80, 900_000, 100),
        (92.5, 184_999, None),
        (92.5, 185_000, 92),
        (70, 150_000, 75),
    ],
)
def test_preset_haios_brings_its_line_with_every_prompt(
    threshold: float, tokens: int, percent: int | None, talk: Talk
) -> None:
    """The exact line, its percentage rounded; three megabytes of other rows do not move it."""
    talk.use(guard__preset="haios-80", context_window=200_000, guard__tiers=threshold)
    talk.session.reply(tokens)
    talk.session.row("progress", data={"text": "x" * 3_000_000})
    line = f"CONTEXT: ~{percent}% used. Consider /brim:checkpoint before context exhaustion."

    answers = [talk.at_prompt() for _ in range(2)]
    assert [answer.person for answer in answers] == [line if percent else ""] * 2
    assert ["to a file" in answer.note for answer in answers] == [bool(percent)] * 2
    assert len(talk.audit()) == (1 if percent else 0)


@pytest.mark.row("S1-01", "S1-15")
def test_preset_haios_answers_prompts_only_and_refuses_nothing(talk: Talk) -> None:
    """After a tool, at the end of a turn and before a load there is not a word."""
    talk.use(guard__preset="haios-80", context_window=200_000)

    assert [talk.after_tool(199_000), talk.at_stop(), talk.load()] == [SILENT] * 3
    assert talk.at_prompt().kind == "noted"


@pytest.mark.row("S1-06", "S1-07", "S1-08", "S1-02", "S0-29")
@pytest.mark.parametrize("preset", ["default", "haios-80"])
@pytest.mark.parametrize("content", [None, b"", b"\n", b'{"type":"user","message":{}}\n'])
def test_the_unmeasured_is_not_warned_of(content: bytes | None, preset: str, talk: Talk) -> None:
    """Missing, empty, without usage or of no tokens: nothing, and above all not 0 %."""
    talk.use(guard__preset=preset)
    if content is not None:
        talk.session.raw(content)
    assert talk.at_prompt() == SILENT
    talk.session.reply(0, output_tokens=0)
    assert talk.at_prompt() == SILENT
    talk.session.reply(199_000)
    talk.session.reply(0, output_tokens=0)
    assert talk.at_prompt().kind == "noted"
    paths_of_any_kind: list[object] = [None, "", 7, []]
    for path in paths_of_any_kind:
        payload = event("UserPromptSubmit", talk.session, prompt="x", transcript_path=path)
        assert talk.send(payload) == Answer()
