"""What a compaction without a model costs, against an empty interpreter, and its peak of memory.

`python benchmarks/lossless.py [--samples N]`. The process is started as the mod starts it, with a
conversation of 150,000 and of 900,000 tokens on standard input, in the client's shape: every result
stands there four times. Everything happens in a temporary folder, and each start finds it empty, so
that every original has to be stored.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.spawn import Case, Launcher, interleave
from brimline.launch import bootstrap_code

ROOT = str(Path(__file__).resolve().parent.parent / "src")
# Tokens of the conversation, what it may take of an empty interpreter.
TARGETS = {150_000: 25, 900_000: 120}
LARGEST_MB = 250
_SEED = 17
_CHARACTERS_PER_TOKEN = 4
_RESULT_CHARACTERS = (200, 600, 1_800, 4_000, 12_000)
_WORDS = ("return", "config", "handler", "session", "parse", "→", "assert", "def", "import", "path")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=15, help="starts of each")
    parser.add_argument("--warmup", type=int, default=2, help="rounds that do not count")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="brimline-bench-") as folder:
        taken, peaks_mb = measure(folder, options.samples, options.warmup)
    print(render(taken, peaks_mb))


def measure(
    folder: str, samples: int, warmup: int
) -> tuple[dict[str, list[float]], dict[int, float]]:
    """Seconds by case, and the peak of memory by tokens of the conversation."""
    environment = {"HOME": folder, "BRIMLINE_HOME": f"{folder}/data", "PATH": os.defpath}
    launcher = Launcher(environment, f"{folder}/out")
    cases = [Case("empty interpreter", [sys.executable, "-IS", "-c", "pass"], os.devnull, _silent)]
    cases += [_case(folder, tokens) for tokens in TARGETS]
    taken = interleave(cases, launcher, warmup=warmup, rounds=samples)
    return taken, {tokens: _peak_mb(cases[at], environment) for at, tokens in enumerate(TARGETS, 1)}


def conversation(tokens: int) -> list[dict[str, Any]]:
    """Messages of so many tokens, one entry per block."""
    chance = random.Random(_SEED)
    messages: list[dict[str, Any]] = []
    characters = 0
    while characters < tokens * _CHARACTERS_PER_TOKEN:
        number = len(messages)
        text = _text(chance, chance.choice(_RESULT_CHARACTERS))
        use = {"tool_use_id": f"toolu_{number}", "tool": "Read", "isError": False}
        use |= {"input": {"file_path": f"/src/{number}.py"}, "text": text, "result": {"file": text}}
        answer = {name: use[name] for name in ("tool_use_id", "isError", "text", "result")}
        messages += [
            _entry(number, "assistant", text=_text(chance, 300)),
            _entry(number + 1, "assistant", toolUses=[use]),
            _entry(number + 2, "user", toolResults=[answer]),
        ]
        characters += len(text) + 300
    return messages


def render(taken: dict[str, list[float]], peaks_mb: dict[int, float]) -> str:
    """The figures for a page."""
    empty = statistics.median(taken["empty interpreter"])
    lines = ["| tokens | median ms | × empty | at most | peak MB | at most |"]
    lines.append("|---:|---:|---:|---:|---:|---:|")
    for tokens, most in TARGETS.items():
        middle = statistics.median(taken[_name(tokens)])
        figures = [f"{tokens:,}", f"{1e3 * middle:.0f}", f"{middle / empty:.1f}", str(most)]
        figures += [f"{peaks_mb[tokens]:.0f}", str(LARGEST_MB)]
        lines.append(f"| {' | '.join(figures)} |")
    return "\n".join([*lines, "", f"An empty interpreter takes {1e3 * empty:.1f} ms."])


def _case(folder: str, tokens: int) -> Case:
    """One start of the process; its input is written once, its data folder is new every time."""
    path = f"{folder}/{tokens}.json"
    request: dict[str, Any] = {
        "session": "bench",
        "cwd": folder,
        "trigger": "auto",
        "instructions": None,
    }
    request |= {"used_tokens": tokens, "messages": conversation(tokens)}
    Path(path).write_text(json.dumps(request), encoding="utf-8")
    arguments = [sys.executable, "-IS", "-c", bootstrap_code(ROOT), "mod", "compact"]
    prepare = lambda: shutil.rmtree(f"{folder}/data", ignore_errors=True)  # noqa: E731
    return Case(_name(tokens), arguments, path, _answered, prepare)


def _name(tokens: int) -> str:
    return f"a conversation of {tokens:,} tokens"


def _silent(output: bytes) -> str | None:
    return "printed something" if output else None


def _answered(output: bytes) -> str | None:
    return None if json.loads(output).get("results") else "passed"


def _peak_mb(case: Case, environment: dict[str, str]) -> float:
    """The largest resident size of one start, by the system's own account."""
    case.prepare()
    pid = os.posix_spawn(
        case.arguments[0],
        case.arguments,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, case.stdin, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ],
    )
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _entry(number: int, role: str, **fields: Any) -> dict[str, Any]:
    entry = {"role": role, "text": "", "toolUses": [], "toolResults": [], "handle": f"h{number}"}
    return entry | fields


def _text(chance: random.Random, characters: int) -> str:
    words: list[str] = []
    length = 0
    while length < characters:
        words.append(f"{chance.choice(_WORDS)}_{chance.randrange(1_000)}")
        length += len(words[-1]) + 1
    return " ".join(words)[:characters]


if __name__ == "__main__":
    main()
