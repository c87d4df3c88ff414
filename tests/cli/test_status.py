"""`brimline status`: exactly what the slow reader says, for built sessions and recorded ones."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.transcript import reference

from brimline.fast import paths
from brimline.hooks import statusline
from brimline.testing import SessionBuilder, statusline_event, text_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Refused, Run

KEYS = (
    "session_id transcript occupancy_tokens estimated_tokens projected_tokens tail_tokens "
    "margin_tokens used_ratio "
    "window_tokens window_source effective_window_tokens compaction_tokens compaction_source "
    "compaction_enforced ending idle_compaction_tokens tier velocity_tokens_per_op "
    "forecast_ops "
    "forecast_ops_low forecast_ops_high forecast_as_usual model "
    "model_taken_for measured_by measured_at compactions off gateway_saved_tokens"
)


def _compacted_twice(session: SessionBuilder) -> None:
    for legacy in (True, False):
        for tokens in (50_000, 110_000, 166_000):
            session.reply(tokens)
        session.compact(167_000, legacy=legacy)
    session.reply(52_000)
    session.reply(53_000)


def _just_compacted(session: SessionBuilder) -> None:
    session.reply(166_000)
    session.compact(167_000)
    session.prompt("go on")


def _large_window_proved(session: SessionBuilder) -> None:
    session.reply(350_000)
    session.compact(967_000)
    session.reply(60_000)


def _accidents(session: SessionBuilder) -> None:
    session.reply(70_000, text_block("a"), text_block("b"))
    session.reply(99_000, isSidechain=True)
    session.reply(0)
    session.reply(98_000, isApiErrorMessage=True)
    session.raw(b'{"type":"assistant","message":{"usage":{"input_tokens":9}}} {"x":1}\n\xff\xfe\n')
    session.prompt('{"usage":{"input_tokens":1}} compact_boundary "isCompactSummary":true')
    session.raw('{"type":"assistant","message":{"usage":{"inp')


BUILT: dict[str, Callable[[SessionBuilder], object]] = {
    "empty": lambda session: session.raw(""),
    "prompted": lambda session: session.prompt("hello"),
    "compacted twice": _compacted_twice,
    "just compacted": _just_compacted,
    "large window proved": _large_window_proved,
    "accidents": _accidents,
}
CORPUS = os.environ.get("BENCH_CORPUS")
RECORDED = sorted(Path(CORPUS).glob("*.jsonl")) if CORPUS else []


@pytest.mark.row("S0-02", "S0-04")
@pytest.mark.parametrize("source", [*BUILT, *RECORDED], ids=lambda source: Path(source).stem)
def test_status_agrees_exactly_with_the_slow_reader(
    source: str | Path, session: SessionBuilder, brimline: Run
) -> None:
    """Occupancy, compactions and share of the window, without any tolerance."""
    if isinstance(source, str):
        BUILT[source](session)
        source = Path(session.path)

    done = brimline("status", "--json", "--session", str(source))
    report = json.loads(done.out)
    expected = reference.read(source)

    assert done.code == 0
    assert report["occupancy_tokens"] == expected.occupancy_tokens
    assert report["compactions"] == expected.compactions
    assert report["used_ratio"] == expected.used_ratio


@pytest.mark.row("S4-36", "S4-37", "S4-41")
def test_every_figure_is_reported(session: SessionBuilder, brimline: Run) -> None:
    """All keys, which other programs rely on; unknown is null, not absent."""
    session.prompt()
    nothing = brimline("status", "--json", "--session", session.path).document
    assert " ".join(nothing) == KEYS
    assert [nothing[name] for name in ("occupancy_tokens", "tier", "forecast_ops")] == [None] * 3
    assert "unknown: no model request" in brimline("status", "--session", session.path).out
    session.reply(98_000)
    session.reply(100_000, output_tokens=100)

    report: dict[str, Any] = brimline("status", "--json", "--session", session.path).document

    assert report["session_id"] == session.session_id
    assert report["transcript"] == session.path
    assert (report["tail_tokens"], report["projected_tokens"]) == (100, 100_100)
    assert (report["window_tokens"], report["window_source"]) == (200_000, "model")
    assert (report["compaction_tokens"], report["compaction_source"]) == (167_000, "window")
    assert (report["compaction_enforced"], report["ending"]) == (True, "compaction")
    assert (report["margin_tokens"], report["tier"]) == (66_900, 0)
    assert report["velocity_tokens_per_op"] == 2_000
    assert report["forecast_ops_low"] <= report["forecast_ops"] <= report["forecast_ops_high"]
    assert report["forecast_as_usual"] is False
    assert report["measured_by"] == "transcript"
    assert report["compactions"] == 0


@pytest.mark.row("S4-37")
@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([800, 3_000] * 3 + [13_000, 700, 300], ""),
        ([6_500] * 10, ""),
        ([100] * 9 + [5_000] + [100] * 10, ", as sessions usually go"),
        ([1_500, 1_300, -9_000], ""),
    ],
)
def test_whoever_divides_by_the_last_ten_requests_finds_the_figure_or_the_reason(
    steps: list[int], why: str, session: SessionBuilder, brimline: Run
) -> None:
    """Within twofold, or it says why not."""
    for tokens in itertools.accumulate([40_000, *steps]):
        session.reply(tokens, output_tokens=1)

    report = brimline("status", "--json", "--session", session.path).document
    told = brimline("status", "--session", session.path).out

    ops, low, high = (report[f"forecast_ops{end}"] for end in ("", "_low", "_high"))
    assert f"about {ops} requests ({low} to {high}){why}\n" in told
    last = [step for step in steps if step > 0][-10:]
    divided = report["margin_tokens"] * len(last) / sum(last)
    assert (0.5 <= ops / divided <= 2) is not bool(why)


def test_without_arguments_it_is_the_running_session_else_the_projects_newest(
    project_dir: str, brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual call, from the project's folder; or any session by its id."""
    folder = paths.project_transcripts_dir(project_dir)
    for age, name in enumerate(("newer", "older")):
        session = SessionBuilder(f"{folder}/{name}.jsonl", session_id=name)
        session.reply(50_000 + age)
        os.utime(session.path, (1_000_000 - age, 1_000_000 - age))

    assert brimline("status", "--json").document["session_id"] == "newer"
    by_id = brimline("status", "--json", "--session", "older").document
    assert by_id["occupancy_tokens"] == 50_001
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "older")
    assert brimline("status", "--json").document["session_id"] == "older"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "not-written-yet")
    assert brimline("status", "--json").document["session_id"] == "newer"


def test_a_session_of_a_folder_above_is_told_with_its_folder(
    project_dir: str, brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes it for one of the folder he is in."""
    folder = paths.project_transcripts_dir(project_dir)
    SessionBuilder(f"{folder}/s1.jsonl", session_id="s1", cwd=project_dir).reply(50_000)
    assert "this session is of" not in brimline("status").err
    Path(project_dir, "below").mkdir()
    monkeypatch.chdir(Path(project_dir, "below"))

    assert brimline("status").err == f"note: this session is of {project_dir}\n"


@pytest.mark.parametrize("option", ["", "--composition"])
@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "device"])
def test_what_is_no_transcript_is_told_in_one_sentence(
    kind: str, option: str, world: Path, refused: Refused
) -> None:
    """At once, without waiting for a writer, without a traceback."""
    os.mkfifo(world / "pipe")
    path = {"missing": "/no/file", "folder": str(world), "pipe": f"{world}/pipe"}
    target = path.get(kind, "/dev/zero")

    told = refused("status", *option.split(), "--session", target)

    assert told.startswith(f"brimline: cannot read {target}: ")


def test_a_project_without_sessions_is_a_problem(brimline: Run) -> None:
    """Where none is named."""
    assert "no session in this folder yet" in brimline("status").err


def test_looking_changes_nothing(session: SessionBuilder, world: Path, brimline: Run) -> None:
    """A status can be asked for at any time by anybody."""
    session.reply(350_000)
    before = sorted(path for path in world.rglob("*"))

    brimline("status", "--session", session.path)

    assert sorted(path for path in world.rglob("*")) == before


def test_a_resumed_session_is_the_one_that_its_status_line_shows(
    project_dir: str, home_dir: str, brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not written to before the next prompt, but its hooks and status line are heard of."""
    folder = Path(paths.project_transcripts_dir(project_dir))
    folder.mkdir(parents=True)
    for name, tokens, moment in (("old", 120_000, 1_000_000_000), ("later", 30_000, 1_500_000_000)):
        session = SessionBuilder(str(folder / f"{name}.jsonl"), "first", project_dir)
        session.now = float(moment)
        session.reply(tokens)
        os.utime(session.path, (moment, moment))
    assert brimline("status", "--json").document["transcript"].endswith("/later.jsonl")
    old = SessionBuilder(str(folder / "old.jsonl"), "old", project_dir)

    payload = json.dumps(statusline_event(old, 1_000_000, None)).encode()
    monkeypatch.setenv("NO_COLOR", "1")
    shown = statusline.respond(payload, home_dir).decode()

    found = brimline("status", "--json").document
    assert found["session_id"] == "old", "named by its file, as the client does"
    assert (found["window_tokens"], found["occupancy_tokens"]) == (1_000_000, 120_000)
    assert shown.startswith(f"{found['margin_tokens'] / 1_000:.3g}k to ")


def test_a_model_that_nobody_knows_yet_is_marked(session: SessionBuilder, brimline: Run) -> None:
    """Window, brim and prices of an unknown one are assumed, and the reading says as of which."""
    session.model = "claude-opus-6-1"
    session.reply(120_000)

    told = brimline("status", "--session", session.path).out
    report = brimline("status", "--json", "--session", session.path).document

    assert "claude-opus-6-1, not known yet" in " ".join(told.split())
    assert "those of opus 5.5" in " ".join(told.split())
    assert (report["model"], report["model_taken_for"]) == ("claude-opus-6-1", "opus 5.5")
    assert (report["window_tokens"], report["compaction_tokens"]) == (1_000_000, 967_000)


def test_after_a_compaction_the_next_request_is_estimated(
    session: SessionBuilder, brimline: Run
) -> None:
    """By what all requests take and what is left; the first one that measures it ends that."""
    session.prompt("Go")
    session.reply(30_000)
    session.tool_result(session.tool_call(40_000), "line " * 60_000)
    session.reply(160_000)
    session.compact(161_000, summary="What was done. " * 2_000)

    told = brimline("status", "--session", session.path, "--json").document
    page = brimline("status", "--session", session.path).out
    session.reply(42_000)
    then = brimline("status", "--session", session.path, "--json").document

    assert told["occupancy_tokens"] is None
    assert 35_000 < told["estimated_tokens"] < 45_000
    assert "k tokens, estimated: no model request since the compaction" in page
    assert (then["occupancy_tokens"], then["estimated_tokens"]) == (42_000, None)


def test_what_a_compacted_session_takes_is_unknown_where_it_began_with_anothers_context(
    session: SessionBuilder, brimline: Run
) -> None:
    """What all requests take was never measured alone."""
    session.reply(150_000)
    session.compact(151_000)

    assert "unknown: no model request" in brimline("status", "--session", session.path).out
