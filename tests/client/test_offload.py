"""Large results of every tool in the real client: what the model is sent is a reference."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.store import stub as stubs

from . import bulk_mcp
from .stub_api import bash, text, tool, tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .brimline_home import Installed
    from .harness import Client, PrintResult
    from .stub_api import Request, StubApi

LINES = [f"line {number:05d} alpha" for number in range(1500)]
BULK = "\n".join(LINES)


def results(request: Request) -> list[str]:
    """The tool results of a request as text."""
    return [_flat(block["content"]) for block in request.blocks("tool_result")]


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def stored(installed: Installed, shown: str) -> bytes:
    """The bytes behind a reference."""
    found = stubs.parse(shown)
    assert found is not None, shown[:400]
    done = installed.command("store", "get", found.key)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def rejected(run: PrintResult) -> list[str]:
    """What the client wrote down about replacements that it did not accept."""
    return [json.dumps(row) for row in run.rows if "does not match" in json.dumps(row)]


@pytest.fixture
def project(client: Client) -> Path:
    """A project with files that are too large to show."""
    (client.project / "big.txt").write_text(BULK, encoding="utf-8")
    for number in range(300):
        folder = (
            client.project
            / "deep"
            / f"folder_{number:03d}_with_a_name_as_long_as_generated_trees_have_them_today"
        )
        folder.mkdir(parents=True)
        (folder / "needle.txt").write_text("needle in the hay\n" * 4, encoding="utf-8")
    return client.project


@pytest.mark.row("S3-03", "S3-04", "S3-06", "S3-07", "S2-10", "S2-28", "S2-34", "S3-01", "S3-55")
def test_a_commands_output_is_swapped_for_a_reference_and_comes_back_to_the_byte(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """Also beyond the client's own limit; not a failure's, nor that of what runs elsewhere."""
    background = {"command": "echo done", "description": "x", "run_in_background": True}
    stub.script(
        bash("cat big.txt"),
        bash("seq 1 200000"),
        bash("cat big.txt; exit 3"),
        tool("Bash", background),
        bash("sleep 0.3"),
        text("end"),
    )

    run = client.run_print("go")

    shown, beyond, failed, elsewhere, _ = results(run.requests[-1])
    assert shown.startswith("[brimline stored 25499 bytes, 1500 lines, exit 0")
    assert "line 00000 alpha" in shown
    assert "line 01499 alpha" in shown
    assert len(shown) < 3_000
    assert stored(installed, shown) == BULK.encode()
    assert stored(installed, beyond) == b"".join(b"%d\n" % n for n in range(1, 200_001))
    assert "persisted-output" not in beyond
    assert failed.startswith("Exit code 3")
    assert "[brimline" not in failed
    assert "running in background with ID" in elsewhere
    calls = [block["id"] for block in run.requests[-1].blocks("tool_use")]
    assert [block["tool_use_id"] for block in run.requests[-1].blocks("tool_result")] == calls
    assert not rejected(run)


@pytest.mark.row("S3-10", "S3-18", "S3-22", "S3-23", "S3-26")
def test_a_file_is_previewed_and_read_whole_the_second_time(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """A page passes, and so does the second look at the whole, and what cannot be read at all."""
    path = {"file_path": str(project / "big.txt")}
    stub.script(
        tool("Read", path),
        tool("Read", path | {"offset": 1, "limit": 900}),
        tool("Read", path),
        tool("Read", {"file_path": str(project / "none.txt")}),
        tool("Read", {"file_path": str(project / "deep")}),
        text("end"),
    )

    run = client.run_print("go")

    first, page, second, missing, folder = results(run.requests[-1])
    assert "[brimline stored 25499 bytes" in first
    assert stored(installed, first) == BULK.encode()
    assert "line 00899 alpha" in page
    assert "line 00750 alpha" in second
    assert "does not exist" in missing
    assert "EISDIR" in folder
    assert not rejected(run)


def test_a_previewed_file_is_overwritten_only_on_purpose(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """An Edit of an unseen line works; a Write is refused once, unless all of it was seen."""
    huge = "\n".join(f"row {number:05d} text and more of the same" for number in range(5_000))
    (project / "huge.txt").write_text(huge, encoding="utf-8")
    (project / "seen.txt").write_text(BULK, encoding="utf-8")
    path, seen, cut = (
        {"file_path": str(project / name)} for name in ("big.txt", "seen.txt", "huge.txt")
    )
    edit = path | {"old_string": "line 00750 alpha", "new_string": "line 00750 BETA"}
    stub.script(
        tool("Read", {"file_path": "big.txt"}),
        tool("Edit", edit),
        tool("Write", path | {"content": "all new"}),
        tool("Write", path | {"content": "all new"}),
        tool("Read", seen),
        tool("Read", seen),
        tool("Write", seen | {"content": "new"}),
        tool("Read", cut),
        tool("Read", cut),
        tool("Write", cut | {"content": "new"}),
        text("end"),
    )

    run = client.run_print("go")

    _, edited, refused, written, _, _, at_once, _, page, _ = results(run.requests[-1])
    assert "updated" in edited
    assert "was shown to you as a preview" in refused
    assert "Read the file again" in refused
    assert "updated" in written
    assert (project / "big.txt").read_text(encoding="utf-8") == "all new"
    assert "updated" in at_once
    assert (project / "seen.txt").read_text(encoding="utf-8") == "new"
    # The client shows as much as fits into a page.
    assert "row 00001 text" in page
    assert "row 04999 text" not in page
    assert (project / "huge.txt").read_text(encoding="utf-8") == huge


def fetching(installed: Installed, shown: str) -> str:
    """The command by which the content behind a reference is fetched."""
    found = stubs.parse(shown)
    assert found is not None, shown[:400]
    return f"PYTHONPATH={installed.root} {sys.executable} -m brimline store get {found.key[:19]}"


def test_a_recall_lifts_the_guard_as_far_as_the_model_saw_it(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """One that the client cuts does not; pages that add up to the file do."""
    long_text = "\n".join(f"line {number:05d} of a file that is longer" for number in range(1_000))
    (project / "long.txt").write_text(long_text + "\n", encoding="utf-8")
    path, long_path = ({"file_path": str(project / name)} for name in ("big.txt", "long.txt"))
    stub.script(tool("Read", path), tool("Read", long_path), text("end"))
    run = client.run_print("go")
    assert run.result is not None
    fetch, fetch_long = [fetching(installed, shown) for shown in results(run.requests[-1])]

    stub.script(
        bash(fetch_long),
        tool("Write", long_path | {"content": "new"}),
        tool("Read", path | {"offset": 1, "limit": 100}),
        bash(f"{fetch} --lines 101:900"),
        bash(f"{fetch} --lines 901:"),
        tool("Write", path | {"content": "new"}),
        text("end"),
    )
    run = client.run_print("on", args=["--resume", run.result["session_id"]])

    preview, _, fetched, refused, *_, written = results(run.requests[-1])
    assert "[brimline stored" in preview  # the transcript holds the reference
    assert fetched.startswith("<persisted-output>")
    assert "was shown to you as a preview" in refused
    assert (project / "long.txt").read_text(encoding="utf-8") == long_text + "\n"
    assert "updated" in written
    assert (project / "big.txt").read_text(encoding="utf-8") == "new"


def test_the_guard_stands_in_a_fork_which_may_repeat_a_call_of_its_origin(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """It has an id of its own and the whole conversation; a file behind a link is the same."""
    (project / "link.txt").symlink_to("big.txt")
    (project / "other.txt").write_text(BULK, encoding="utf-8")
    path, link = ({"file_path": str(project / name)} for name in ("big.txt", "link.txt"))
    stub.script(tool("Read", path), bash("cat other.txt"), text("end"))
    first = client.run_print("go")
    assert first.result is not None

    stub.script(
        tool("Write", path | {"content": "new"}),
        bash("cat other.txt"),
        tool("Read", link),
        tool("Write", path | {"content": "new"}),
        text("end"),
    )
    run = client.run_print("on", args=["--resume", first.result["session_id"], "--fork-session"])

    assert run.result is not None
    assert run.result["session_id"] != first.result["session_id"]
    _, shown, refused, repeated, whole, _ = results(run.requests[-1])
    assert shown.startswith("[brimline stored")
    assert "was shown to you as a preview" in refused
    assert repeated.startswith(BULK)
    assert "line 00750 alpha" in whole
    assert (project / "big.txt").read_text(encoding="utf-8") == "new"
    assert installed.errors() == ""


def test_a_notebook_is_previewed_and_can_still_be_edited(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """Its cells come as text."""
    source = [f"value_{number} = compute_{number}()\n" for number in range(1_200)]
    cell = {"cell_type": "code", "id": "c1", "source": source, "metadata": {}, "outputs": []}
    notebook = {
        "cells": [cell | {"execution_count": None}],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = project / "study.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    edit = {"notebook_path": str(path), "cell_id": "c1", "new_source": "x = 1"}
    stub.script(tool("Read", {"file_path": str(path)}), tool("NotebookEdit", edit), text("end"))

    run = client.run_print("go", env={"ENABLE_TOOL_SEARCH": "false"})

    first, second = results(run.requests[-1])
    assert "[brimline stored" in first
    assert "".join(source).encode() in stored(installed, first)
    assert "Updated cell" in second
    assert not rejected(run)


@pytest.mark.row("S3-08", "S3-09")
def test_searches_are_swapped(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """Each mode has a shape of its own."""
    installed.command("config", "set", "offload.inline_bytes", "4000")
    modes = {"content": "needle in", "files_with_matches": "deep", "count": "needle.txt:4"}
    search = {"pattern": "needle", "head_limit": 0}
    stub.script(
        *[tool("Grep", search | {"output_mode": mode}) for mode in modes],
        tool("Glob", {"pattern": "**/needle.txt"}),
        text("end"),
    )

    run = client.run_print("go", args=["--tools", "Bash,Read,Grep,Glob"])

    for shown, expected in zip(
        results(run.requests[-1]), [*modes.values(), "deep/folder_"], strict=True
    ):
        assert "[brimline stored" in shown
        assert expected in stored(installed, shown).decode()
        assert len(shown) < 4_000
    assert not rejected(run)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a certificate")
def test_a_web_pages_digest_is_swapped(
    client: Client, stub: StubApi, installed: Installed, tmp_path: Path
) -> None:
    """What a small model made of the page is the result."""
    stub.helper_reply = BULK
    settings = json.loads(client.settings_path().read_text(encoding="utf-8"))
    client.write_settings(settings | {"skipWebFetchPreflight": True})
    with web_page(tmp_path) as url:
        stub.script(tool("WebFetch", {"url": url, "prompt": "all of it"}), text("end"))
        run = client.run_print(
            "go", env={"ENABLE_TOOL_SEARCH": "false", "NODE_TLS_REJECT_UNAUTHORIZED": "0"}
        )

    (shown,) = results(run.requests[-1])
    assert "[brimline stored" in shown
    assert "line 00750 alpha" in stored(installed, shown).decode()
    assert not rejected(run)


@contextmanager
def web_page(folder: Path) -> Iterator[str]:
    """A page on loopback with a certificate of its own."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    (folder / "page").mkdir()
    (folder / "page" / "index.html").write_text("<p>a page</p>", encoding="utf-8")
    handler = partial(_QuietPages, directory=str(folder / "page"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}/index.html"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _QuietPages(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Keep the test output quiet."""


def test_a_web_searchs_answer_is_swapped(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client asks the API, and its answer is the result."""
    stub.script(tool("WebSearch", {"query": "alpha lines"}), text(BULK), text("end"))

    run = client.run_print("go", env={"ENABLE_TOOL_SEARCH": "false"})

    (shown,) = results(run.requests[-1])
    assert "[brimline stored" in shown
    assert "line 00750 alpha" in stored(installed, shown).decode()
    assert not rejected(run)


@pytest.mark.row("S3-05")
def test_a_subagents_report_is_swapped_and_its_own_work_is_not(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """Inside the agent's own window nothing is touched."""
    task = {"description": "d", "prompt": "look", "subagent_type": "general-purpose"}
    stub.script(tool("Agent", task | {"run_in_background": False}), text("end"))
    stub.script_subagents(bash("cat big.txt"), text(BULK))

    run = client.run_print("go")

    (inside,) = results(stub.requests("subagent")[-1])
    assert "line 00750 alpha" in inside
    assert "[brimline" not in inside
    (shown,) = results([r for r in run.requests if r.kind == "main"][-1])
    assert "[brimline stored" in shown
    assert "line 00750 alpha" in stored(installed, shown).decode()
    assert not rejected(run)


def test_mcp_results_are_swapped(client: Client, stub: StubApi, installed: Installed) -> None:
    """Text blocks, structured content, and text beside a picture, which stays."""
    server = {"command": sys.executable, "args": [str(Path(bulk_mcp.__file__))]}
    config = json.dumps({"mcpServers": {"bulk": server}})
    stub.script(*[tool(f"mcp__bulk__{name}", {}) for name in bulk_mcp.TOOLS], text("end"))

    run = client.run_print("go", args=["--mcp-config", config], env={"ENABLE_TOOL_SEARCH": "false"})

    for name, block in zip(bulk_mcp.TOOLS, run.requests[-1].blocks("tool_result"), strict=True):
        shown = _flat(block["content"])
        assert "[brimline stored" in shown
        assert "row 00400 of the table" in stored(installed, shown).decode()
        pictures = [p for p in block["content"] if isinstance(p, dict) and p["type"] == "image"]
        assert bool(pictures) == (name == "picture")
    assert not rejected(run)


@pytest.mark.row("S3-57", "S3-16", "S3-17")
def test_our_own_recall_always_passes(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """What was fetched on purpose is shown, in the main thread and in a subagent."""
    fetch = f"PYTHONPATH={installed.root} {sys.executable} -m brimline store get last"
    task = {"description": "d", "prompt": "look", "subagent_type": "general-purpose"}
    stub.script(
        bash("cat big.txt"),
        bash(fetch),
        tool("Agent", task | {"run_in_background": False}),
        text("end"),
    )
    stub.script_subagents(bash(fetch), text("seen"))

    run = client.run_print("go")

    _, fetched, _ = results([r for r in run.requests if r.kind == "main"][-1])
    assert fetched.startswith(BULK)
    assert results(stub.requests("subagent")[-1])[0].startswith(BULK)


def test_a_second_rewriting_hook_leaves_a_valid_answer(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """The last one to finish wins; either way the model gets one of the two."""
    other = client.project / "other.py"
    answer = {"stdout": "OTHER-HOOK", "stderr": "", "interrupted": False}
    output = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": answer}}
    other.write_text(f"print({json.dumps(output)!r})", encoding="utf-8")
    hook = {"type": "command", "command": f"{sys.executable} {other}"}
    client.write_settings(
        {"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}, "project"
    )
    stub.script(bash("cat big.txt"), text("end"))

    run = client.run_print("go")

    (shown,) = results(run.requests[-1])
    assert shown.startswith(("OTHER-HOOK", "[brimline stored"))
    assert run.rc == 0
    assert not rejected(run)


def test_parallel_reads_of_one_file_show_the_preview_once(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """The other one shows all of the file, which may then be overwritten."""
    path = {"file_path": str(project / "big.txt")}
    write = tool("Write", path | {"content": "new"})
    stub.script(tools(("Read", path), ("Read", path)), write, text("end"))

    run = client.run_print("go")

    shown = ["[brimline stored" in result for result in results(run.requests[-1])[:2]]
    assert shown.count(True) == 1
    assert (project / "big.txt").read_text(encoding="utf-8") == "new"


ASKING = ["--permission-mode", "default"]


def repository(project: Path) -> str:
    """A repository with a change of about 14 kB; returns what `git diff` prints."""
    file = project / "src.py"
    git = ["git", "-C", str(project), "-c", "user.name=t", "-c", "user.email=t@t"]
    file.write_text("".join(f"value_{n} = {n}\n" for n in range(400)), encoding="utf-8")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "src.py"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    file.write_text("".join(f"value_{n} = {n + 1}\n" for n in range(400)), encoding="utf-8")
    return subprocess.run([*git, "diff"], check=True, capture_output=True, text=True).stdout


def test_a_diff_is_seen_with_every_changed_line_by_a_reviewer_without_permissions(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """An unattended review may run `git diff` and nothing else."""
    expected = repository(client.project)
    assert 12_000 < len(expected) < 25_000
    stub.script(bash("git diff"), text("end"))

    run = client.run_print("review", args=[*ASKING, "--allowedTools", "Bash(git diff:*)"])

    (shown,) = results(run.requests[-1])
    assert shown.startswith(expected.rstrip("\n"))


def test_source_below_the_limit_is_seen_whole(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """By a command as by Read."""
    source = "".join(f"def handler_{n}():\n    return {n}\n" for n in range(600))
    assert 20_000 < len(source) < 25_000
    (client.project / "app.py").write_text(source, encoding="utf-8")
    read = tool("Read", {"file_path": str(client.project / "app.py")})
    stub.script(bash("cat app.py"), bash("sed -n '1,2000p' app.py"), read, text("end"))

    run = client.run_print("go", args=ASKING)

    *by_command, by_read = results(run.requests[-1])
    assert all(shown.startswith(source.rstrip("\n")) for shown in by_command)
    assert "handler_599" in by_read
    assert "[brimline" not in by_read


def on_path(installed: Installed) -> Path:
    """A folder that holds the command, as an installed package brings it."""
    folder = installed.root.parent / "bin"
    folder.mkdir()
    code = f"import sys; sys.path.insert(0, {str(installed.root)!r})\n"
    code += "from brimline.cli.main import main; main()\n"
    (folder / "brimline").write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    (folder / "brimline").chmod(0o755)
    return folder


def test_a_log_is_previewed_recalled_without_a_prompt_and_whole_when_the_command_is_repeated(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """With nothing allowed but what a default install allows; 100 kB in pages the client shows."""
    log = "".join(f"10:00:{n % 60:02d} INFO job {n:05d} done in {n * 7} ms\n" for n in range(2_500))
    (client.project / "app.log").write_text(log, encoding="utf-8")
    settings = json.loads(client.settings_path().read_text(encoding="utf-8"))
    client.write_settings(settings | {"bashOutputMaxChars": 150_000})
    env = {"PATH": f"{on_path(installed)}:{client.env({})['PATH']}"}
    stub.script(bash("cat app.log"), text("end"))
    first = client.run_print("go", args=ASKING, env=env)
    (shown,) = results(first.requests[-1])
    assert 95_000 < len(log) < 105_000
    assert shown.startswith("[brimline stored")
    assert "the same call again, which shows all of it once" in shown
    found = re.search(r"The rest: (.* store get sha256:\w+) --lines A:B", shown)
    assert found is not None
    recall = f"{found[1]} --lines 1201:1203"
    assert first.result is not None

    stub.script(bash(recall), bash("cat app.log"), bash("cat app.log"), text("end"))
    again = ["--resume", first.result["session_id"], *ASKING]
    run = client.run_print("on", args=again, env=env)

    _, recalled, whole, preview = results(run.requests[-1])
    assert recalled.startswith("\n".join(log.split("\n")[1200:1203]))
    assert whole.startswith(log.rstrip("\n"))
    assert preview.startswith("[brimline stored")
    assert installed.errors() == ""


def test_without_the_rules_only_what_may_be_repeated_is_replaced(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """The rules come out with an install that leaves them out, and with uninstalling."""
    assert installed.command("uninstall", "--yes").returncode == 0
    assert not client.settings_path().exists()
    installed.install("--no-allow")
    (project / "Makefile").write_text("all:\n\t@cat big.txt big.txt\n", encoding="utf-8")
    stub.script(bash("make all"), bash("cat big.txt"), text("end"))

    run = client.run_print("go", args=[*ASKING, "--allowedTools", "Bash(make:*)"])

    made, shown = results(run.requests[-1])
    assert "[brimline" not in made
    assert shown.startswith("[brimline stored")


def test_of_parallel_twins_one_is_whole_and_a_subagents_repetition_uses_nothing_up(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """Two equal calls in one reply; then the same by an agent, and by the main thread again."""
    call = ("Bash", {"command": "cat big.txt", "description": "x"})
    task = {"description": "d", "prompt": "look", "subagent_type": "general-purpose"}
    stub.script(
        tools(call, call),
        bash("cat big.txt"),
        tool("Agent", task | {"run_in_background": False}),
        bash("cat big.txt"),
        text("end"),
    )
    stub.script_subagents(bash("cat big.txt"), text("seen"))

    run = client.run_print("go", args=ASKING)

    main = [request for request in run.requests if request.kind == "main"][-1]
    *_, third, _, fourth = hidden = ["[brimline stored" in shown for shown in results(main)]
    assert hidden[:2].count(True) == 1
    assert (third, fourth) == (True, False)
    assert "[brimline" not in results(stub.requests("subagent")[-1])[0]
