"""The ladder of tiers through the hooks: where each begins, how often it speaks, what raises it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline import config
from brimline.decision import NOTE_BUDGET_CHARACTERS
from brimline.fast import paths
from brimline.guard.monitor import REARM_POINTS
from brimline.hooks import statusline
from brimline.hooks.entry import ask_rooms, open_turn
from brimline.testing import bash_event, statusline_event

from .dialogue import SILENT, after_tool, at_prompt, at_start, at_stop, audit, kept, use

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

# Of 200,000 tokens: compaction at 167,000, a point is 2,000, and a reply of the builder's adds 120.
POINT = 2_000
REPLY = 120
WORDS = {
    0: "",
    1: "L1 Warning. There is room to work",
    2: "L2 Advisory. A good moment to write down the state of the work",
    3: "L3 Yellow Alert. Compaction is near: what is only in this conversation may be lost. Save",
    4: "L4 Critical. Compaction is imminent. Save what must survive first",
}
DISTANCES = [(31, 0), (30, 1), (16, 1), (15, 2), (8, 2), (7, 3), (4, 3), (3, 4), (0, 4), (-9, 4)]


@pytest.mark.row("S4-12")
@pytest.mark.parametrize(("points", "tier"), DISTANCES)
@pytest.mark.parametrize(
    ("preset", "compaction"), [("default", 167_000), ("guard-30-15-7-3", 168_000)]
)
def test_four_tiers_by_distance_to_compaction(
    points: int,
    tier: int,
    preset: str,
    compaction: int,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """30, 15, 7 and 3 points before it inform, advise to save, urge to save and raise the alarm."""
    use(monkeypatch, guard__preset=preset)
    session.reply(compaction - points * POINT - REPLY)

    note = after_tool(session, home_dir).note

    assert bool(note) is (tier > 0)
    assert WORDS[tier] in note


@pytest.mark.row("S4-12", "S4-21")
@pytest.mark.parametrize("tier", [1, 2, 3, 4])
def test_a_tier_begins_to_the_token(tier: int, session: SessionBuilder, home_dir: str) -> None:
    """One token before the threshold it is still the tier below."""
    begins = 167_000 - (30, 15, 7, 3)[tier - 1] * POINT - REPLY
    session.reply(begins - 1)
    assert WORDS[tier - 1] in after_tool(session, home_dir).note
    session.reply(begins)

    assert WORDS[tier] in after_tool(session, home_dir).note


@pytest.mark.row("S4-13")
def test_the_thresholds_are_the_users(session: SessionBuilder, home_dir: str) -> None:
    """Set in the file, they hold from the next start on; the old boundary says nothing."""
    file = paths.user_config(home_dir)
    config.change(file, "guard.tiers", "20,10,5,1", project=False)
    at_start(session, home_dir)

    assert _first_tokens(session, home_dir, 100_000, 167_000) == {
        1: 167_000 - 20 * POINT,
        2: 167_000 - 10 * POINT,
        3: 167_000 - 5 * POINT,
        4: 167_000 - 1 * POINT,
    }


@pytest.mark.row("S4-13")
@pytest.mark.parametrize(
    ("unit", "threshold", "projected", "occupancy"),
    [
        ("to_compaction", 40, 87_000, None),
        ("used", 45, None, 90_000),
        ("remaining", 55, None, 90_000),
        ("tokens", 90_000, 90_000, None),
        ("used", 45.5, None, 91_000),
    ],
)
def test_every_unit_is_inclusive(
    unit: str,
    threshold: float,
    projected: int | None,
    occupancy: int | None,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is used and remaining looks at occupancy, the others at the next request."""
    use(monkeypatch, guard__tiers=threshold, guard__tier_unit=unit)
    begins = occupancy if occupancy is not None else (projected or 0) - REPLY
    session.reply(begins - 1)
    assert after_tool(session, home_dir) == SILENT
    session.reply(begins)

    assert "tier L1 Warning" in after_tool(session, home_dir).note


@pytest.mark.row("S4-12")
def test_points_are_those_of_the_window_that_the_client_compacts_by(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an auto-compact window of 100,000 a point is 1,000 tokens and compaction at 67,000."""
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")

    assert _first_tokens(session, home_dir, 30_000, 67_000) == {
        1: 37_000,
        2: 52_000,
        3: 60_000,
        4: 64_000,
    }


@pytest.mark.row("S4-13")
@pytest.mark.parametrize(
    ("tiers", "names"),
    [
        ([30], ["Warning"]),
        ([30, 5], ["Warning", "Critical"]),
        ([30, 15, 5], ["Warning", "Advisory", "Critical"]),
        (
            [45, 40, 35, 30, 25, 20, 15, 10, 5],
            [
                "Warning",
                "Advisory",
                "Yellow Alert",
                *[f"Level {n}" for n in (4, 5, 6, 7, 8)],
                "Critical",
            ],
        ),
    ],
)
def test_a_ladder_has_any_number_of_tiers(
    tiers: list[int],
    names: list[str],
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last of several is the critical one, whatever its number."""
    use(monkeypatch, guard__tiers=tiers, guard__velocity_points=0)

    heard = []
    for points in tiers:
        session.reply(167_000 - points * POINT)
        heard += re.findall(r"tier L\d ([\w ]+)\.", after_tool(session, home_dir).note)

    assert heard == names


@pytest.mark.row("S4-19")
def test_a_tier_speaks_once_and_only_the_last_one_persists(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L1 to L3 are silent the second time; L4 is announced, then recalled on every call."""
    use(monkeypatch, guard__velocity_points=0)
    heard = []
    for tokens in (110_000, 140_000, 155_000, 163_000):
        session.reply(tokens)
        for _ in range(3):
            note = after_tool(session, home_dir).note
            heard += [note.partition("Context ")[2][:8] if note else "-"]

    assert heard == [
        *("tier L1 ", "-", "-"),
        *("tier L2 ", "-", "-"),
        *("tier L3 ", "-", "-"),
        *("tier L4 ", "tier L4 ", "tier L4 "),
    ]
    assert [line["level"] for line in audit(home_dir)] == [1, 2, 3, 4]


@pytest.mark.row("S4-19")
def test_the_recall_of_the_last_tier_is_short(session: SessionBuilder, home_dir: str) -> None:
    """It does not repeat the advice, and comes with prompts as well as after tools."""
    session.reply(165_000)
    first = after_tool(session, home_dir).note

    for again in (after_tool(session, home_dir).note, at_prompt(session, home_dir).note):
        assert "Still critical: save what must survive before anything large." in again
        assert len(again) < len(first)
    assert at_stop(session, home_dir) == SILENT


@pytest.mark.row("S4-19")
def test_a_single_tier_does_not_persist(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ladder of one has no critical end."""
    use(monkeypatch, guard__tiers=30)
    session.reply(165_000)

    assert [bool(after_tool(session, home_dir).note) for _ in range(3)] == [True, False, False]


@pytest.mark.row("S4-19", "S4-47")
def test_a_drop_arms_the_ladder_again(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a compaction the next climb is announced from its first tier on."""
    use(monkeypatch, guard__velocity_points=0)
    climb = (110_000, 140_000, 155_000, 163_000)

    assert _heard(session, home_dir, *climb) == ["L1", "L2", "L3", "L4"]
    session.compact(167_000)

    assert _heard(session, home_dir, 40_000, *climb) == ["-", "L1", "L2", "L3", "L4"]


@pytest.mark.row("S4-14", "S4-15")
@pytest.mark.parametrize(
    ("occupancies", "tier"),
    [
        # Five points per request over the last three, exactly, and one token less.
        ((78_000, 88_000, 98_000, 108_000), 2),
        ((78_003, 88_000, 98_000, 108_000), 1),
        # The source's own: 55, 48, 40 percent remaining; then a fall that levels off.
        ((90_000, 104_000, 120_000), 2),
        ((100_000, 110_000, 112_000), 1),
        # One large result among small ones is smoothed away.
        ((100_000, 100_500, 101_000, 113_000), 1),
        ((100_000, 100_500, 101_000, 131_000), 2),
        # What happened longer ago does not count.
        ((40_000, 70_000, 110_000, 110_500, 111_000, 111_500), 1),
        # From the second tier to the third, and from the third to the fourth.
        ((108_000, 120_000, 138_000), 3),
        ((130_000, 141_000, 154_000), 4),
    ],
)
def test_steep_growth_raises_the_tier_by_one(
    occupancies: tuple[int, ...], tier: int, session: SessionBuilder, home_dir: str
) -> None:
    """Five points of the window per request, averaged over the last three."""
    for tokens in occupancies:
        session.reply(tokens)

    assert f"tier L{tier} " in after_tool(session, home_dir).note


@pytest.mark.row("S4-14")
def test_growth_raises_neither_calm_nor_the_last_tier(
    session: SessionBuilder, home_dir: str
) -> None:
    """Below the first tier steep growth is no news, and there is nothing above the last."""
    for tokens in (40_000, 60_000, 80_000):
        session.reply(tokens)
        assert after_tool(session, home_dir) == SILENT
    session.reply(165_000)

    assert "tier L4 Critical" in after_tool(session, home_dir).note


@pytest.mark.row("S4-15")
@pytest.mark.parametrize(("limit", "tier"), [(0, 1), (5, 2), (8, 2), (8.5, 1)])
def test_the_growth_that_raises_is_a_setting(
    limit: float,
    tier: int,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In points per request; 0 switches it off."""
    use(monkeypatch, guard__velocity_points=limit)
    for tokens in (64_000, 80_000, 96_000, 112_000):
        session.reply(tokens)

    assert f"tier L{tier} " in after_tool(session, home_dir).note


@pytest.mark.row("S4-19")
def test_a_tier_that_growth_raised_speaks_once_too(session: SessionBuilder, home_dir: str) -> None:
    """While the growth lasts it is not told again; once it eased, the tier itself is news."""
    steep = (74_000, 86_000, 98_000, 110_000, 122_000)
    eased = (122_500, 123_000, 123_500)

    assert _heard(session, home_dir, *steep) == ["-", "-", "-", "L2", "-"]
    assert _heard(session, home_dir, *eased) == ["-", "-", "-"]
    assert _heard(session, home_dir, 138_000) == ["L2"]


@pytest.mark.row("S4-47")
def test_growth_before_a_compaction_is_not_used(session: SessionBuilder, home_dir: str) -> None:
    """A conversation that compacts from a fast stretch starts without a velocity."""
    for tokens in (80_000, 95_000):
        session.reply(tokens)
    session.compact(95_000)
    session.reply(110_000)

    assert "tier L1 Warning" in after_tool(session, home_dir).note


@pytest.mark.row("S4-21")
def test_tokens_decide_and_not_rounded_percentages(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client says 28 % remaining, the counts say 83,500 of 100,000: that is L4."""
    use(monkeypatch, guard__preset="guard-30-15-7-3")
    session.now = 1_000_000_000.0
    session.reply(20_000)
    payload = statusline_event(session, 100_000, 83_500)
    payload["context_window"] |= {"used_percentage": 72, "remaining_percentage": 28}
    statusline.respond(json.dumps(payload).encode(), home_dir)

    note = after_tool(session, home_dir).note

    assert "tier L4 Critical" in note
    assert "83,500 of 100,000 tokens in use" in note


@pytest.mark.row("S4-12")
def test_a_tier_is_judged_by_what_the_next_request_will_hold(
    session: SessionBuilder, home_dir: str
) -> None:
    """The result at hand is not in the file yet, and still counts."""
    session.reply(100_000)
    assert after_tool(session, home_dir) == SILENT

    note = after_tool(session, home_dir, "x" * 28_500, tool_name="Unheard").note

    assert "tier L1 Warning" in note
    assert "100,000 of 200,000 tokens in use" in note
    assert "about 10,120 more in the next request" in note


@pytest.mark.row("S4-12")
@pytest.mark.parametrize("tokens", [110_000, 140_000, 155_000, 164_000])
def test_every_announcement_has_figure_source_advice_and_setting(
    tokens: int, session: SessionBuilder, home_dir: str
) -> None:
    """Stable text first, figures last."""
    session.reply(tokens)

    head, _, figures = after_tool(session, home_dir).note.partition("Measured: ")

    assert "`guard.tiers`" in head
    assert f"{tokens:,} of 200,000 tokens in use" in figures
    assert "window from the model's name, unverified" in figures
    assert "compaction expected at 167,000" in figures
    assert not re.search(r"\b(stop|halt|abort|cease|do not continue)\b", head, re.IGNORECASE)


@pytest.mark.row("S4-19", "S4-47")
@pytest.mark.parametrize(
    ("climb", "heard"),
    [
        # A jump is told as what it leads to; what it skipped is not told later.
        ((60_000, 157_000, 157_500, 165_000), ["-", "L3", "-", "L4"]),
        # From L3 back to L1: L2 and L3 may speak again, L1 may not.
        ((120_000, 145_000, 157_000, 120_000, 145_000), ["L1", "L2", "L3", "-", "L2"]),
        # The estimated part of a reading moves from call to call; that is no drop.
        ((107_000, 107_000 - REARM_POINTS * POINT, 107_000), ["L1", "-", "-"]),
    ],
)
def test_a_tier_is_told_again_once_it_was_clearly_left(
    climb: tuple[int, ...],
    heard: list[str],
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And not before."""
    use(monkeypatch, guard__velocity_points=0)

    assert _heard(session, home_dir, *climb) == heard


def test_a_stale_reading_arms_nothing(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook that read the file before the others and decides after them changes nothing."""
    use(monkeypatch, guard__velocity_points=0)
    session.reply(60_000)
    slow = open_turn("PostToolUse", json.dumps(bash_event(session)).encode(), home_dir)
    assert slow is not None
    assert slow.reading.tier == 0
    assert _heard(session, home_dir, 157_000) == ["L3"]

    assert ask_rooms(slow) == b""
    assert _heard(session, home_dir, 157_100) == ["-"]


@pytest.mark.row("S1-06", "S1-07", "S1-08")
def test_an_unknown_reading_says_and_arms_nothing(session: SessionBuilder, home_dir: str) -> None:
    """Right after a compaction there is no figure to judge by."""
    assert _heard(session, home_dir, 145_000) == ["L2"]
    session.compact(167_000)

    assert after_tool(session, home_dir) == SILENT
    assert kept(session, home_dir, "spoke-L2").exists()


@pytest.mark.parametrize("content", [b"", b"x", b"-1", b"9" * 40])
def test_a_damaged_claim_still_counts_as_spoken(
    content: bytes, session: SessionBuilder, home_dir: str
) -> None:
    """A claim that was torn while written keeps its tier quiet, until a drop clears it."""
    assert _heard(session, home_dir, 120_000) == ["L1"]
    kept(session, home_dir, "spoke-L1").write_bytes(content)

    assert _heard(session, home_dir, 120_010) == ["-"]


@pytest.mark.parametrize(("tokens", "level"), [(157_000, 3), (165_000, 4)])
@pytest.mark.row("S1-18")
def test_a_high_tier_saves_a_checkpoint_by_itself(
    tokens: int,
    level: int,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compaction may come before the model acts on the note; half an emoji is no obstacle."""
    use(monkeypatch, guard__velocity_points=0)
    prompt = {"role": "user", "content": "never touch prod_db \ud83d"}
    session.raw(json.dumps({"type": "user", "message": prompt, "isSidechain": False}) + "\n")
    saved = Path(paths.carry_session_dir(home_dir, session.session_id), "checkpoint.json")

    assert _heard(session, home_dir, 145_000) == ["L2"]
    assert not saved.exists()
    assert _heard(session, home_dir, tokens) == [f"L{level}"]

    found = json.loads(saved.read_bytes())
    assert "never touch prod_db" in str(found["ledger"]["messages"])
    assert (found["reading"]["tier"], found["trigger"]) == (level, f"L{level}")


@pytest.mark.row("S0-29", "S1-02", "S2-03", "S2-23", "S2-35")
@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_what_changes_comes_last_and_says_where_it_is_from(
    level: int, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompt caches reward stable text; a window is named with its source, a guess as a guess."""
    use(monkeypatch, guard__velocity_points=0)
    session.reply((110_000, 140_000, 155_000, 163_000)[level - 1])
    first = after_tool(session, home_dir).note
    session.session_id = "another"
    use(monkeypatch, context_window=200_000, measure__estimate="size")
    Path(session.path).write_text("x" * 4 * (111_000, 141_000, 156_000, 164_000)[level - 1])
    second = after_tool(session, home_dir).note

    head, _, figures = first.partition("Measured: ")
    other, _, guessed = second.partition("Estimated: ~")
    assert head == other
    assert re.findall(r"\d", head) == [str(level)]
    assert "window from the model's name, unverified" in figures
    assert "from the size of the session file, window from your configuration" in guessed
    assert len(first) < NOTE_BUDGET_CHARACTERS
    assert "\n" not in first


def _heard(session: SessionBuilder, home_dir: str, *occupancies: int) -> list[str]:
    """Let the session take these values; which tier is announced at each."""
    heard = []
    for tokens in occupancies:
        session.reply(tokens)
        note = after_tool(session, home_dir).note
        heard.append(note.partition("tier ")[2][:2] or "-")
    return heard


def _first_tokens(session: SessionBuilder, home_dir: str, low: int, high: int) -> dict[int, int]:
    """At which size of the next request each tier is announced, in steps of 500 tokens."""
    found: dict[int, int] = {}
    for projected in range(low, high, 500):
        session.reply(projected - REPLY)
        level = re.search(r"tier L(\d)", after_tool(session, home_dir).note)
        if level:
            found.setdefault(int(level[1]), projected)
    return found
