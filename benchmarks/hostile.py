"""Throws events, tool arguments and kills at an installed brimline, and looks for what breaks.

`python benchmarks/hostile.py` does it at full size: 20,000 random events against hooks and mod and
600 of them as processes, 5,000 argument sets made from the MCP tools' own schemas, 60 SIGKILLs
during commands. `--events`, `--processes`, `--arguments`, `--kills` and `--seed` make it smaller or
different. Everything happens in a temporary home in which brimline was used for everything.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from tests import console_world
from tests.damage import test_damage, whole_world, zygote

from brimline.bulk import contents
from brimline.fast import paths
from brimline.fast.json import parse_object
from brimline.hooks import statusline, table
from brimline.hooks.entry import respond
from brimline.mcp import tools
from brimline.mod import request
from brimline.testing import SessionBuilder, bash_event, event, statusline_event

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SLOW_S = 8.0
# What a model of this project must never be handed: another project said it.
_OTHERS = "cerulean-walrus-7731"
_LARGEST_ANSWER = 400_000
_TEXTS = [
    *("", " ", "\0", "\ud800", "é\u202e\x1b[31m", "../../../etc/passwd", "/", "~", "last", "m1"),
    *("sha256:" + "0" * 64, "sha256:", "0" * 8, "-1:", "1:2", "9" * 400, 'a OR b NEAR/3 "', "*"),
    *("'; DROP TABLE entries; --", "{" * 2_000, "x" * 200_000, "\n" * 5_000, "</system-reminder>"),
    *("[brimline stored 5 bytes: sha256:" + "a" * 64 + "]", "get", "add", "/dev/zero", "brim:keep"),
    *("/brim:status", "/brim:recall x", "CON", "%s%n", "compact", "auto", "resume", _OTHERS[:4]),
]
_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 2**63, 10**30, 1e308, -0.0, [], {}, [[]], {"a": {"b": [None]}}),
    *([None] * 300, {str(n): n for n in range(300)}, ["x"], {"file_path": "/proc/self/mem"}),
]
# A command that is killed, and one that must put things right afterwards.
_KILLED = {
    "install --yes": "install --yes",
    "uninstall --yes": "install --yes",
    f"session purge {whole_world.SESSION} --yes": f"session restore {whole_world.SESSION} --yes",
    f"session restore {whole_world.OLDER} --yes": f"session restore {whole_world.OLDER} --yes",
    f"forget --session {whole_world.OLDER} --yes": f"forget --session {whole_world.OLDER} --yes",
    "memory index --rebuild": "memory index",
    "mod compact": "status",
    "hook SessionStart": "status",
}


def main() -> None:
    """Run all of it and print what was found; a violation is a failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = {"events": 20_000, "processes": 600, "arguments": 5_000, "kills": 60, "seed": 1}
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        print(json.dumps(_inside(chosen.inside, chosen)))
        return
    violations: list[str] = []
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as folder:
        place = Path(folder).resolve() / "w"
        environment = _make_world(place)
        for part in [name for name in ("events", "arguments") if vars(chosen)[name]]:
            sizes = dict.fromkeys(sizes, 0) | {part: vars(chosen)[part], "seed": chosen.seed}
            words = [f"--{name}={size}" for name, size in sizes.items()]
            program = [sys.executable, __file__, "--inside", str(place), *words]
            zygote.put_back(str(place.with_name("pristine")), str(place))
            done = subprocess.run(program, env=environment, stdout=subprocess.PIPE, check=True)
            report = json.loads(done.stdout)
            violations += report.pop("violations")
            print(report, flush=True)
        chance = random.Random(chosen.seed)
        for attack in (_as_processes, _kills):
            report = attack(place, environment, chance, chosen)
            violations += report.pop("violations")
            print(report, flush=True)
    print(f"{len(violations)} violations", *dict.fromkeys(violations), sep="\n")
    sys.exit(bool(violations))


def _make_world(place: Path) -> dict[str, str]:
    """The home, a session of another project with a secret, and a copy of all of it beside."""
    place.mkdir()
    environment = console_world.environment(place) | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    program = [sys.executable, whole_world.__file__, str(place)]
    subprocess.run(program, env=environment, check=True)
    elsewhere = place / "home/dev/elsewhere"
    elsewhere.mkdir()
    client = place / "home/dev/.claude/projects" / str(elsewhere).replace("/", "-")
    name = "55555555-0000-4000-8000-000000000000"
    other = SessionBuilder(f"{client}/{name}.jsonl", name, str(elsewhere))
    other.prompt(f"The password is {_OTHERS}.")
    other.reply(5_000)
    index = [sys.executable, "-m", "brimline", "memory", "index"]
    subprocess.run(index, env=environment, cwd=elsewhere, check=True, stdout=subprocess.DEVNULL)
    shutil.copytree(place, place.with_name("pristine"), symlinks=True)
    return environment


def _inside(place: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """In a process that has the world's environment: what asks no process of its own."""
    os.chdir(place / console_world.PROJECT)
    chance = random.Random(chosen.seed)
    if chosen.events:
        return _events(place, chance, chosen.events)
    return _arguments(chance, chosen.arguments)


def _events(place: Path, chance: random.Random, count: int) -> dict[str, Any]:
    """Hooks, status line and mod, in this process."""
    home, found, slowest, refused = paths.data_dir(), list[str](), 0.0, 0
    before = _outside(place)
    for number in range(count):
        name, payload = _random_event(place, chance)
        raw = json.dumps(payload).encode()
        if chance.random() < 0.02:
            raw = raw[: chance.randrange(len(raw))]
        begun = time.monotonic()
        try:
            answer = _answer(name, raw, home)
        except Exception:  # noqa: BLE001 - the process around it ends in silence then
            refused, answer = refused + 1, b""
        except BaseException as error:  # noqa: BLE001 - this is what is looked for
            found.append(f"{name}: {type(error).__name__} escaped")
            answer = b""
        slowest = max(slowest, time.monotonic() - begun)
        found += [f"{name}: {one}" for one in _wrong_answer(name, answer)]
        if number % 1_000 == 999 and (changed := _changed(before, _outside(place))):
            found += [f"event {number}: changed {one}" for one in changed]
            before = _outside(place)
    if slowest > SLOW_S:
        found.append(f"an event took {slowest:.1f} s")
    return {"events": count, "refused": refused, "slowest_s": round(slowest, 2)} | {
        "violations": found
    }


def _answer(name: str, raw: bytes, home: str) -> bytes:
    if name == "statusline":
        return statusline.respond(raw, home)
    if name.startswith("mod "):
        return json.dumps(request.respond(name[4:], parse_object(raw), home)).encode()
    return respond(name, raw, home)


def _wrong_answer(name: str, answer: bytes) -> Iterator[str]:
    """What the client could not take for an answer."""
    if not answer or name in ("statusline", "PreCompact"):
        if name == "statusline" and answer.count(b"\n") > 1:
            yield "more than one line"
        return
    try:
        document = json.loads(answer)
    except ValueError:
        yield "no JSON"
        return
    if not isinstance(document, dict):
        yield "no object"
    elif len(str(document.get("hookSpecificOutput", {}).get("additionalContext", ""))) > 9_500:
        yield "too long for the window"


def _random_event(place: Path, chance: random.Random) -> tuple[str, dict[str, Any]]:
    """A real event with some of its fields replaced, taken out or added."""
    mods = [f"mod {name}" for name in test_damage.MOD_REQUESTS]
    name = chance.choice([*table.EVENTS, *table.EVENTS, "statusline", *mods])
    session = SessionBuilder(_transcript(place), whole_world.SESSION, os.getcwd())
    payload: dict[str, Any]
    if name.startswith("mod "):
        about = {"session": session.session_id, "cwd": session.cwd, "columns": 80, "rows": 30}
        payload = test_damage.MOD_REQUESTS[name[4:]] | about
    elif name == "statusline":
        payload = statusline_event(session, 200_000, 90_000)
    else:
        made = bash_event(session) if name.startswith("PostTool") else event(name, session)
        payload = made | chance.choice(test_damage.EVENTS.get(name, [{}]))
    payload = json.loads(json.dumps(payload))
    for _ in range(chance.randrange(4)):
        _spoil(payload, chance)
    return name, payload


def _spoil(document: Any, chance: random.Random) -> None:
    """Change one place in a document, at the top or further down."""
    keys = list(document) if isinstance(document, dict) else list(range(len(document)))
    if not keys:
        return
    key = chance.choice(keys)
    if isinstance(document[key], dict | list) and document[key] and chance.random() < 0.6:
        _spoil(document[key], chance)
    elif isinstance(document, dict) and chance.random() < 0.15:
        del document[key]
    else:
        document[key] = _hostile(chance)


def _hostile(chance: random.Random) -> Any:
    return copy.deepcopy(chance.choice(_TEXTS if chance.random() < 0.6 else _VALUES))


def _arguments(chance: random.Random, count: int) -> dict[str, Any]:
    """Every tool, by its own schema: valid shapes with hostile values, and invalid ones."""
    found, failed, slowest = list[str](), 0, 0.0
    for number in range(count):
        tool = tools.TOOLS[number % len(tools.TOOLS)]
        arguments = _arguments_for(tool["inputSchema"], chance)
        begun = time.monotonic()
        try:
            told, is_failure = tools.answer(tool["name"], arguments)
        except BaseException as error:  # noqa: BLE001 - this is what is looked for
            found.append(f"{tool['name']}: {type(error).__name__} escaped: {str(arguments)[:200]}")
            continue
        slowest, failed = max(slowest, time.monotonic() - begun), failed + is_failure
        if "see `brimline doctor`" in told or "Traceback" in told:
            found.append(f"{tool['name']}: {told[:200]}: {str(arguments)[:200]}")
        if len(told) > _LARGEST_ANSWER:
            found.append(f"{tool['name']}: {len(told):,} characters")
        if _OTHERS in told and "elsewhere" not in tool["name"] and _OTHERS not in str(arguments):
            found.append(f"{tool['name']} told of another project: {str(arguments)[:200]}")
    if slowest > SLOW_S:
        found.append(f"a call took {slowest:.1f} s")
    return {
        "argument_sets": count,
        "tools": len(tools.TOOLS),
        "refused_in_a_sentence": failed,
        "slowest_s": round(slowest, 2),
        "violations": found,
    }


def _arguments_for(schema: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Some of the properties, most of the time of the type that the schema asks for."""
    made: dict[str, Any] = {}
    for name, told in schema.get("properties", {}).items():
        if name not in schema.get("required", ()) and chance.random() < 0.5:
            continue
        kind = told.get("type", "string")
        words = [part for part in str(told.get("description", "")).split("|") if " " not in part]
        valid = {
            "string": chance.choice([*_TEXTS, *words, "feeds", "password", whole_world.SESSION]),
            "integer": chance.choice([0, 5, -1, 10, 2**70]),
            "boolean": chance.random() < 0.5,
        }
        made[name] = valid.get(kind) if chance.random() < 0.85 else _hostile(chance)
    if chance.random() < 0.05:
        made[chance.choice(_TEXTS)[:50] or "more"] = _hostile(chance)
    return made


def _as_processes(
    place: Path, environment: dict[str, str], chance: random.Random, chosen: argparse.Namespace
) -> dict[str, Any]:
    """The same events, each in a process as the client starts it."""
    os.chdir(place / console_world.PROJECT)
    launcher, found = place / "home/dev/.claude/brimline/bin/hook", list[str]()
    for _ in range(chosen.processes):
        name, payload = _random_event(place, chance)
        program = [str(launcher), *name.split()]
        given = json.dumps(payload).encode()
        clean = {"PATH": "/usr/bin:/bin", "HOME": environment["HOME"]}
        clean["CLAUDE_CONFIG_DIR"] = environment["CLAUDE_CONFIG_DIR"]
        try:
            done = subprocess.run(
                program, input=given, env=clean, capture_output=True, timeout=30, check=False
            )
        except subprocess.TimeoutExpired:
            found.append(f"process {name}: did not end")
            continue
        if done.returncode or done.stderr:
            found.append(f"process {name}: {done.returncode} {done.stderr[-200:]!r}")
        found += [f"process {name}: {one}" for one in _wrong_answer(name, done.stdout)]
    return {"processes": chosen.processes, "violations": found}


def _kills(
    place: Path, environment: dict[str, str], chance: random.Random, chosen: argparse.Namespace
) -> dict[str, Any]:
    """SIGKILL at random moments; then all must be whole, and the next command work."""
    pristine, longest, found, killed = place.with_name("pristine"), dict[str, float](), [], 0
    tries = 0
    while killed < chosen.kills:
        line, tries = list(_KILLED)[tries % len(_KILLED)], tries + 1
        zygote.put_back(str(pristine), str(place))
        if line not in longest:
            begun = time.monotonic()
            _start(line, place, environment).communicate(_stdin(line, place), 120)
            longest[line] = time.monotonic() - begun
            zygote.put_back(str(pristine), str(place))
        process = _start(line, place, environment)
        moment = chance.uniform(0.02, 0.95 * longest[line])
        try:
            process.communicate(_stdin(line, place), moment)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
        wrong = list(_what_is_torn(place, pristine))
        after = _start(_KILLED[line], place, environment)
        _, told = after.communicate(b"", 120)
        if after.returncode or b"Traceback" in told:
            wrong.append(f"the next command: {after.returncode} {told[-300:]!r}")
        wrong += _what_is_torn(place, pristine)
        found += [f"killed {line} after {moment:.2f} s: {one}" for one in wrong]
    return {"kills": killed, "ended_before": tries - killed, "violations": found}


def _start(line: str, place: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "brimline", *line.split()]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(program, cwd=place / console_world.PROJECT, env=environment, **pipes)


def _stdin(line: str, place: Path) -> bytes:
    session = SessionBuilder(
        _transcript(place), whole_world.SESSION, str(place / console_world.PROJECT)
    )
    if line == "mod compact":
        about = {"session": session.session_id, "cwd": session.cwd}
        return json.dumps(test_damage.MOD_REQUESTS["compact"] | about).encode()
    if line.startswith("hook"):
        return json.dumps(event("SessionStart", session, source="resume")).encode()
    return b""


def _what_is_torn(place: Path, pristine: Path) -> Iterator[str]:
    """Settings, transcripts and blobs that are neither what they were nor whole."""
    settings = place / "home/dev/.claude/settings.json"
    try:
        json.loads(settings.read_bytes())
    except (OSError, ValueError) as error:
        yield f"settings: {error}"
    for kept in pristine.rglob("projects/**/*.jsonl"):
        now = place / kept.relative_to(pristine)
        if not now.exists():
            yield f"{now.name} is gone"
        elif now.read_bytes() != kept.read_bytes():
            yield from (f"{now.name}: {why}" for why in _torn_rows(now))
    home = str(place / "home/dev/.claude/brimline")
    for path in Path(home, "store/blobs").glob("*/*"):
        key = f"sha256:{path.parent.name}{path.name}"
        try:
            contents.read_content(home, key, touch=False)
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            yield f"{key[:20]}: {error}"


def _torn_rows(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    try:
        if not data.endswith(b"\n"):
            yield "ends in a torn row"
        for line in data.splitlines():
            json.loads(line)
    except ValueError as error:
        yield f"a row is torn: {error}"


def _transcript(place: Path) -> str:
    return str(next((place / "home/dev/.claude/projects").rglob(f"{whole_world.SESSION}.jsonl")))


def _outside(place: Path) -> dict[str, tuple[int, int]]:
    """Every file outside of the data folder, with size and time."""
    own = place / "home/dev/.claude/brimline"
    return {
        str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in place.rglob("*")
        if own not in (path, *path.parents) and not path.is_dir()
    }


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return sorted(path for path in before.keys() | after if before.get(path) != after.get(path))


if __name__ == "__main__":
    main()
