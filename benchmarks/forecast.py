"""Measures the forecast on recorded segments: error, coverage and jumps by distance.

    python benchmarks/forecast.py growth.csv
    python benchmarks/forecast.py ~/.claude/projects

Takes a table (columns `model`, `ended_by`, `occupancy_tokens_per_request`) or transcripts, files or
folders. At every request from the second on it is asked how many more add so many tokens; the truth
is the first that has. What is usual is learned from the other segments. A jump is an answer more
than twice or less than half of that at the request before, for the same distance.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from itertools import pairwise
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.gauge import forecast as forecasts
from brimline.transcript.row import is_compaction_row, usage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    # Low end, middle and high end by the occupancies seen, the tokens left and what is usual.
    Rule = Callable[[list[int], int, float], tuple[float, float, float]]

# The largest median error by tokens ahead.
LARGEST_ERRORS = {60_000: 0.34, 30_000: 0.38, 12_000: 0.45}
COVERAGE_LIMITS = (0.76, 0.88)
MOST_JUMPS = 0.005
JUMP_FACTOR = 2
OCCUPANCIES = "occupancy_tokens_per_request"


class Segment(NamedTuple):
    """Requests between two compactions."""

    model: str
    ended_by: str
    occupancies: list[int]


class Score(NamedTuple):
    """How a rule did at a distance."""

    cases: int
    median: float
    p80: float
    coverage: float
    jumps: float


class BadInputError(Exception):
    """The input cannot be measured; the message says why."""


def main() -> int:
    """Print the table; with `--check`, fail where a target is missed."""
    arguments = _parser().parse_args()
    try:
        segments = load(arguments.paths)
    except BadInputError as error:
        print(error, file=sys.stderr)
        return 2
    missed = report(segments)
    if arguments.check and missed:
        print("\n" + "\n".join(missed), file=sys.stderr)
        return 1
    return 0


def report(segments: list[Segment]) -> list[str]:
    """Print one line per distance and rule; returns the targets that were missed."""
    cases = list(zip(segments, _usual_by_others(segments), strict=True))
    print(f"{len(segments)} segments, {sum(len(one.occupancies) for one in segments):,} requests\n")
    print("tokens ahead  rule            cases  median   p80  coverage  jumps")
    missed = []
    for distance in LARGEST_ERRORS:
        for name, rule in RULES.items():
            score = _score(cases, distance, rule)
            coverage = f"{score.coverage:.2f}" if rule is _by_forecast else ""
            print(
                f"{distance:12,}  {name:14} {score.cases:6,} {score.median:7.2f} {score.p80:5.2f} "
                f"{coverage:>9} {score.jumps:6.1%}"
            )
            if rule is _by_forecast:
                missed += _missed(distance, score)
    return missed


def _usual_by_others(segments: list[Segment]) -> list[float]:
    """What is usual by all segments but each one."""
    return [
        forecasts.learn_usual_tokens(
            other.occupancies for other in segments[:index] + segments[index + 1 :]
        )
        for index in range(len(segments))
    ]


def _score(cases: list[tuple[Segment, float]], distance: int, rule: Rule) -> Score:
    errors, covered, jumps = [], [], []
    for segment, usual in cases:
        occupancies, answers = segment.occupancies, []
        for index in range(1, len(occupancies)):
            low, middle, high = rule(occupancies[: index + 1], distance, usual)
            answers.append(middle)
            truth = _requests_until(occupancies, index, distance)
            if truth:
                errors.append(abs(middle - truth) / truth)
                covered.append(low <= truth <= high)
        jumps += [
            not 1 / JUMP_FACTOR <= after / before <= JUMP_FACTOR
            for before, after in pairwise(answers)
        ]
    fifths = quantiles(errors, n=10)
    return Score(len(errors), fifths[4], fifths[7], fmean(covered), fmean(jumps))


def _requests_until(occupancies: list[int], index: int, distance: int) -> int | None:
    """How many requests later so many tokens more are in use; None where they never are."""
    for later in range(index + 1, len(occupancies)):
        if occupancies[later] - occupancies[index] >= distance:
            return later - index
    return None


def _by_forecast(seen: list[int], left: int, usual: float) -> tuple[float, float, float]:
    answer = forecasts.forecast(seen, left, usual)
    if answer is None:
        raise AssertionError("a case has two readings")
    return answer.low, answer.ops, answer.high


def _by_last_growths(count: int) -> Rule:
    def divide(seen: list[int], left: int, _usual: float) -> tuple[float, float, float]:
        recent = seen[-count - 1 :]
        middle = left / max(1.0, (recent[-1] - recent[0]) / (len(recent) - 1))
        return 0, middle, middle

    return divide


def _by_usual(_seen: list[int], left: int, usual: float) -> tuple[float, float, float]:
    return 0, left / usual, left / usual


RULES: dict[str, Rule] = {
    "last three": _by_last_growths(3),
    "last ten": _by_last_growths(10),
    "usual": _by_usual,
    "forecast": _by_forecast,
}


def _missed(distance: int, score: Score) -> list[str]:
    (low, high), largest = COVERAGE_LIMITS, LARGEST_ERRORS[distance]
    targets = (
        (score.median <= largest, f"the median error is {score.median:.2f}, over {largest}"),
        (
            low <= score.coverage <= high,
            f"the coverage is {score.coverage:.2f}, not within {low} and {high}",
        ),
        (score.jumps <= MOST_JUMPS, f"{score.jumps:.1%} jump, over {MOST_JUMPS:.1%}"),
    )
    return [f"{distance:,} tokens ahead {text}." for is_met, text in targets if not is_met]


def load(paths: list[str]) -> list[Segment]:
    """Every segment of the tables, transcripts and folders named.

    Raises:
        BadInputError: a file cannot be read, or there are too few requests.
    """
    segments: list[Segment] = []
    for path in _files(paths):
        read = _read_transcript if path.endswith(".jsonl") else _read_table
        try:
            segments += read(path)
        except OSError as error:
            raise BadInputError(f"Cannot read {path}: {error.strerror}.") from None
        except (csv.Error, UnicodeDecodeError):
            raise BadInputError(f"{path} is neither a table in CSV nor a .jsonl file.") from None
    if not any(_requests_until(one.occupancies, 1, max(LARGEST_ERRORS)) for one in segments):
        raise BadInputError(f"None of the {len(segments)} segments found is long enough.")
    return segments


def _files(paths: list[str]) -> Iterator[str]:
    for path in paths:
        if not os.path.isdir(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                if name.endswith(".jsonl"):
                    yield os.path.join(folder, name)


def _read_table(path: str) -> list[Segment]:
    with open(path, encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        lacking = {"model", "ended_by", OCCUPANCIES} - set(table.fieldnames or ())
        if lacking:
            raise BadInputError(f"{path} has no column {', '.join(sorted(lacking))}.")
        segments = []
        for row in table:
            try:
                occupancies = [int(text) for text in row[OCCUPANCIES].split()]
            except (AttributeError, ValueError):
                raise BadInputError(
                    f"{path}, line {table.line_num}: {OCCUPANCIES} takes whole numbers "
                    "separated by spaces."
                ) from None
            if len(occupancies) > 1:
                segments.append(Segment(row["model"], row["ended_by"], occupancies))
        return segments


def _read_transcript(path: str) -> list[Segment]:
    segments: list[Segment] = []
    model, occupancies, known = "", [], set()
    for row in _rows(path):
        usage = usage_of(row)
        if usage and (usage.message_id is None or usage.message_id not in known):
            known.add(usage.message_id)
            occupancies.append(usage.prompt_tokens)
            model = usage.model or model
        elif is_compaction_row(row):
            segments.append(Segment(model, _ended_by(row), occupancies))
            occupancies = []
    segments.append(Segment(model, "end", occupancies))
    return [segment for segment in segments if len(segment.occupancies) > 1]


def _rows(path: str) -> Iterator[Any]:
    """Every JSON object of a transcript, also where one line holds two; torn lines are skipped."""
    decoder = json.JSONDecoder()
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            yield from _objects(decoder, line.strip())


def _objects(decoder: json.JSONDecoder, text: str) -> Iterable[Any]:
    found = []
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            break
        found.append(value)
        text = text[end:].lstrip()
    return found


def _ended_by(row: dict[str, Any]) -> str:
    metadata = row.get("compactMetadata")
    trigger = metadata.get("trigger") if isinstance(metadata, dict) else None
    return "compaction" if trigger == "auto" else str(trigger or "unknown")


def _parser() -> argparse.ArgumentParser:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("BENCH_GROWTH")
    parser.add_argument(
        "paths",
        nargs="*" if default else "+",
        default=[default] if default else None,
        help="a table, transcripts or folders of transcripts (default: $BENCH_GROWTH)",
    )
    parser.add_argument(
        "--check", action="store_true", help="exit 1 where the forecast misses its targets"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
