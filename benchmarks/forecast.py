"""Measures the forecast on recorded segments: error and coverage by distance to compaction.

    python benchmarks/forecast.py growth.csv
    python benchmarks/forecast.py ~/.claude/projects

Takes a table (columns `model`, `ended_by`, `occupancy_tokens_per_request`) or transcripts, files or
folders. Only segments ended by an automatic compaction are judged; all of them are learned from.
A segment is judged at its first request within the distance; the truth is the number of requests
from there to its last. `learned` knows nothing but the other segments, `shipped` nothing but what
brimline ships.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import models
from brimline.gauge import forecast as forecasts
from brimline.gauge.window import (
    COMPACTION_RESERVE_TOKENS,
    DEFAULT_WINDOW_TOKENS,
    window_proved_by_occupancy,
)
from brimline.transcript.row import is_compaction_row, usage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DISTANCES = (45, 30, 20, 15, 10, 7, 5, 3)
LARGEST_ERRORS = {30: 0.30, 15: 0.32}
COVERAGE_LIMITS = (0.75, 0.90)
# Where clients compacted a window of 200,000: until 2.1.20, and since.
CLIENT_POINTS = (155_000, 167_000)
HEADER = """\
             median relative error                              coverage           interval
points    n  last 3  last 20  population  shipped  learned   shipped  learned  width/ops"""
OCCUPANCIES = "occupancy_tokens_per_request"


class Segment(NamedTuple):
    """Requests between two compactions."""

    model: str
    ended_by: str
    occupancies: list[int]


class Sample(NamedTuple):
    """One moment of one segment, with what was to come."""

    segment: Segment
    seen: list[int]
    tokens_left: int
    truth: int


class Learned(NamedTuple):
    """What the other segments teach: a usual speed, and their mean growth per request."""

    usual_speed: float
    mean_growth: float


class Case(NamedTuple):
    """A sample and what may be known when it is judged."""

    sample: Sample
    learned: Learned


class Score(NamedTuple):
    """How one forecaster did on one sample."""

    error: float
    covered: bool
    width: float


class BadInputError(Exception):
    """The input cannot be measured; the message says why."""


def main() -> int:
    """Print the table; with `--check`, fail where a target is missed."""
    arguments = _parser().parse_args()
    try:
        point = _point_rule(arguments.point)
        segments = load(arguments.paths)
    except BadInputError as error:
        print(error, file=sys.stderr)
        return 2
    judged = sum(segment.ended_by == "compaction" for segment in segments)
    print(f"{judged} segments ended by an automatic compaction, {len(segments)} in all\n")
    missed = report(segments, point)
    if arguments.check and missed:
        print("\n" + "\n".join(missed), file=sys.stderr)
        return 1
    return 0


def report(segments: list[Segment], point: str | int) -> list[str]:
    """Print one line per distance; returns the targets that were missed, a sentence each."""
    judged = [
        (segment, _learn_from_others(segments, index))
        for index, segment in enumerate(segments)
        if segment.ended_by == "compaction"
    ]
    print(HEADER)
    missed = []
    for distance in DISTANCES:
        cases = [
            Case(sample, learned)
            for segment, learned in judged
            if (sample := sample_at(segment, distance, point))
        ]
        if not cases:
            continue
        shipped = [_judge(case.sample, _shipped(case)) for case in cases]
        learned_scores = [_judge(case.sample, case.learned.usual_speed) for case in cases]
        error, coverage = _error(learned_scores), _coverage(learned_scores)
        print(
            f"{distance:6} {len(cases):4} "
            f"{_speed_error(cases, lambda case: _mean_growth(case, 3)):7.2f} "
            f"{_speed_error(cases, lambda case: _mean_growth(case, 20)):8.2f} "
            f"{_speed_error(cases, lambda case: case.learned.mean_growth):11.2f} "
            f"{_error(shipped):8.2f} {error:8.2f} "
            f"{_coverage(shipped):9.2f} {coverage:8.2f} "
            f"{median([score.width for score in learned_scores]):10.2f}"
        )
        if distance in LARGEST_ERRORS:
            missed += _missed(distance, error, coverage)
    return missed


def sample_at(segment: Segment, distance: float, point: str | int) -> Sample | None:
    """The first request within the distance of the point; None without a past or a future."""
    final = segment.occupancies[-1]
    window = window_proved_by_occupancy(final) or DEFAULT_WINDOW_TOKENS
    target = _point_of(final, point)
    for index, occupancy in enumerate(segment.occupancies):
        tokens_left = target - occupancy
        if tokens_left > distance * window / 100:
            continue
        truth = len(segment.occupancies) - 1 - index
        if index == 0 or truth == 0 or tokens_left <= 0:
            return None
        return Sample(segment, segment.occupancies[: index + 1], tokens_left, truth)
    return None


def load(paths: list[str]) -> list[Segment]:
    """Every segment of the tables, transcripts and folders named.

    Raises:
        BadInputError: a file cannot be read, or no segment was ended by an automatic compaction.
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
    if not any(segment.ended_by == "compaction" for segment in segments):
        raise BadInputError(
            f"None of the {len(segments)} segments found ended in an automatic compaction: "
            "give more transcripts, or a table with `compaction` in its column `ended_by`."
        )
    return segments


def _files(paths: list[str]) -> Iterator[str]:
    for path in paths:
        if not os.path.isdir(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                if name.endswith(".jsonl"):
                    yield os.path.join(folder, name)


def _learn_from_others(segments: list[Segment], index: int) -> Learned:
    """What the other segments teach about the one at `index`."""
    others = segments[:index] + segments[index + 1 :]
    statistics = forecasts.log_speeds_by_generation(
        [(_generation(other), other.occupancies) for other in others]
    )
    tokens = sum(other.occupancies[-1] - other.occupancies[0] for other in others)
    operations = sum(len(other.occupancies) - 1 for other in others)
    usual = forecasts.usual_tokens_per_request(_generation(segments[index]), statistics, shipped={})
    return Learned(usual, max(1.0, tokens / max(1, operations)))


def _generation(segment: Segment) -> str:
    return models.lookup_model(segment.model).generation


def _shipped(case: Case) -> float:
    return forecasts.usual_tokens_per_request(_generation(case.sample.segment))


def _judge(sample: Sample, usual_speed: float) -> Score:
    answer = forecasts.forecast(sample.seen, sample.tokens_left, usual_speed)
    if answer is None:
        raise AssertionError("a sample has two readings")
    return Score(
        abs(answer.ops - sample.truth) / sample.truth,
        answer.low <= sample.truth <= answer.high,
        (answer.high - answer.low) / answer.ops,
    )


def _error(scores: list[Score]) -> float:
    return median([score.error for score in scores])


def _coverage(scores: list[Score]) -> float:
    return fmean([score.covered for score in scores])


def _speed_error(cases: list[Case], speed: Callable[[Case], float]) -> float:
    """Median relative error of the tokens left divided by a speed."""
    return median(
        [
            abs(case.sample.tokens_left / speed(case) - case.sample.truth) / case.sample.truth
            for case in cases
        ]
    )


def _mean_growth(case: Case, operations: int) -> float:
    recent = case.sample.seen[-operations - 1 :]
    return max(1.0, (recent[-1] - recent[0]) / (len(recent) - 1))


def _missed(distance: int, error: float, coverage: float) -> list[str]:
    low, high = COVERAGE_LIMITS
    sentences = []
    largest = LARGEST_ERRORS[distance]
    if error > largest:
        sentences.append(
            f"At {distance} points the median relative error is {error:.2f}, over {largest}."
        )
    if not low <= coverage <= high:
        sentences.append(
            f"At {distance} points the coverage is {coverage:.2f}, not within {low} and {high}."
        )
    return sentences


def _point_rule(text: str) -> str | int:
    if text in ("final", "client"):
        return text
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise BadInputError(f"--point takes final, client or a number of tokens, not {text!r}.")


def _point_of(final: int, point: str | int) -> int:
    if isinstance(point, int):
        return point
    if point == "final":
        return final
    larger = window_proved_by_occupancy(final)
    if larger:
        return larger - COMPACTION_RESERVE_TOKENS
    return min(CLIENT_POINTS, key=lambda tokens: abs(tokens - final))


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
        "--point",
        default="final",
        help="where compaction is taken to be: `final` (each segment's last occupancy), `client` "
        "(155,000 or 167,000 of 200,000, the nearer one), or a number of tokens",
    )
    parser.add_argument(
        "--check", action="store_true", help="exit 1 where `learned` misses its targets"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
