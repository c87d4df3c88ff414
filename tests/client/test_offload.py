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
from typing import TYPE_CHECKING

import pytest

from brimline.bulk import stub as stubs

from . import bulk_mcp
from .own_environment import OwnEnvironment
from .stub_api import agent, bash, text, tool, tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .brimline_home import Installed
    from .harness import Client, PrintResult
    from .stub_api import StubApi

LINES = [f"line {number:05d} alpha" for number in range(1500)]
BULK = "\n".join(LINES)
STORED = "[brimline stored"
ASKING = ["--permission-mode", "default"]
# Of every tool that is offered by itself, so that no search for it comes first.
OFFERED = {"ENABLE_TOOL_SEARCH": "false"}


def key_of(shown: str) -> str:
    """The key in a reference."""
    found = stubs.first_reference_in(shown)
    assert found is not None, shown[:400]
    return found.key


def stored(installed: Installed, shown: str) -> bytes:
    """The bytes behind a reference."""
    done = installed.command("store", "get", key_of(shown))
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def fetching(installed: Installed, key: str) -> str:
    """The command by which stored content is fetched."""
    return f"PYTHONPATH={installed.root} {sys.executable} -m brimline store get {key}"


def rejected(run: PrintResult) -> list[str]:
    """What the client wrote down about replacements that it did not accept."""
    return [json.dumps(row) for row in run.rows if "does not match" in json.dumps(row)]


@pytest.fixture
def project(client: Client) -> Path:
    """A project with a file that is too large to show."""
    (client.project / "big.txt").write_text(BULK, encoding="utf-8")
    return client.project


@pytest.mark.row("S3-03", "S3-04", "S3-06", "S3-07", "S2-10", "S2-28", "S2-34", "S3-01", "S3-55")
@pytest.mark.row("S3-05", "S3-14", "S3-16", "S3-17", "S3-57")
def test_a_commands_output_is_swapped_for_a_reference_and_comes_back_to_the_byte(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """Also beyond the client's own limit; not a failure's, nor that of what runs elsewhere.

    What was fetched on purpose is shown; inside a subagent's own window nothing is touched.
    """
    background = {"command": "echo done", "description": "x", "run_in_background": True}
    fetch = fetching(installed, "last")
    stub.script(
        bash("cat big.txt"),
        bash(fetch),
        agent(),
        bash("seq 1 200000"),
        bash("cat big.txt; exit 3"),
        tool("Bash", background),
        bash("sleep 0.3"),
        text("end"),
    )
    stub.script_subagents(bash("cat big.txt"), bash(fetch), text(BULK.replace("line", "rows")))

    run = client.run_print("go")

    shown, fetched, report, beyond, failed, elsewhere, _ = run.main[-1].results()
    assert shown.startswith("[brimline stored 25499 bytes, 1500 lines, exit 0")
    assert "line 00000 alpha" in shown
    assert "line 01499 alpha" in shown
    assert len(shown) < 3_000
    assert stored(installed, shown) == BULK.encode()
    assert fetched.startswith(BULK)
    assert stored(installed, beyond) == b"".join(b"%d\n" % n for n in range(1, 200_001))
    assert "persisted-output" not in beyond
    assert failed.startswith("Exit code 3")
    assert "[brimline" not in failed
    assert "running in background with ID" in elsewhere
    assert "rows 00750 alpha" in stored(installed, report).decode()
    inside, fetched_inside = stub.requests("subagent")[-1].results()
    assert "line 00750 alpha" in inside
    assert "[brimline" not in inside
    assert fetched_inside.startswith(BULK)
    calls = [block["id"] for block in run.main[-1].blocks("tool_use")]
    assert [block["tool_use_id"] for block in run.main[-1].blocks("tool_result")] == calls
    assert not rejected(run)


def test_a_failing_command_that_lost_its_end_tells_the_model_how_to_see_it(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client shows both ends of the first 30,000 characters; a shorter one keeps its end."""
    stub.script(bash("seq 1 3000; exit 3"), bash("seq 1 20000; exit 3"), text("end"))

    run = client.run_print("go")

    whole, lost = run.main[-1].results()
    assert "3000\n" in whole
    assert "20000" not in lost
    said = [json.dumps(request.body).count("its end is missing") for request in run.main]
    assert said == [0, 0, 1]


@pytest.mark.row("S3-08", "S3-09", "S3-10", "S3-18", "S3-22", "S3-26")
def test_the_results_of_other_tools_are_swapped_each_in_its_shape(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """Files, notebooks, searches, the web, MCP servers; a second look at a file is whole."""
    installed.command("config", "set", "offload.inline_bytes", "4000")
    for number in range(300):
        folder = project / "deep" / f"folder_{number:03d}_with_a_name_as_long_as_{'x' * 45}"
        folder.mkdir(parents=True)
        (folder / "needle.txt").write_text("needle in the hay\n" * 4, encoding="utf-8")
    source = [f"value_{number} = compute_{number}()\n" for number in range(1_200)]
    notebook = _notebook(project / "study.ipynb", source)
    path = {"file_path": str(project / "big.txt")}
    search = {"pattern": "needle", "head_limit": 0}
    wanted = [
        (tool("Read", {"file_path": notebook}), "compute_600()"),
        *[
            (tool("Grep", search | {"output_mode": mode}), expected)
            for mode, expected in [
                ("content", "needle in"),
                ("files_with_matches", "deep"),
                ("count", "needle.txt:4"),
            ]
        ],
        (tool("Glob", {"pattern": "**/needle.txt"}), "deep/folder_"),
        *[(tool(f"mcp__bulk__{name}", {}), "row 00400 of the table") for name in bulk_mcp.TOOLS],
        (tool("Read", path), "line 00750 alpha"),
    ]
    edit = {"notebook_path": notebook, "cell_id": "c1", "new_source": "x = 1"}
    stub.script(
        *[turn for turn, _ in wanted],
        tool("Read", path | {"offset": 1, "limit": 900}),
        tool("Read", path),
        tool("NotebookEdit", edit),
        tool("Read", {"file_path": str(project / "none.txt")}),
        tool("Read", {"file_path": str(project / "deep")}),
        text("end"),
    )
    server = {"command": sys.executable, "args": [str(Path(bulk_mcp.__file__))]}
    config = json.dumps({"mcpServers": {"bulk": server}})

    # As flags: the client has no search tools of its own unless they are asked for.
    offered = ["--tools", "Bash,Read,Grep,Glob,NotebookEdit", "--mcp-config", config]
    run = client.run_print("go", args=offered, env=OFFERED)

    *swapped, page, again, edited, missing, is_folder = run.requests[-1].results()
    for shown, (_, expected) in zip(swapped, wanted, strict=True):
        assert STORED in shown, expected
        assert len(shown) < 4_000
        assert expected in stored(installed, shown).decode()
    assert "Updated cell" in edited
    assert "line 00899 alpha" in page
    assert "line 00750 alpha" in again
    assert "does not exist" in missing
    assert "EISDIR" in is_folder
    picture = run.requests[-1].blocks("tool_result")[len(wanted) - 2]["content"]
    assert [part["type"] for part in picture].count("image") == 1
    assert not rejected(run)


def _notebook(path: Path, source: list[str]) -> str:
    cell = {"cell_type": "code", "id": "c1", "source": source, "metadata": {}, "outputs": []}
    notebook = {
        "cells": [cell | {"execution_count": None}],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return str(path)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a certificate")
def test_what_the_web_answers_is_swapped(
    client: Client, stub: StubApi, installed: Installed, tmp_path: Path
) -> None:
    """What a small model made of a page, and what the API answered to a search."""
    stub.helper_reply = BULK
    client.write_settings({"skipWebFetchPreflight": True})
    search = tool("WebSearch", {"query": "alpha lines"})
    with web_page(tmp_path) as url:
        fetch = tool("WebFetch", {"url": url, "prompt": "all of it"})
        stub.script(fetch, search, text(BULK), text("end"))
        run = client.run_print("go", env=OFFERED | {"NODE_TLS_REJECT_UNAUTHORIZED": "0"})

    for shown in run.requests[-1].results():
        assert STORED in shown
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


def large_files(project: Path) -> dict[str, str]:
    """Files that are previewed, one of them behind a link as well, and `other.txt`."""
    huge = "\n".join(f"row {number:05d} text and more of the same" for number in range(5_000))
    longer = "".join(f"line {number:05d} of a file that is longer\n" for number in range(1_000))
    files = dict.fromkeys(("big", "seen", "twice", "huge", "paged", "long", "linked"), BULK)
    files |= {"huge": huge, "long": longer}
    for name, content in {**files, "other": BULK}.items():
        (project / f"{name}.txt").write_text(content, encoding="utf-8")
    (project / "link.txt").symlink_to("linked.txt")
    return files


def test_a_previewed_file_is_overwritten_only_on_purpose(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """An Edit of an unseen line works; a Write is refused once, unless all of it was seen.

    In a fork the guard stands; a recall does not lift it, pages that add up do.
    """
    files = large_files(project)
    path, seen, twice, cut, paged, long_path, linked = (
        {"file_path": str(project / f"{name}.txt")} for name in files
    )
    edit = path | {"old_string": "line 00750 alpha", "new_string": "line 00750 BETA"}
    new = {"content": "new"}
    stub.script(
        *(tool("Read", {"file_path": "big.txt"}), tool("Edit", edit)),
        *(tool("Write", path | new), tool("Write", path | new)),
        *(tool("Read", seen), tool("Read", seen), tool("Write", seen | new)),
        tools(("Read", twice), ("Read", twice)),
        tool("Write", twice | new),
        *(tool("Read", cut), tool("Read", cut), tool("Write", cut | new)),
        *(tool("Read", paged), tool("Read", long_path), tool("Read", linked)),
        text("end"),
    )
    run = client.run_print("go")

    _, edited, refused, written, *_, page, _, _, long_as, _ = run.main[-1].results()
    assert ["updated" in done for done in (edited, written)] == [True, True]
    assert "was shown to you as a preview" in refused
    # The client shows as much as fits into a page.
    assert "row 00001 text" in page
    assert "row 04999 text" not in page
    assert [STORED in result for result in run.main[-1].results()[7:9]].count(True) == 1
    # In a fork, which has an id of its own and the whole conversation.
    stub.script(
        *(bash(fetching(installed, key_of(long_as)[:19])), tool("Write", long_path | new)),
        *(tool("Read", paged | {"offset": n, "limit": 500}) for n in (1, 501, 1001)),
        tool("Write", paged | new),
        tool("Write", linked | new),
        *(tool("Read", {"file_path": str(project / "link.txt")}), tool("Write", linked | new)),
        text("end"),
    )
    fork = client.run_print("on", args=["--resume", run.session_id, "--fork-session"])

    assert fork.session_id != run.session_id
    fetched, refused, _, _, _, written, guarded, whole, _ = fork.main[-1].results()[-9:]
    assert fetched.startswith("<persisted-output>")
    assert "was shown to you as a preview" in refused
    assert "updated" in written
    assert "was shown to you as a preview" in guarded
    assert "line 00750 alpha" in whole
    after = {name: (project / f"{name}.txt").read_text(encoding="utf-8") for name in files}
    unseen = {name: files[name] for name in ("huge", "long")}
    assert after == dict.fromkeys(files, "new") | unseen
    assert installed.errors() == ""


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


def test_with_nothing_allowed_but_what_an_install_allows(
    client: Client, stub: StubApi, project: Path
) -> None:
    """A diff and source below the limit are seen whole; a log is a preview, recalled unasked.

    The same command again shows all of it, once: of parallel twins one does, and a subagent's
    repetition uses nothing up.
    """
    installed = OwnEnvironment(client)
    installed.install("--no-mod")
    diff = repository(project)
    body = "    return 'what the handler of this very number answers: %04d'"
    source = "".join(f"def handler_{n}():\n{body % n}\n" for n in range(260))
    log = "".join(f"10:00:{n % 60:02d} INFO job {n:05d} done in {n * 7} ms\n" for n in range(2_500))
    assert 12_000 < len(diff) < 20_000 < len(source) < 25_000
    assert 95_000 < len(log) < 105_000
    (project / "app.py").write_text(source, encoding="utf-8")
    (project / "app.log").write_text(log, encoding="utf-8")
    client.write_settings({"bashOutputMaxChars": 150_000})
    call = ("Bash", {"command": "cat big.txt", "description": "x"})
    stub.script(
        bash("git diff"),
        *(bash("cat app.py"), bash("sed -n '1,2000p' app.py")),
        tool("Read", {"file_path": str(project / "app.py")}),
        *(tools(call, call), bash("cat big.txt"), agent(), bash("cat big.txt")),
        bash("cat app.log"),
        text("end"),
    )
    stub.script_subagents(bash("cat big.txt"), text("seen"))
    first = client.run_print("go", args=[*ASKING, "--allowedTools", "Bash(git diff:*)"])

    changes, by_cat, by_sed, by_read, *twins, third, _, fourth, shown = first.main[-1].results()
    assert changes.startswith(diff.rstrip("\n"))
    assert by_cat.startswith(source.rstrip("\n"))
    assert by_sed.startswith(source.rstrip("\n"))
    assert "handler_259" in by_read
    assert "[brimline" not in by_read
    assert [STORED in twin for twin in twins].count(True) == 1
    assert (STORED in third, STORED in fourth) == (True, False)
    assert not stub.requests("subagent")[-1].results()[0].startswith(STORED)
    assert shown.startswith(STORED)
    assert "The same call again shows all of it once." in shown
    found = re.search(r"sha256:\w{64}\]", shown)
    assert found is not None
    recall = tool("mcp__brimline__recall", {"key": found[0][:-1], "lines": "1201:1203"})
    stub.script(recall, bash("cat app.log"), bash("cat app.log"), text("end"))
    run = client.run_print("on", args=["--resume", first.session_id, *ASKING])

    recalled, whole, preview = run.main[-1].results()[-3:]
    assert "\n".join(log.split("\n")[1200:1203]) in recalled
    assert whole.startswith(log.rstrip("\n"))
    assert preview.startswith(STORED)
    assert installed.errors() == ""


def test_where_recalls_are_asked_for_only_what_may_be_repeated_is_replaced(
    client: Client, stub: StubApi, installed: Installed, project: Path
) -> None:
    """A rule of the user's is stronger than our hook."""
    settings = json.loads(client.settings_path().read_bytes())
    client.write_settings(settings | {"permissions": {"ask": ["mcp__brimline__recall"]}})
    (project / "Makefile").write_text("all:\n\t@cat big.txt big.txt\n", encoding="utf-8")
    stub.script(bash("make all"), bash("cat big.txt"), text("end"))

    run = client.run_print("go", args=[*ASKING, "--allowedTools", "Bash(make:*)"])

    made, shown = run.requests[-1].results()
    assert "[brimline" not in made
    assert shown.startswith(STORED)
