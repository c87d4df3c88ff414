"""Questions to the series: sessions, compactions, summary sizes, growth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline import clock, fastio, fastjson
from brimline.gauge.growth import summarise
from brimline.state import history, recorded, series
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder
from brimline.transcript import compactions

if TYPE_CHECKING:
    from typing import Any

START = 1_790_000_000.0


class Hooks:
    """Spools events of a session at times of the test's choosing."""

    def __init__(self, home_dir: str, session: str = "abc") -> None:
        self.path = f"{SessionState(home_dir, session).folder}/spool.jsonl"
        self.now = START

    def add(self, event: str, **fields: Any) -> None:
        """One event, a second after the last."""
        self.now += 1
        fastio.append_line(
            self.path, fastjson.dumps({"v": 1, "at": self.now, "event": event} | fields)
        )

    def read(self, event: str, occupancy: int, offset: int, **fields: Any) -> None:
        """One event with a measurement."""
        figures = {"occupancy": occupancy, "tail": 100, "window": 200_000, "offset": offset}
        self.add(event, **figures | fields)


def transcript(tmp_path: Path, name: str, project: str = "p") -> SessionBuilder:
    """A session file in the client's folder."""
    path = tmp_path / "home" / ".claude" / "projects" / project / f"{name}.jsonl"
    first_row = int.from_bytes(name.encode(), "big")  # ids of rows differ between sessions
    return SessionBuilder(str(path), session_id=name, counter=first_row)


def read_transcripts(home_dir: str, *sessions: SessionBuilder) -> int:
    """Bring the series up to date; how many files had to be read."""
    files = recorded.unread(home_dir, [session.path for session in sessions])
    assert recorded.remember(home_dir, files) == []
    return len(files)


@pytest.mark.row("S2-48")
def test_a_session_is_told_with_turns_messages_blocks_and_compactions(home_dir: str) -> None:
    """Everything a hook spooled about it, in order."""
    hooks = Hooks(home_dir)
    hooks.add("SessionStart", source="startup", model="claude-opus-5", cwd="/home/dev/project")
    hooks.read("UserPromptSubmit", 40_000, 10)
    hooks.read("PostToolUse", 110_000, 20, tier=1, spoke=1)
    hooks.read("PreToolUse", 120_000, 30, tier=2, blocked=True, tool="Skill")
    hooks.read("PreCompact", 165_000, 40, trigger="auto")
    hooks.add("SessionStart", source="compact", model="claude-opus-5")
    hooks.add("PostCompact", trigger="auto", summary_characters=9_000)
    hooks.read("UserPromptSubmit", 165_000, 40)
    hooks.read("PostToolUse", 52_000, 50)
    series.drain(home_dir)

    found = history.session(home_dir, "abc")

    assert (found.project, found.model) == ("/home/dev/project", "claude-opus-5")
    assert (found.window_tokens, found.peak_occupancy_tokens) == (200_000, 165_000)
    assert (found.first_at, found.last_at) == (START + 1, START + 9)
    assert [(one.growth_tokens, one.compactions) for one in found.story.turns] == [
        (125_000, 1),
        (0, 0),
    ]
    assert [(one.tier, one.occupancy_tokens) for one in found.messages] == [(1, 110_000)]
    assert [(one.tool, one.event) for one in found.blocks] == [("Skill", "PreToolUse")]
    (compaction,) = found.compactions
    assert (compaction.pre_tokens, compaction.post_tokens) == (165_100, 52_000)
    assert (compaction.summary_characters, compaction.trigger) == (9_000, "auto")


def test_a_notice_without_a_reading_has_the_last_one_before_it(home_dir: str) -> None:
    """Announcements and refusals are spooled apart from the measurement that led to them."""
    hooks = Hooks(home_dir)
    hooks.add("Announced", spoke=1)
    hooks.read("PostToolUse", 140_000, 10, tier=2)
    hooks.add("Announced", spoke=2)
    hooks.add("Blocked", blocked=True, tool="Skill", subject="deploy")
    series.drain(home_dir)

    found = history.session(home_dir, "abc")

    assert [(one.tier, one.occupancy_tokens) for one in found.messages] == [(1, None), (2, 140_000)]
    assert [(one.tool, one.occupancy_tokens) for one in found.blocks] == [("Skill", 140_000)]


def test_what_followed_a_compaction_is_not_taken_from_after_the_next(home_dir: str) -> None:
    """Without a reading between two compactions the figure stays unknown."""
    hooks = Hooks(home_dir)
    for offset, after in ((10, None), (20, 48_000)):
        hooks.read("PreCompact", 165_000, offset, trigger="auto")
        hooks.add("PostCompact", summary_characters=1)
        if after:
            hooks.read("PostToolUse", after, 90)
    series.drain(home_dir)

    found = history.session(home_dir, "abc").compactions

    assert [one.post_tokens for one in found] == [None, 48_000]


@pytest.mark.row("S2-21", "S2-50")
def test_summary_sizes_have_percentiles_over_all_sessions(home_dir: str, tmp_path: Path) -> None:
    """From hooks where they told, from transcripts where they did not, each compaction once."""
    hooks = Hooks(home_dir, "hooked")
    hooks.read("PreCompact", 165_000, 10, trigger="auto")
    hooks.add("PostCompact", summary_characters=500)
    builders = [transcript(tmp_path, "hooked"), transcript(tmp_path, "older", "q")]
    builders[0].now = hooks.now
    builders[0].compact(165_000, summary="x" * 600)
    for size in range(1, 100):
        builders[1].compact(165_000, summary="x" * (1_000 + size))
    series.drain(home_dir)
    read_transcripts(home_dir, *builders)

    found = history.overview(home_dir)

    assert len(found.compactions) == 100
    assert found.summary_characters == history.Percentiles(100, 1_049, 1_094, 1_098, 1_099)
    assert [session.session_id for session in found.recent] == ["hooked"]
    sizes = {one.summary_source: one.summary_characters for name, one in found.compactions}
    assert sizes["hook"] == 500


def test_a_compaction_copied_into_a_resumed_session_counts_once(
    home_dir: str, tmp_path: Path
) -> None:
    """Clients copy the rows of a session that is resumed or forked into the new file."""
    first, second = transcript(tmp_path, "first"), transcript(tmp_path, "second")
    first.compact(165_000, summary="x" * 700)
    second.raw(Path(first.path).read_bytes())
    second.counter = first.counter
    second.compact(165_000, summary="x" * 900)
    read_transcripts(home_dir, first, second)

    found = history.overview(home_dir)

    assert [one.summary_characters for _, one in found.compactions] == [700, 900]
    assert len(history.session(home_dir, "second").compactions) == 2


def test_an_unchanged_transcript_is_not_read_again(
    home_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only size or time of a file that changed make it news; what is deleted stays known."""
    builders = [transcript(tmp_path, "a"), transcript(tmp_path, "b")]
    for builder in builders:
        builder.compact(165_000)
    assert read_transcripts(home_dir, *builders) == 2
    assert read_transcripts(home_dir, *builders) == 0
    builders[1].compact(165_000)
    assert read_transcripts(home_dir, *builders) == 1
    os.unlink(builders[0].path)
    assert read_transcripts(home_dir, *builders) == 0

    assert [name for name, _ in history.overview(home_dir).compactions] == ["a", "b", "b"]


def test_a_transcript_that_cannot_be_read_is_named(
    home_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And read the next time; folders, pipes and foreign names are no transcripts."""
    good, bad = transcript(tmp_path, "good"), transcript(tmp_path, "bad")
    good.compact(165_000)
    bad.compact(165_000)
    os.mkfifo(tmp_path / "pipe.jsonl")
    odd = [str(tmp_path), str(tmp_path / "pipe.jsonl"), "/none.jsonl", "/lone\udcff.jsonl"]
    files = recorded.unread(home_dir, [bad.path, good.path, *odd])
    read = compactions.scan

    def refuse(path: str, progress: Any = None) -> Any:
        if "bad" in path:
            raise PermissionError(13, "Permission denied")
        return read(path, progress)

    with monkeypatch.context() as patch:
        patch.setattr(compactions, "scan", refuse)
        unreadable = recorded.remember(home_dir, files)

    assert unreadable == [f"{bad.path}: Permission denied"]
    assert [file.path for file in recorded.unread(home_dir, [bad.path, good.path])] == [bad.path]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        ([7], (1, 7, 7, 7, 7)),
        ([1, 2], (2, 1, 2, 2, 2)),
        ([3, 1, 2], (3, 2, 3, 3, 3)),
        (list(range(1, 101)), (100, 50, 95, 99, 100)),
        (list(range(1, 1_001)), (1_000, 500, 950, 990, 1_000)),
    ],
)
@pytest.mark.row("S2-50")
def test_percentiles_are_values_that_occurred(values: list[int], expected: Any) -> None:
    """By the nearest rank, so that a p99 of few is simply the largest."""
    found = history.percentiles(values)

    assert (found and (found.count, found.p50, found.p95, found.p99, found.largest)) == expected


def test_recent_sessions_come_newest_first_and_are_limited(home_dir: str) -> None:
    """The count is of all of them."""
    for number in range(5):
        hooks = Hooks(home_dir, f"s{number}")
        hooks.now += 100 * number
        hooks.read("UserPromptSubmit", 40_000, 10)
    series.drain(home_dir)

    found = history.overview(home_dir, limit=2)

    assert [session.session_id for session in found.recent] == ["s4", "s3"]
    assert found.session_count == 5


def test_a_session_is_found_by_the_start_of_its_id(home_dir: str, tmp_path: Path) -> None:
    """A whole id wins over longer ones that begin with it; transcripts alone count too."""
    for name in ("aa", "aab", "abc"):
        Hooks(home_dir, name).add("SessionStart")
    series.drain(home_dir)
    read_transcripts(home_dir, builder := transcript(tmp_path, "zz"))
    assert not os.path.exists(builder.path)
    builder.prompt()
    read_transcripts(home_dir, builder)

    assert history.matching(home_dir, "aa") == ["aa"]
    assert history.matching(home_dir, "a") == ["aa", "aab", "abc"]
    assert history.matching(home_dir, "z") == ["zz"]
    assert history.matching(home_dir, "%") == []


def test_damaged_pieces_are_told(home_dir: str) -> None:
    """So that a reader knows what the figures lack."""
    hooks = Hooks(home_dir)
    fastio.append_line(hooks.path, "torn")
    hooks.add("SessionStart")
    series.drain(home_dir)

    assert history.overview(home_dir).damaged_lines == 1


def test_growth_comes_as_segments_that_the_gauge_can_summarise(home_dir: str) -> None:
    """Model and occupancies between compactions; nothing recorded is nothing to learn from."""
    assert history.growth_statistics(home_dir) == []
    assert not os.path.exists(home_dir)

    hooks = Hooks(home_dir)
    hooks.add("SessionStart", model="claude-opus-4-5")
    for step in range(30):
        hooks.read("PostToolUse", 100_000 + 2_000 * step, 10 * step)
    hooks.read("PreCompact", 158_000, 290, trigger="auto")
    hooks.add("SessionStart", source="compact")
    hooks.read("PostToolUse", 50_000, 400)
    series.drain(home_dir)

    found = history.growth_statistics(home_dir)

    assert [(model, tokens[0], len(tokens)) for model, tokens in found] == [
        ("claude-opus-4-5", 100_000, 30),
        ("claude-opus-4-5", 50_000, 1),
    ]
    assert [count for count, _, _ in summarise(found).values()] == [1]


def test_growth_is_taken_from_recent_sessions_within_bounds(home_dir: str) -> None:
    """A session start must not wait for a year of history."""
    for number in range(4):
        hooks = Hooks(home_dir, f"s{number}")
        hooks.now += 100 * number
        for step in range(5):
            hooks.read("PostToolUse", 40_000 + 1_000 * number + step, step)
    series.drain(home_dir)

    found = history.growth_statistics(home_dir, most_events=6)

    assert [tokens[0] for _, tokens in found] == [43_000, 42_000]


def test_times_of_transcripts_and_hooks_meet(home_dir: str, tmp_path: Path) -> None:
    """Both are seconds since 1970, so that the two halves of a compaction find each other."""
    hooks = Hooks(home_dir, "abc")
    hooks.read("PreCompact", 165_000, 10, trigger="auto")
    hooks.add("PostCompact")
    builder = transcript(tmp_path, "abc")
    builder.now = hooks.now
    builder.compact(167_031, summary="x" * 800)
    builder.reply(51_000)
    series.drain(home_dir)
    read_transcripts(home_dir, builder)

    (found,) = history.session(home_dir, "abc").compactions

    assert (found.pre_tokens, found.post_tokens) == (167_031, 51_000)
    assert (found.summary_characters, found.summary_source) == (800, "transcript")
    assert clock.format_utc(found.begun_at) == clock.format_utc(START + 1)
