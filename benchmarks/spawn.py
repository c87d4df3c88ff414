"""Starts processes in turn and times them from spawn to exit."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_SEED = 10


class BenchError(Exception):
    """The benchmark cannot be trusted or cannot run; the message says why in one sentence."""


class Case(NamedTuple):
    """One kind of process: how to start it and what it must print.

    `prepare` runs before every start, `check` after it and outside the time taken; `check` returns
    what is wrong with the output, or None.
    """

    name: str
    arguments: list[str]
    stdin: str
    check: Callable[[bytes], str | None]
    prepare: Callable[[], None] = lambda: None


class Launcher:
    """Starts cases with one environment and one file for their output."""

    def __init__(self, environment: dict[str, str], output: str) -> None:
        self.environment = environment
        self.output = output

    def time(self, case: Case) -> float:
        """Start a case once, wait for its end, check what it printed; returns seconds.

        Raises:
            BenchError: it failed or printed the wrong thing.
        """
        case.prepare()
        files = [
            (os.POSIX_SPAWN_OPEN, 0, case.stdin, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, self.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        program = case.arguments[0]
        begun = time.perf_counter()
        pid = os.posix_spawn(program, case.arguments, self.environment, file_actions=files)
        _, status = os.waitpid(pid, 0)
        taken = time.perf_counter() - begun
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise BenchError(f"{case.name} ended with exit code {code}.")
        wrong = case.check(Path(self.output).read_bytes())
        if wrong:
            raise BenchError(f"{case.name} {wrong}.")
        return taken


def interleave(
    cases: list[Case],
    launcher: Launcher,
    *,
    warmup: int,
    rounds: int,
    after_round: Callable[[], None] = lambda: None,
) -> dict[str, list[float]]:
    """Seconds of every case by name; each round starts every case once, in a new order.

    Raises:
        BenchError: a process failed or printed the wrong thing.
    """
    order = list(cases)
    shuffle = random.Random(_SEED).shuffle
    taken: dict[str, list[float]] = {case.name: [] for case in cases}
    for number in range(warmup + rounds):
        shuffle(order)
        for case in order:
            seconds = launcher.time(case)
            if number >= warmup:
                taken[case.name].append(seconds)
        after_round()
    return taken
