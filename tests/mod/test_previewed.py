"""A result that was previewed is named by its original after a compaction, and no other one is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.bulk import contents, layout
from brimline.bulk.previews import Previews
from brimline.fast import paths
from brimline.hooks import entry
from brimline.mod import request
from brimline.state.session import SPOOL
from brimline.testing import SessionBuilder

from .conversation import Conversation

SOURCE = "\n".join(f"def handler_{n}(request): return render_{n}(request)" for n in range(2_000))
BULK = "a line of output\n" * 400


def numbered(text: str, sign: str = "\t", width: int = 0) -> str:
    """A file as the client sends it."""
    lines = text.split("\n")
    return "\n".join(f"{at:>{width}}{sign}{line}" for at, line in enumerate(lines, 1))


def file_of(content: str) -> dict[str, Any]:
    """What Read answers."""
    count = content.count("\n") + 1
    file = {"filePath": "/p/app.py", "content": content, "numLines": count, "startLine": 1}
    return {"type": "text", "file": file | {"totalLines": count}}


def printed(content: str, stderr: str = "") -> dict[str, Any]:
    """What Bash answers."""
    return {"stdout": content, "stderr": stderr, "interrupted": False, "isImage": False}


READ = {"file_path": "/p/app.py"}
CAT = {"command": "cat app.py"}
# The tool, its input, what it answers, and how the client shows what it answers.
SHAPES: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "Read": ("Read", READ, file_of(SOURCE), lambda new: numbered(new["file"]["content"])),
    "Read, before 2.1": (
        "Read",
        READ,
        file_of(SOURCE),
        lambda new: numbered(new["file"]["content"], "→", 6),
    ),
    "Bash": ("Bash", CAT, printed(SOURCE), lambda new: new["stdout"]),
    "Bash, with errors": (
        "Bash",
        CAT,
        printed(SOURCE, "deprecated"),
        lambda new: f"{new['stdout']}\n{new['stderr']}",
    ),
    "MCP": (
        "mcp__files__cat",
        {"path": "app.py"},
        [{"type": "text", "text": SOURCE}],
        lambda new: new[0]["text"] + "\n",
    ),
}


class Session:
    """A session with hooks or the mod, and what the client would send of it."""

    def __init__(self, world: Path, home_dir: str) -> None:
        self.world, self.home_dir = world, home_dir
        self.talk = Conversation()
        self.talk.run("make", BULK * 5)  # so that enough goes

    def call(self, shape: str, **told: Any) -> str:
        """A call whose result our hook sees; returns its id."""
        tool, arguments, response, shown = SHAPES[shape]
        call_id = f"toolu_{self.talk.count + 1}"
        about = {"session_id": self.talk.request()["session"], "cwd": "/p", "tool_name": tool}
        about |= {"tool_input": arguments, "tool_response": response, "tool_use_id": call_id}
        about |= {"permission_mode": "bypassPermissions", "transcript_path": "/nowhere"} | told
        raw = entry.respond("PostToolUse", json.dumps(about).encode(), self.home_dir)
        new = json.loads(raw)["hookSpecificOutput"]["updatedToolOutput"]
        return self.talk.call(tool, arguments, shown(new))

    def text_of(self, call_id: str) -> str:
        """What the model was sent of a result."""
        results = [each for entry in self.talk.messages for each in entry["toolResults"]]
        return str(next(each["text"] for each in results if each["tool_use_id"] == call_id))

    def compact(self, **fields: Any) -> dict[str, Any]:
        """What `brimline mod compact` answers."""
        return request.respond("compact", self.talk.request(**fields), self.home_dir)


@pytest.fixture
def session(world: Path, home_dir: str) -> Session:
    """One of which enough can go."""
    return Session(world, home_dir)


@pytest.mark.parametrize("told", [{}, {"brimline": {"results": 1}}], ids=["hook", "mod"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_line_for_a_preview_names_the_original(
    shape: str, told: dict[str, Any], session: Session
) -> None:
    """Its size and its key, whoever previewed it; what stands behind a preview stays."""
    call = session.call(shape, **told)
    session.talk.fill(80)

    answer = session.compact()

    assert contents.read_content(session.home_dir, answer["keys"][call]) == SOURCE.encode()
    line, *said = answer["results"][call].split("\n")
    assert f": {len(SOURCE):,} bytes, recall {answer['keys'][call][:19]}; parts of it:]" in line
    assert said.pop() == "deprecated" or "errors" not in shape
    assert all("sha256:" not in each and "[brimline" not in each for each in said)


def _other_call(session: Session, shown: str) -> str:
    session.talk.run("./build.sh", BULK)
    return session.talk.run("./build.sh", shown + "\n" + BULK)


def _bare_reference(session: Session, shown: str) -> str:
    return _other_call(session, shown.partition(" Preview, not the whole:")[0])


def _changed_preview(session: Session, shown: str) -> str:
    result = session.talk.messages[-1]["toolResults"][0]
    result["text"] = shown.replace("handler_1(", "handler_X(") + BULK
    return str(result["tool_use_id"])


@pytest.mark.parametrize("forge", [_other_call, _bare_reference, _changed_preview])
def test_what_merely_looks_like_a_preview_is_stored_as_it_is(forge: Any, session: Session) -> None:
    """A program prints a reference of ours, or all of a preview; or another text came instead."""
    shown = session.text_of(session.call("Bash"))
    call = forge(session, shown)
    session.talk.fill(80)

    answer = session.compact()

    text = session.text_of(call)
    assert contents.read_content(session.home_dir, answer["keys"][call]) == text.encode()
    assert f": {len(text.encode()):,} bytes, recall " in answer["results"][call]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_fork_goes_by_the_record_of_where_it_came_from(
    session: Session, *, is_there: bool
) -> None:
    """Whose file lies beside its own; without it a preview is stored as it is."""
    call = session.call("Read")
    session.talk.fill(80)
    old, new = session.talk.request()["session"], "99999999-2222-4333-8444-555555555555"
    folder = session.world / "home" / ".claude" / "projects" / "p"
    for name in (old, new)[not is_there :]:
        SessionBuilder(str(folder / f"{name}.jsonl"), name).prompt("first")

    key = session.compact(session=new)["keys"][call]

    found = contents.read_content(session.home_dir, key).decode()
    assert found == (SOURCE if is_there else session.text_of(call))


def test_where_the_original_is_gone_the_preview_is_stored(session: Session) -> None:
    """What cannot be recalled is not named."""
    call = session.call("Read")
    session.talk.fill(80)
    for blob in contents.list_blobs(session.home_dir):
        Path(layout.stored_path(session.home_dir, blob.digest)).unlink()

    key = session.compact()["keys"][call]

    assert contents.read_content(session.home_dir, key).decode() == session.text_of(call)


@pytest.mark.parametrize(
    "damage",
    [
        b'{"v": 1, "event": "Offloaded", "call": "toolu_2", "lines": "x", "key": 5}\n',
        b'{"v": 1, "event": "Offloaded", "call": "toolu_2", "lines": -1, "key": "sha256:.."}\n',
        b'{"v": 1, "event": "MovedOut", "beside": 5}\n{"Offloaded"\xff',
        None,
    ],
)
def test_a_damaged_record_costs_the_name_at_most(damage: bytes | None, session: Session) -> None:
    """A folder may stand in its place, too; the preview is stored as it is."""
    call = session.call("Read")
    record = Path(paths.session_dir(session.home_dir, session.talk.request()["session"]), SPOOL)
    record.unlink()
    if damage is None:
        record.mkdir()
    else:
        record.write_bytes(damage)
    shown = Previews(session.home_dir, session.talk.request()["session"])

    assert shown.original_of(call, session.text_of(call)) is None
    assert shown.without_reminders_put_back(f"a{REMINDER}") == f"a{REMINDER}"


REMINDER = f"<system-reminder>\nNever touch the billing tables.\n{BULK}</system-reminder>"


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_reminder_stays_behind_its_line_if_a_compaction_put_it_there(
    session: Session, *, is_ours: bool
) -> None:
    """Also after a second one; what a tool printed goes with all the rest of its result."""
    if is_ours:
        session.talk.fill(30)
        assert session.compact(beside=["<system-reminder>a</system-reminder>", REMINDER])["results"]
    text = f"{BULK.rstrip()}\n\n{REMINDER}"
    call = session.talk.run("cat table.txt", text)
    session.talk.fill(30)

    answer = session.compact()

    line, _, behind = answer["results"][call].partition("]")
    assert line.startswith("[brimline: Bash cat table.txt: ")
    assert behind == (f"\n\n{REMINDER}" if is_ours else "")
    stored = contents.read_content(session.home_dir, answer["keys"][call]).decode()
    assert stored == (BULK.rstrip() if is_ours else text)
