"""Where brimline's mod cannot answer, the client compacts in its own way, and nothing is lost."""

from __future__ import annotations

import copy
import json
import threading
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from .harness import read_rows
from .modded import (
    FULL,
    WINDOW,
    answer_with,
    calls_of,
    check_history,
    lines_in,
    module_of,
    read_all,
    write_files,
)
from .stub_api import bash, text

if TYPE_CHECKING:
    from pathlib import Path

    from .brimline_home import Installed
    from .harness import Client, PrintResult
    from .stub_api import StubApi, Turn

PROMPT = "Count the values of every part."
# As many messages as the client shows a mod in the form of a request.
MOST_MESSAGES = 4_096


def check_own_summary(run: PrintResult, calls: list[str]) -> None:
    """One summary over the history, its last round whole, and the session went on after it."""
    assert run.kinds.count("compaction") == 1, run.kinds
    asked = next(request for request in run.requests if request.kind == "compaction")
    check_history(asked, calls[:-1], PROMPT)
    check_history(run.main[-1], calls[-1:])
    assert lines_in(asked) == []
    assert run.result is not None
    assert run.result["result"] == "END"


def fill_twice(client: Client, stub: StubApi, *before: Turn) -> list[str]:
    """Script a session with one round more than the client needs for a summary of its own."""
    client.write_settings(WINDOW)
    turns = [*before, read_all(write_files(client)), bash("echo last", FULL)]
    stub.script(*turns, text("END"))
    return calls_of(*turns)


@pytest.mark.parametrize(
    "script",
    [
        "",
        "kill -9 $$",
        "exec sleep 60",
        "echo nonsense",
        "true",
        """echo '{"results": 3, "inputs": {}}'""",
    ],
    ids=["missing", "killed", "late", "garbage", "silent", "of another shape"],
)
def test_an_answer_that_is_none_is_the_clients_own_summary(
    script: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """A program that is gone, killed, too slow, or says what nobody understands."""
    answer_with(installed, *(["/bin/sh", "-c", script] if script else ["/nowhere/python"]))
    # Half a second of patience is enough for a test.
    module = module_of(installed)
    module.write_text(module.read_text().replace("LIMIT_MS = 8000", "LIMIT_MS = 500"))
    client.write_settings(WINDOW)
    turns = [read_all(write_files(client, 3)), bash("echo last", FULL)]
    stub.script(*turns, text("END"))

    check_own_summary(client.run_print(PROMPT), calls_of(*turns))


@pytest.mark.parametrize(
    "start",
    [
        """sed "s|main('[^']*'|main('/proc/brimline'|" "$0" > "$0"2; chmod 700 "$0"2; exec "$0"2""",
        'ulimit -f 0; exec "$0"',
    ],
    ids=["data folder read-only", "disk full"],
)
def test_what_cannot_be_stored_is_not_replaced(
    start: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """Python is asked and passes, because an original would be nowhere else."""
    launcher = str(installed.data / "bin" / "hook")
    answer_with(installed, "/bin/sh", "-c", f'{start} mod "$@"', launcher)
    calls = fill_twice(client, stub)

    check_own_summary(client.run_print(PROMPT), calls)


@pytest.mark.parametrize("before", ["", "test -x {} && ", "{} PreCompact < /dev/null; "])
def test_another_ones_precompact_hook_runs(
    before: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """A compaction without a model would leave it out, so there is none; if it names us, too."""
    command = before.format(installed.data / "bin" / "hook") + "cat > precompact.json"
    group = {"hooks": [{"type": "command", "command": command}]}
    client.write_settings({"hooks": {"PreCompact": [group]}}, "project")
    calls = fill_twice(client, stub)

    check_own_summary(client.run_print(PROMPT), calls)

    told = json.loads((client.project / "precompact.json").read_bytes())
    assert told["hook_event_name"] == "PreCompact"
    assert b"PreCompact hook is not brimline's" in installed.command("doctor").stdout


def test_a_setting_switches_it_off(client: Client, stub: StubApi, installed: Installed) -> None:
    """The mod stays loaded and leaves every compaction to the client, wherever that has gone."""
    installed.command("config", "set", "compaction.inside", "off")
    (client.project / "sub").mkdir()
    calls = fill_twice(client, stub, bash("cd sub"))

    check_own_summary(client.run_print(PROMPT), calls)


def lengthen(transcript: Path, rounds: int) -> None:
    """Repeat a session's one call until it has as many messages as wanted."""
    rows = read_rows(transcript)
    call = next(r for r in rows if r["type"] == "assistant" and "tool_use" in str(r["message"]))
    result = next(row for row in rows if "toolUseResult" in row)
    added: list[dict[str, Any]] = []
    parent = next(row["uuid"] for row in reversed(rows) if "uuid" in row)
    for number in range(rounds):
        asked, answered = copy.deepcopy(call), copy.deepcopy(result)
        for row in (asked, answered):
            row["parentUuid"], row["uuid"] = parent, str(uuid.uuid4())
            parent = row["uuid"]
        asked["message"]["id"] = f"msg_long{number}"
        name = f"toolu_long{number}"
        tool_use(asked)["id"] = answered["message"]["content"][0]["tool_use_id"] = name
        added += [asked, answered]
    with transcript.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in added)


def tool_use(row: dict[str, Any]) -> dict[str, Any]:
    """The call in a row."""
    found: dict[str, Any] = next(b for b in row["message"]["content"] if b["type"] == "tool_use")
    return found


def test_five_thousand_messages(client: Client, stub: StubApi, installed: Installed) -> None:
    """More than the client shows a mod: the client's own summary, over all of them."""
    stub.script(bash("echo one"), text("FIRST"))
    transcript = client.run_print(PROMPT).transcript
    assert transcript
    lengthen(transcript, 2_500)

    run = client.run_print("/compact", args=["--resume", transcript.stem])

    assert run.kinds == ["compaction"]
    assert len(run.requests[0].messages) > MOST_MESSAGES
    assert PROMPT in run.requests[0].seen_text()
    assert installed.errors() == ""


def test_two_clients_on_one_project(client: Client, stub: StubApi, installed: Installed) -> None:
    """Both compact at the same time; each keeps its own history, and every key leads somewhere."""
    client.write_settings(WINDOW)
    files = write_files(client)
    stub.script_each(read_all(files, FULL), text("END"))
    runs: list[PrintResult] = []
    threads = [
        threading.Thread(target=lambda: runs.append(client.run_print(PROMPT))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert stub.requests("compaction") == []
    last = {
        run.session_id: request
        for request in stub.requests("main")
        for run in runs
        if run.session_id in request.body["metadata"]["user_id"]
    }
    assert len(last) == len(runs)
    assert sorted(len(lines_in(request)) > 0 for request in last.values()) == [True, True]
    assert installed.errors() == ""
