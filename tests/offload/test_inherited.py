"""A session that begins with the transcript of another: its previews guard their files still."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.hooks.entry import respond
from brimline.offload import intercept
from brimline.offload.calls import Call
from brimline.state.session import SessionState

from .test_experience import LINES, ROWS
from .test_intercept import reading, refused, values

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def happened(call: Call, session: SessionBuilder, home_dir: str) -> None:
    """A call of the session that is forked later, with what became of its result on record."""
    decision = intercept.after(call, SessionState(home_dir, "s1"), values(), home_dir)
    response = decision.replacement if decision else call.response
    call_id = session.tool_call(1_000, call.tool, **call.tool_input)
    session.tool_result(call_id, shown(call.tool, response), toolUseResult=response)


def shown(tool: str, response: Any) -> str:
    """What the client sends the model of an answer."""
    if tool == "Read":
        lines = response["file"]["content"].split("\n")
        start = response["file"]["startLine"]
        return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start))
    return str(response["stdout"]) if tool == "Bash" else str(response[0]["text"])


def fetching(home_dir: str, part: str, lines: str) -> Call:
    """A recall through the shell."""
    key = SessionState(home_dir, "s1").last_line("Offloaded")["key"]
    command = {"command": f"brimline store get {key} --lines {lines}"}
    response = {"stdout": part, "stderr": "", "interrupted": False}
    return Call("Bash", command, response, cwd="/p", project_dir="/p")


def fork_refuses(session: SessionBuilder, home_dir: str, path: str = "/p/a.py") -> bool:
    """Whether the fork may not overwrite a file."""
    return refused(home_dir, path, "s2", session.path)


def test_a_fork_guards_what_its_past_saw_as_a_preview(
    session: SessionBuilder, home_dir: str
) -> None:
    """Once, and no other file."""
    state = SessionState(home_dir, "s1")
    call = reading(content=f"{LINES}\n{LINES}")
    decision = intercept.after(call, state, values(), home_dir)
    assert decision is not None
    call_id = session.tool_call(1_000, "Read", file_path="/p/a.py")
    session.tool_result(call_id, shown("Read", decision.replacement), toolUseResult={})

    assert not fork_refuses(session, home_dir, "/p/b.py")
    assert fork_refuses(session, home_dir)
    assert not fork_refuses(session, home_dir)


def test_a_forks_first_look_at_a_previewed_file_is_the_second(
    session: SessionBuilder, home_dir: str
) -> None:
    """It comes whole, as the reference promised."""
    happened(reading(content=LINES), session, home_dir)
    call = reading(content=LINES)
    call.transcript = session.path

    decision = intercept.after(call, SessionState(home_dir, "s2"), values(), home_dir)

    assert decision is None
    assert not fork_refuses(session, home_dir)


def test_a_fork_knows_what_its_past_saw_whole(session: SessionBuilder, home_dir: str) -> None:
    """By a second look, by pages, and by recalls and pages together."""
    for name in ("a", "b", "c"):
        happened(reading(f"/p/{name}.py", LINES), session, home_dir)
    happened(reading("/p/a.py", LINES), session, home_dir)
    happened(reading("/p/b.py", LINES, offset=1, limit=600), session, home_dir)
    happened(reading("/p/b.py", LINES, offset=601), session, home_dir)
    happened(reading("/p/c.py", LINES, offset=1, limit=600), session, home_dir)
    happened(fetching(home_dir, "\n".join(ROWS[600:]), "601:"), session, home_dir)

    for name in ("a", "b", "c"):
        assert not fork_refuses(session, home_dir, f"/p/{name}.py")


def test_a_fork_knows_what_its_past_saw_in_part(session: SessionBuilder, home_dir: str) -> None:
    """Pages and recalls that leave a line out, and of a file that the client had cut."""
    for name in ("a", "b"):
        happened(reading(f"/p/{name}.py", LINES), session, home_dir)
    happened(reading("/p/a.py", LINES, offset=1, limit=600), session, home_dir)
    happened(fetching(home_dir, "\n".join(ROWS[601:]), "602:"), session, home_dir)
    long_file = reading("/p/c.py", LINES + "\nmore")
    long_file.response["file"]["totalLines"] = 5_000
    happened(long_file, session, home_dir)
    happened(fetching(home_dir, LINES + "\nmore", "1:"), session, home_dir)

    for name in ("a", "b", "c"):
        assert fork_refuses(session, home_dir, f"/p/{name}.py")


def test_a_relative_path_is_taken_from_where_the_session_was(
    session: SessionBuilder, home_dir: str
) -> None:
    """And not from where the fork is."""
    session.cwd = "/elsewhere"
    happened(reading("a.py", LINES), session, home_dir)

    assert not fork_refuses(session, home_dir, "a.py")
    assert fork_refuses(session, home_dir, "/elsewhere/a.py")


def test_the_past_is_looked_at_once(session: SessionBuilder, home_dir: str) -> None:
    """From then on the hooks know."""
    happened(reading(content=LINES), session, home_dir)
    assert fork_refuses(session, home_dir)

    happened(reading("/p/late.py", LINES), session, home_dir)

    assert not fork_refuses(session, home_dir, "/p/late.py")


@pytest.mark.parametrize("source", ["startup", "clear"])
def test_a_session_that_began_afresh_has_no_past(
    session: SessionBuilder, home_dir: str, source: str
) -> None:
    """Its hooks have seen all of it, and do not look."""
    happened(reading(content=LINES), session, home_dir)
    respond("SessionStart", json.dumps({"session_id": "s2", "source": source}).encode(), home_dir)

    assert not fork_refuses(session, home_dir)


def test_an_overwrite_waits_for_the_transcript_to_be_written(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client writes a fork's past while its first call is on its way."""
    happened(reading(content=LINES), session, home_dir)
    written = Path(session.path).read_bytes()
    Path(session.path).unlink()
    pauses: list[int] = []

    def write_a_bit() -> None:
        pauses.append(1)
        part = written[: 500 * len(pauses)]
        Path(session.path).write_bytes(part + (b"toolu_now" if part == written else b""))

    monkeypatch.setattr("brimline.offload.inherited._pause", write_a_bit)
    call = Call(
        "Write",
        {"file_path": "/p/a.py"},
        None,
        cwd="/p",
        project_dir="/p",
        transcript=session.path,
        call_id="toolu_now",
    )

    assert intercept.before_write(call, SessionState(home_dir, "s2"), home_dir) is not None


def test_a_transcript_that_never_comes_is_waited_for_once(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overwrites go on, and the next one at once."""
    pauses: list[int] = []
    monkeypatch.setattr("brimline.offload.inherited._pause", lambda: pauses.append(1))

    call = reading(content=LINES)
    call.transcript, call.call_id = session.path, "toolu_now"
    assert intercept.before_write(call, SessionState(home_dir, "s2"), home_dir) is None
    waited = len(pauses)
    assert intercept.before_write(call, SessionState(home_dir, "s2"), home_dir) is None

    assert 0 < waited == len(pauses)


def test_a_read_does_not_wait_and_leaves_the_past_to_the_next(
    session: SessionBuilder, home_dir: str
) -> None:
    """Its own call is in the transcript by then; where it is not, more is to come."""
    call = reading(content=LINES)
    call.transcript, call.call_id = session.path, "toolu_now"
    intercept.after(call, SessionState(home_dir, "s2"), values(), home_dir)
    happened(reading("/p/b.py", LINES), session, home_dir)

    assert fork_refuses(session, home_dir, "/p/b.py")


def test_a_file_that_quotes_a_stub_is_no_preview(session: SessionBuilder, home_dir: str) -> None:
    """Nor is a Read that failed, or one of which nothing is known."""
    quote = f"# Notes\n[brimline stored 5 bytes: sha256:{'0' * 64}]"
    file = {"filePath": "/p/a.py", "content": quote}
    call_id = session.tool_call(1_000, "Read", file_path="/p/a.py")
    session.tool_result(call_id, f"1\t{quote}", toolUseResult={"type": "text", "file": file})
    session.tool_result(session.tool_call(1_000, "Read", file_path=5), "Error: no such file")
    session.tool_result(session.tool_call(1_000, "Read", file_path="/p/c.py"), "[brimline stored ?")

    for name in ("a", "c"):
        assert not fork_refuses(session, home_dir, f"/p/{name}.py")
