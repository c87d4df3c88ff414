"""Tool calls that brimline's mod answers for the hooks: all that they did, once, and no process."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import bulk_mcp
from .modded import module_of, recalled
from .stub_api import agent, bash, filled, text, tool

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client, PrintResult
    from .stub_api import StubApi

STORED = "[brimline stored"
# A command that prints a log of 60 kB, a file of its own each time.
LOG = 'for n in $(seq 1 1300); do echo "2026-11-15 10:00:00 INFO worker $n of {} finished"; done'
PIXEL = base64.b64decode(bulk_mcp.PIXEL)
# What a pasted log looks like, of about 60 kB.
PASTE = "Why is this?\n" + "\n".join(f"pasted line {n} of what I saw" for n in range(2_000))


def change_module(installed: Installed, old: str, new: str) -> None:
    """Have the client load another module than the one that we ship."""
    module = module_of(installed)
    before = module.read_text()
    assert before.count(old) == 1, old
    module.write_text(before.replace(old, new))


def ask_another(installed: Installed, script: str) -> None:
    """Have a script answer for the tool calls, in the place of the program behind the launcher."""
    launcher = installed.data / "bin" / "hook"
    real = launcher.rename(launcher.with_name("real"))
    rest = f'[ "$1" = PostToolUse ] || exec {real} "$@"\n'
    launcher.write_text(f"#!/bin/sh\n{rest}{script}\n", encoding="utf-8")
    launcher.chmod(0o700)


def listen_too(client: Client) -> Path:
    """Another one's hook on every tool call, and the file that it leaves a line in."""
    heard = client.project / "heard.txt"
    group = {"hooks": [{"type": "command", "command": f"echo heard >> {heard}"}]}
    client.write_settings({"hooks": {"PostToolUse": [group]}}, "project")
    return heard


def start_too(client: Client, way: str, launcher: Path) -> Path:
    """Another hook that has to do with our launcher, and the file that it leaves a line in."""
    heard = client.project / "heard.txt"
    script = client.project / "hook"
    script.write_text(f"#!/bin/sh\necho heard >> {heard}\nexec {launcher} PostToolUse\n")
    script.chmod(0o700)
    entry: dict[str, Any] = {"command": FOREIGN[way].format(launcher=launcher, heard=heard)}
    if way == "renamed":
        entry = {"command": str(script), "args": ["PostToolUse"]}
    group = {"hooks": [{"type": "command"} | entry]}
    client.write_settings({"hooks": {"PostToolUse": [group]}}, "project")
    return heard


def count(run: PrintResult, installed: Installed, event: str) -> int:
    """How often something is on record for the session."""
    return installed.events(run.session_id).count(event)


def test_a_quiet_call_starts_no_process(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The first of a prompt asks how far there is to go; another one's hook hears of every call."""
    before = client.settings_path().read_bytes()
    heard = listen_too(client)
    calls = [bash("true", filled(50_000 + 10 * number)) for number in range(8)]
    stub.script(*calls, text("end", filled(50_100)))

    run = client.run_print("go")

    assert count(run, installed, "PostToolUse") == 1
    assert heard.read_text().count("heard") == len(calls)
    assert client.settings_path().read_bytes() == before
    assert installed.status(run.session_id)["occupancy_tokens"] == 50_100
    installed.install("--no-mod")
    stub.script(*calls, text("end", filled(50_100)))
    assert count(client.run_print("go"), installed, "PostToolUse") == len(calls)
    assert installed.errors() == ""


def test_what_a_session_moves_by_is_on_record(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Five points of the window and a changed file start a process, and a subagent's calls none."""
    file = client.project / "a.txt"
    file.write_text("one\n")
    path = {"file_path": str(file)}
    edit = path | {"old_string": "one", "new_string": "two"}
    stub.script(
        tool("Read", path, filled(50_000)),
        agent(usage=filled(50_100)),
        tool("Edit", edit, filled(50_200)),
        bash("echo brimline", filled(50_300)),
        bash("true", filled(62_000)),
        bash("echo brimline", filled(62_100)),
        text("end", filled(62_200)),
    )
    stub.script_subagents(bash("true"), bash("true"), text("done"))

    run = client.run_print("go")

    folder = installed.data / "sessions" / run.session_id
    assert str(file) in (folder / "offload-edited.jsonl").read_text()
    spooled = [e for e in installed.spool(run.session_id) if e["event"] == "PostToolUse"]
    # The last names us, and so waits for those that nobody waited for.
    assert [line["occupancy"] for line in (spooled[0], spooled[-1])] == [50_000, 62_100]
    assert len(spooled) == 5
    assert installed.errors() == ""


def server_args() -> list[str]:
    """An MCP server that answers with much."""
    server = {"command": sys.executable, "args": [str(Path(bulk_mcp.__file__))]}
    return ["--mcp-config", json.dumps({"mcpServers": {"bulk": server}})]


def test_every_kind_of_bulk_is_previewed_and_what_a_person_gave_is_not(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Of 60 kB each: a command, an MCP server, a subagent; a failure; a paste; an image."""
    picture = client.project / "dot.png"
    picture.write_bytes(PIXEL)
    report = "\n".join(f"finding {number} is worth a line of its own" for number in range(1_500))
    failing = f"{LOG.format('x')}; echo 'fatal: the reason'; exit 3"
    stub.script(
        bash(LOG.format("a")),
        tool("mcp__bulk__long", {}),
        agent(),
        tool("Read", {"file_path": str(picture)}),
        bash(failing),
        text("end"),
    )
    stub.script_subagents(text(report))

    env = {"ENABLE_TOOL_SEARCH": "false", "MAX_MCP_OUTPUT_TOKENS": "50000"}
    run = client.run_print(PASTE, args=server_args(), env=env)

    logged, asked, reported, seen, failed = run.main[-1].blocks("tool_result")
    wanted = [(logged, "worker 650 of a"), (asked, bulk_mcp.LONG), (reported, report)]
    for block, content in wanted:
        shown = json.dumps(block["content"])
        assert STORED in shown
        assert len(shown) < 5_000
        assert content in recalled(installed, shown)
    assert seen["content"][0]["type"] == "image"
    assert failed["is_error"]
    # The client hands the end of a long failure to nobody: the model is told how to see it.
    assert "fatal: the reason" not in failed["content"]
    assert failed["content"].count("its end is missing. Run it again with `2>&1 | tail -60`") == 1
    assert run.main[-1].seen_text().count(PASTE) == 1
    assert count(run, installed, "Offloaded") == 3
    assert installed.errors() == ""


FOREIGN = {
    "wrapped": "test -x {launcher} && echo heard >> {heard}",
    "chained": "echo heard >> {heard}; {launcher} PostToolUse",
    "piped": "cat | {launcher} PostToolUse; echo heard >> {heard}",
    "commented": "echo heard >> {heard} # {launcher} PostToolUse",
    "renamed": "",
}


def test_a_preview_is_said_on_the_call_itself(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """In one line, to the person alone."""
    path = client.project / "big.log"
    path.write_text("".join(f"line {number:05} alpha beta\n" for number in range(1_500)))
    stub.script(tool("Read", {"file_path": str(path)}), text("THE-END"))
    said = "brimline: the model saw a preview; the result is stored"
    with client.interactive() as live:
        live.say("go", "THE-END", said)

    assert said not in stub.requests("main")[-1].seen_text()
    assert installed.errors() == ""


@pytest.mark.parametrize("way", FOREIGN)
def test_an_entry_that_merely_mentions_ours_is_anothers(
    way: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """It runs at every call, and where it starts our hook too, each result is judged once."""
    heard = start_too(client, way, installed.data / "bin" / "hook")
    climb(stub)

    run = client.run_print("go")

    assert heard.read_text().count("heard") == 4
    check_judged(run, installed, 2)


def test_entries_without_a_launcher_are_known_as_ours(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Where a script cannot be started the client is given the interpreter and code."""
    launcher = installed.data / "bin" / "hook"
    launcher.write_text("somebody else's")
    installed.install()
    assert launcher.read_text() == "somebody else's"
    stub.script(*[bash("true", filled(50_000 + 10 * at)) for at in range(4)], text("end"))

    run = client.run_print("go")

    assert count(run, installed, "PostToolUse") == 1
    assert installed.errors() == ""


def climb(stub: StubApi) -> None:
    """Script a session with two logs and a warning after them."""
    stub.script(
        bash(LOG.format("a"), filled(50_000)),
        bash("true", filled(51_000)),
        bash(LOG.format("b"), filled(150_000)),
        bash("true", filled(150_100)),
        text("end", filled(150_200)),
    )


WAYS: dict[str, tuple[dict[str, Any], tuple[str, ...], bool]] = {
    "mod": ({}, (), True),
    "no mod": ({"enabledPlugins": {"brimline-mod@brimline": False}}, (), True),
    "all hooks off": ({"disableAllHooks": True}, (), False),
    "bare": ({}, ("--bare",), False),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_result_is_judged_once(
    way: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """With the mod, without it, and where the client starts neither."""
    settings, flags, is_judged = WAYS[way]
    client.write_settings(settings)
    climb(stub)

    run = client.run_print("go", args=flags)

    check_judged(run, installed, 2 if is_judged else 0)


def check_judged(run: PrintResult, installed: Installed, previews: int, warnings: int = -1) -> None:
    """So many results were previewed, so often the tier was told; nothing was noted as wrong."""
    warnings = previews // 2 if warnings < 0 else warnings
    assert [result.startswith(STORED) for result in run.main[-1].results()].count(True) == previews
    seen = run.main[-1].seen_text()
    assert seen.count("Context tier L") == warnings
    assert seen.count("[brimline]") == warnings
    assert count(run, installed, "Offloaded") == previews
    assert run.result is not None
    assert run.result["result"] == "end"
    assert "rror" not in run.stderr
    assert installed.errors() == ""


def test_what_the_client_brings_too_is_not_judged_again(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Where the client would not leave the call to the mod, although that believes so."""
    change_module(installed, "return isOurs ? {", "return isOurs && !isOurs ? {")
    climb(stub)

    run = client.run_print("go")

    check_judged(run, installed, 2)
    assert count(run, installed, "PostToolUse") == 4


@pytest.mark.parametrize("damage", ["rm -r {}", "echo '{{' > {}/brimline.json"])
def test_what_happens_to_the_mods_files_in_mid_session_does_not_matter(
    damage: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """Removed or torn: the module is loaded, and knows what to start."""
    folder = installed.data / "mod" / "brimline"
    stub.script(bash(damage.format(folder), filled(40_000)))
    climb(stub)

    run = client.run_print("go")

    check_judged(run, installed, 2)


def test_the_same_failure_is_logged_once(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Where no reading can be left, every call fails at it; the log and the processor have one."""
    session = "6b1f2f0e-6d3c-4c59-9d52-0d3a5e1c7a11"
    (installed.data / "sessions" / session / "mod-reading").mkdir(parents=True)
    calls = [bash("echo brimline", filled(50_000 + 10 * number)) for number in range(4)]
    stub.script(*calls, text("end", filled(50_100)))

    run = client.run_print("go", args=("--session-id", session))

    assert count(run, installed, "PostToolUse") == len(calls)
    assert installed.errors().count("reading: ") == 1


@pytest.mark.parametrize("script", ["kill -9 $$", "exec sleep 60", "echo nonsense", "exit 3", ""])
def test_a_program_that_fails_costs_its_own_answer(
    script: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """Killed, late, garbled, silent: the results stay as they are, and the session goes on."""
    ask_another(installed, script)
    change_module(installed, "LIMIT_MS = 8000", "LIMIT_MS = 700")
    climb(stub)

    run = client.run_print("go")

    assert [result.startswith(STORED) for result in run.main[-1].results()] == [False] * 4
    assert run.main[-1].seen_text().count("[brimline]") == 0
    assert run.result is not None
    assert run.result["result"] == "end"
    assert "rror" not in run.stderr


def test_when_the_mod_dies_the_hooks_are_back_with_the_next_call(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client unloads a module that hangs; the call at hand goes through as it is."""
    change_module(installed, "  results += 1\n  // What", "  if (gate) while (true);\n  // What")
    climb(stub)

    run = client.run_print("go")

    check_judged(run, installed, 2)
    assert count(run, installed, "PostToolUse") == 2
