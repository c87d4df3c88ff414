"""What a hook costs: interleaved process starts, told as ratios to an empty interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from benchmarks import report, spawn, world
from brimline.errors import BrimlineError
from brimline.install import pythons

SIZES = [world.MEGABYTE, 100 * world.MEGABYTE, 1_000 * world.MEGABYTE]
QUICK_SIZES = [world.MEGABYTE, 2 * world.MEGABYTE]
QUICK_SAMPLES = 3
QUICK_WARMUP = 1
_HERE = os.path.dirname(os.path.abspath(__file__))


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--samples", type=click.IntRange(2), default=120, help="Starts of each process.")
@click.option("--warmup", type=click.IntRange(0), default=5, help="Rounds that do not count.")
@click.option("--quick", is_flag=True, help="A few small samples, to see that it works.")
@click.option("--output", metavar="FILE", help="Where to write  [default: RESULTS.md beside it].")
def main(samples: int, warmup: int, quick: bool, output: str | None) -> None:
    """Time hooks against an empty interpreter; print the results and write them to a file.

    \b
    Example:
      python benchmarks/run.py --samples 200
      python benchmarks/run.py --quick --output /tmp/results.md
    """
    if quick:
        samples, warmup = QUICK_SAMPLES, QUICK_WARMUP
    # Asked to end, the folder with its gigabyte must go as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run = measure(samples, warmup, QUICK_SIZES if quick else SIZES)
        page = report.render(run, _other_results())
        if output or not quick:
            Path(output or f"{_HERE}/RESULTS.md").write_text(page, encoding="utf-8")
    except (spawn.BenchError, BrimlineError, OSError, subprocess.SubprocessError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(page, nl=False)


def measure(samples: int, warmup: int, sizes: list[int]) -> report.Run:
    """Build the world, time everything in it, take it down.

    Raises:
        BenchError: a process failed or printed the wrong thing.
        BrimlineError: no interpreter can run hooks.
        OSError: a file cannot be written.
    """
    forecast = _forecast()
    python = pythons.choose_interpreter()
    with tempfile.TemporaryDirectory(prefix="brimline-bench-") as folder:
        fitting, skipped = _fitting(folder, sizes)
        click.echo("Preparing the sessions", err=True)
        place = world.World(folder, python)
        cases = place.cases(fitting)
        launcher = spawn.Launcher(place.environment(), f"{folder}/output")
        load_before = os.getloadavg()[0]
        rounds = warmup + samples
        with click.progressbar(length=rounds, label="Timing", file=sys.stderr) as bar:
            seconds = spawn.interleave(
                cases, launcher, warmup=warmup, rounds=samples, after_round=lambda: bar.update(1)
            )
        place.check_records(rounds)
    return report.Run(
        python=_version(python),
        cores=os.cpu_count() or 1,
        load_before=load_before,
        load_after=os.getloadavg()[0],
        warmup=warmup,
        sizes=fitting,
        skipped=skipped,
        seconds=seconds,
        forecast=forecast,
        command=_command(samples, warmup, with_forecast=forecast is not None),
    )


def _other_results() -> list[str]:
    """What other benchmarks found, each on a page of its own that is put behind this one."""
    pages = sorted(Path(_HERE, "results").glob("*.md"))
    return [page.read_text(encoding="utf-8").strip() for page in pages]


def _fitting(folder: str, sizes: list[int]) -> tuple[list[int], list[str]]:
    """The sizes that the disk has room for, one after the other, and a sentence for the others."""
    fitting: list[int] = []
    skipped = []
    for size in sizes:
        # The first size is needed four times: twice quiet, status line, crossing.
        if world.has_room(folder, sum(fitting) + size + 3 * sizes[0]):
            fitting.append(size)
        else:
            skipped.append(f"{world.size_name(size)} was skipped: the disk has no room for it.")
    if not fitting:
        raise spawn.BenchError("The disk has no room for a session: point TMPDIR to another one.")
    for sentence in skipped:
        click.echo(sentence, err=True)
    return fitting, skipped


def _version(python: str) -> str:
    done = subprocess.run(
        [python, "-I", "-S", "-V"], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def _forecast() -> str | None:
    """The forecast's table where `BENCH_GROWTH` names recorded segments."""
    table = os.environ.get("BENCH_GROWTH")
    if not table:
        return None
    done = subprocess.run(
        [sys.executable, f"{_HERE}/forecast.py", table],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode:
        raise spawn.BenchError((done.stderr.strip().splitlines() or ["The forecast failed."])[-1])
    return done.stdout.strip()


def _command(samples: int, warmup: int, *, with_forecast: bool) -> str:
    growth = "BENCH_GROWTH=growth.csv " if with_forecast else ""
    return f"{growth}python benchmarks/run.py --samples {samples} --warmup {warmup}"
