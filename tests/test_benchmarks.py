"""The benchmark runs, tells the truth about its samples, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the `benchmarks` package of the checkout importable."""
    monkeypatch.syspath_prepend(str(ROOT))


def run_quick(world: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The quick mode with a folder for temporary files of its own."""
    (world / "tmp").mkdir()
    return subprocess.run(
        [sys.executable, ROOT / "benchmarks/run.py", "--quick", "--output", world / "page.md"],
        env={"PATH": os.defpath, "HOME": str(world), "TMPDIR": str(world / "tmp")} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_quick_mode_measures_every_case_and_leaves_only_the_page(world: Path) -> None:
    """The printed page is the written one, and the temporary sessions are gone."""
    done = run_quick(world)

    assert done.returncode == 0, done.stderr
    page = (world / "page.md").read_text(encoding="utf-8")
    assert done.stdout == page
    assert "quiet PostToolUse, transcript of 2 MB" in page
    assert "PostToolUse that crosses a tier" in page
    assert str(world) not in page
    assert list((world / "tmp").iterdir()) == []


def test_a_table_that_cannot_be_read_ends_the_run_in_one_sentence(world: Path) -> None:
    """Trouble is one line and a non-zero exit code."""
    done = run_quick(world, BRIMLINE_GROWTH=str(world / "missing.csv"))

    assert done.returncode != 0
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (world / "page.md").exists()


def test_a_size_without_room_on_the_disk_is_skipped_with_a_sentence(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A transcript larger than the disk is not even begun."""
    from benchmarks import latency

    fitting, skipped = latency._fitting(str(world), [1, 10**18])

    assert fitting == [1]
    assert skipped == ["1e+09 GB was skipped: the disk has no room for it."]
    assert skipped[0] in capsys.readouterr().err


def test_the_ratio_lies_in_its_interval_and_uses_every_sample() -> None:
    """Twice as slow in every round is a ratio of two, whatever the load did."""
    from benchmarks import stats

    base = [1.0, 9.0, 2.0, 1.5, 3.0, 1.2]
    found = stats.ratio([2 * seconds for seconds in base], base)

    assert found == (2.0, 2.0, 2.0, 2.0)
    assert stats.figures(base).median_ms == 1_750


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("print('more than nothing')", "printed something"),
        ("raise SystemExit(3)", "ended with exit code 3"),
    ],
)
def test_a_process_that_misbehaves_ends_the_run(world: Path, source: str, complaint: str) -> None:
    """A sample of the wrong thing is no sample."""
    from benchmarks import spawn

    def check(output: bytes) -> str | None:
        return "printed something" if output else None

    case = spawn.Case("the case", [sys.executable, "-c", source], os.devnull, check)

    with pytest.raises(spawn.BenchError, match=complaint):
        spawn.Launcher({}, str(world / "output")).time(case)


def test_a_hook_that_left_no_record_is_found_out(world: Path) -> None:
    """A broken hook is as silent as a quiet one, so its record is what counts."""
    from benchmarks import spawn
    from benchmarks.world import MEGABYTE, World

    place = World(str(world / "place"), os.path.realpath(sys.executable))
    cases = place.cases([MEGABYTE])
    launcher = spawn.Launcher(place.environment(), str(world / "output"))
    spawn.interleave(cases, launcher, warmup=0, rounds=1)

    place.check_records(1)
    with pytest.raises(spawn.BenchError):
        place.check_records(2)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["brimline/py.typed", "brimline-1.dist-info/RECORD"], None),
        (["brimline/__init__.py"], "py.typed is missing."),
        (["brimline/py.typed", "tests/conftest.py"], "tests/conftest.py does not belong there."),
    ],
)
def test_a_wheel_holds_the_package_and_nothing_else(names: list[str], problem: str | None) -> None:
    """The smoke test finds what is missing and what is too much."""
    from benchmarks import smoke

    assert smoke.problem_with(names) == problem
