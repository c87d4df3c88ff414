"""What holds for every session: a purge twice is a purge once, and a restore undoes it."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.session import purge as purging
from brimline.session import restore as restoring
from brimline.session.purge import Options
from brimline.testing import SessionBuilder
from brimline.transcript import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from brimline.session.purge import Plan

LONG_AGO = 1_700_000_000
QUIET_S = 0.005
thorough = settings(max_examples=120, deadline=None, database=None)

SIZES = st.sampled_from([0, 10, 300, 900, 1_200, 4_000, 6_000])
WORDS = st.sampled_from(
    ["plain ", "naïve é ", 'quo"te \\ ', "\x00\x1f\u2028", "測試", "\U0001f600"]
)
FILES = st.sampled_from(["/a.py", "/b c.py"])
TEXT = st.tuples(WORDS, SIZES).map(
    lambda pair: (pair[0] * (1 + pair[1] // len(pair[0])))[: pair[1]]
)
ODD = st.sampled_from(
    [
        b"\n",
        b"{\n",
        b"no json\n",
        b'{"type":"one"}{"type":"two"}\n',
        b'{"type":"user","message":{"content":"\xff"}}\n',
        b'\xef\xbb\xbf{"type":"bom"}\n',
        b'{"type":"crlf"}\r\n',
        b'{"type":"user","uuid":"d","uuid":"e","toolUseResult":1,"toolUseResult":2}\n',
        b'{"type":"x","type":"progress","uuid":"p","data":{}}\n',
    ]
)
STEP = st.one_of(
    st.tuples(st.just("call"), TEXT, st.sampled_from(["Bash", "Read", "Edit", "Agent", "mcp__x"])),
    st.tuples(st.just("list"), TEXT, TEXT),
    st.tuples(
        st.just("say"), st.sampled_from(["go", "brim:pin last", "ccm:pin next", "brim:pin start"])
    ),
    st.tuples(st.just("reply"), st.integers(0, 2)),
    st.tuples(st.just("progress"), st.booleans()),
    st.tuples(st.just("compact"), st.booleans()),
    st.tuples(st.just("side"), TEXT),
    st.tuples(st.just("spaced"), TEXT),
    st.tuples(st.just("odd"), ODD),
    st.tuples(st.just("again"), st.integers(0, 9)),
    st.tuples(st.just("branch"), st.integers(0, 9)),
    st.tuples(st.just("merge")),
)
OPTIONS = st.builds(
    Options,
    threshold_bytes=st.sampled_from([1, 500, 1_000, 5_000]),
    keep_requests=st.integers(0, 3),
    strategies=st.frozensets(st.sampled_from(list(purging.STRATEGIES)), min_size=1),
)
SESSIONS = st.tuples(st.lists(STEP, max_size=12), st.sampled_from([b"", b"{", b'{"type":"end"}']))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all examples; each has one of its own in it."""
    return tmp_path_factory.mktemp("properties")


class World:
    """A session and a data folder for one example."""

    def __init__(self, place: Path, built: tuple[list[Any], bytes]) -> None:
        folder = tempfile.mkdtemp(dir=place)
        self.path, self.home_dir = f"{folder}/s.jsonl", f"{folder}/home"
        steps, end = built
        build(self.path, steps)
        self.append(end)

    @property
    def data(self) -> bytes:
        """The session as it is."""
        with open(self.path, "rb") as file:
            return file.read()

    def append(self, line: bytes) -> None:
        """The client goes on."""
        with open(self.path, "ab") as file:
            file.write(line)
        os.utime(self.path, (LONG_AGO, LONG_AGO))

    def purge(self, options: Options) -> Plan:
        """Purge it."""
        os.utime(self.path, (LONG_AGO, LONG_AGO))
        plan = purging.prepare(self.path, options, self.home_dir)
        if not plan.is_empty:
            purging.purge(self.path, plan, self.home_dir, quiet_s=QUIET_S)
        return plan

    def restore(self) -> None:
        """Put it back."""
        os.utime(self.path, (LONG_AGO, LONG_AGO))
        found = restoring.plan(self.path, self.home_dir)
        if found.undone:
            restoring.restore(found, quiet_s=QUIET_S)

    def structure(self) -> Structure:
        """Its structure."""
        found = Structure()
        with open(self.path, "rb") as file:
            for line in read.lines(file):
                for record in line.records:
                    found.take(record.value)
        return found


class Structure:
    """What must be the same before and after, gathered without the code under test."""

    def __init__(self) -> None:
        self.types: Counter[str] = Counter()
        self.parents: dict[str, Any] = {}
        self.pairs: list[tuple[str, Any]] = []
        self.usage: list[Any] = []
        self.leaf: Any = None

    def take(self, row: dict[str, Any]) -> None:
        """Add a row."""
        self.types[str(row.get("type"))] += 1
        message = row.get("message")
        if "uuid" in row:
            self.parents.setdefault(row["uuid"], row.get("parentUuid"))
        if row.get("type") in ("user", "assistant") and "uuid" in row:
            self.leaf = self.leaf if row.get("isSidechain") else row["uuid"]
        if not isinstance(message, dict):
            return
        self.usage.append((row.get("uuid"), message.get("id"), message.get("usage")))
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block["type"] in ("tool_use", "tool_result"):
                self.pairs.append((block["type"], block.get("id") or block["tool_use_id"]))

    def chain(self) -> list[str]:
        """The names from the last message up."""
        found: list[str] = []
        name = self.leaf
        while name in self.parents and name not in found:
            found.append(name)
            name = self.parents[name]
        return found

    def dangling(self) -> set[str]:
        """The names that are followed but not there."""
        return {parent for parent in self.parents.values() if parent} - set(self.parents)


def build(path: str, steps: list[Any]) -> None:
    """Write a session from its steps."""
    session = SessionBuilder(path)
    session.raw(b"")
    for kind, *values in steps:
        WRITERS[kind](session, *values)


def write_call(session: SessionBuilder, text: str, tool: str) -> None:
    """A call and its result."""
    asked: dict[str, Any] = {"command": "x"}
    if tool in ("Read", "Edit"):
        asked = {"file_path": "/a.py"}
    session.tool_result(session.tool_call(5_000, tool, **asked), text)


def write_list(session: SessionBuilder, *texts: str) -> None:
    """A result in several blocks."""
    call_id = session.tool_call(5_000, "mcp__y", query="q")
    content = [{"type": "text", "text": text} for text in texts]
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    session.row("user", message={"role": "user", "content": [block]}, toolUseResult=content)


def write_reply(session: SessionBuilder, thoughts: int) -> None:
    """A request that is answered with thoughts and words."""
    thought = {"type": "thinking", "thinking": "hm" * 40, "signature": "s" * 40}
    session.reply(6_000, *[thought] * thoughts, {"type": "text", "text": "ok"})


def write_progress(session: SessionBuilder, in_chain: bool) -> None:
    """A progress row, on the way of what follows or beside it."""
    last = session.parent
    session.row("progress", data={"type": "x", "output": "y" * 50})
    session.parent = session.parent if in_chain else last


def write_side(session: SessionBuilder, text: str) -> None:
    """A subagent's result."""
    session.tool_result(session.tool_call(5_000, command="x"), text, isSidechain=True)


def write_spaced(session: SessionBuilder, text: str) -> None:
    """A result in another hand: blanks, escapes, the copy first and with the same name in it."""
    call_id = session.tool_call(5_000, command="x")
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    row = {
        "toolUseResult": {"content": text, "more": "z" * 300},
        "type": "user",
        "message": {"content": [block]},
        "uuid": f"spaced-{call_id}",
    }
    session.raw(json.dumps(row, separators=(", ", ": ")) + "\n")


def write_again(session: SessionBuilder, number: int) -> None:
    """An earlier line once more."""
    session.raw(earlier(session, number))


def branch(session: SessionBuilder, number: int) -> None:
    """Go on from an earlier row."""
    for record in read.Line(1, 0, earlier(session, number)).records:
        session.parent = record.value.get("uuid", session.parent)


def merge(session: SessionBuilder) -> None:
    """Take the last line's end away, so that the next row follows on the same line."""
    size = os.path.getsize(session.path)
    if size:
        os.truncate(session.path, size - 1)


def earlier(session: SessionBuilder, number: int) -> bytes:
    """A line that is there already."""
    with open(session.path, "rb") as file:
        lines = [line for line in file if line.endswith(b"\n")]
    return lines[number] if number < len(lines) else b""


WRITERS: dict[str, Callable[..., Any]] = {
    "call": write_call,
    "list": write_list,
    "say": lambda session, text: session.prompt(text),
    "reply": write_reply,
    "progress": write_progress,
    "compact": lambda session, legacy: session.compact(9_000, legacy=legacy),
    "side": write_side,
    "spaced": write_spaced,
    "odd": lambda session, line: session.raw(line),
    "again": write_again,
    "branch": branch,
    "merge": merge,
}


@thorough
@given(built=SESSIONS, options=OPTIONS)
def test_a_restore_undoes_a_purge(place: Path, built: Any, options: Options) -> None:
    """Byte for byte, plus whatever was appended since."""
    world = World(place, built)
    original = world.data

    plan = world.purge(options)
    if "spaced" not in {kind for kind, *_ in built[0]}:
        assert len(original) - len(world.data) == plan.disk_bytes
    world.append(b'{"type":"late"}\n')
    world.restore()

    assert world.data == original + b'{"type":"late"}\n'


@thorough
@given(built=SESSIONS, options=OPTIONS)
def test_a_purge_twice_is_a_purge_once(place: Path, built: Any, options: Options) -> None:
    """What is gone stays gone, and nothing else follows it."""
    world = World(place, built)
    world.purge(options)
    once = world.data

    again = world.purge(options)

    assert again.is_empty
    assert world.data == once


@thorough
@given(built=SESSIONS, first=OPTIONS, second=OPTIONS)
def test_purges_one_after_the_other_are_undone_together(
    place: Path, built: Any, first: Options, second: Options
) -> None:
    """Whatever each of them took."""
    world = World(place, built)
    original = world.data

    world.purge(first)
    world.append(b'{"type":"between"}\n')
    world.purge(second)
    world.restore()

    assert world.data == original + b'{"type":"between"}\n'


@thorough
@given(built=SESSIONS, options=OPTIONS)
def test_pairs_chains_usage_and_messages_are_kept(
    place: Path, built: Any, options: Options
) -> None:
    """Only progress rows go."""
    world = World(place, built)
    before = world.structure()

    world.purge(options)

    after = world.structure()
    assert after.pairs == before.pairs
    assert after.chain() == before.chain()
    assert after.usage == before.usage
    assert after.dangling() <= before.dangling()
    lost = Counter(before.types)
    lost.subtract(after.types)
    assert {kind for kind, count in lost.items() if count > 0} <= {"progress"}


@thorough
@given(built=SESSIONS, options=OPTIONS)
def test_lines_that_no_plan_names_stay_as_they_are(
    place: Path, built: Any, options: Options
) -> None:
    """In their order, byte for byte."""
    world = World(place, built)
    original = world.data
    os.utime(world.path, (LONG_AGO, LONG_AGO))
    plan = purging.prepare(world.path, options, world.home_dir)
    named = {mark.offset for mark in plan.changes}
    kept, offset = [], 0
    for line in original.splitlines(keepends=True) if b"\r" not in original else []:
        if offset not in named:
            kept.append(line)
        offset += len(line)

    world.purge(options)

    rest = iter(world.data.split(b"\n"))
    assert all(line.rstrip(b"\n") in rest for line in kept)
