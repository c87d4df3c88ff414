"""Which instruction files the real client loads by itself, and when: a mark in every place.

Each test also asks `brimline rules show` what it says of those files.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from brimline.rules import cascade
from brimline.settings import clientsettings

from .brimline_home import Installed
from .stub_api import bash, text, too_long, tool

if TYPE_CHECKING:
    from pathlib import Path

    from .harness import Client
    from .stub_api import Request, StubApi, Turn

MARK = re.compile(r"MARK-[A-Z0-9-]+")
NUMBERED = re.compile(r"\d+\\\\?t[^\\]*")


class Marks:
    """Instruction files whose text is a mark made from their path."""

    def __init__(self, client: Client) -> None:
        """Begin with none."""
        self.client = client
        self.installed = Installed(client)
        self.roots = {"project": client.project, "config": client.config}
        self.roots |= {"above": client.project.parent, "home": client.home}
        self.paths: dict[str, Path] = {}

    def put(self, *names: str, front: str = "", tail: str = "") -> None:
        """Write files by root and path, such as `project/sub/CLAUDE.md`."""
        for name in names:
            root, _, rest = name.partition("/")
            path = self.roots[root] / rest
            path.parent.mkdir(parents=True, exist_ok=True)
            mark = "MARK-" + re.sub(r"[^A-Z0-9]+", "-", name.upper())
            path.write_text(f"{front}{mark}\n{tail}", encoding="utf-8")
            self.paths[mark] = path

    def read(self, name: str, content: str = "content") -> Turn:
        """A turn in which the model reads a file of the project, which is written first."""
        path = self.client.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(content, encoding="utf-8")
        return tool("Read", {"file_path": str(path)})

    def said(self) -> dict[str, str]:
        """What `brimline rules show` says of each mark's file: when the client loads it."""
        files = {each["path"]: each["client"] for each in self.listing()["files"]}
        return {mark: files.get(str(path), "absent") for mark, path in self.paths.items()}

    def listing(self) -> dict[str, Any]:
        """`brimline rules show --json` in the client's home."""
        done = self.installed.command("rules", "show", "--json")
        report: dict[str, Any] = json.loads(done.stdout)
        return report


@pytest.fixture
def marks(client: Client) -> Marks:
    """No instruction files yet."""
    return Marks(client)


def seen(request: Request) -> list[str]:
    """The marks that the model sees, in order."""
    return MARK.findall(json.dumps(request.body.get("system")) + json.dumps(request.messages))


def loaded(request: Request) -> list[str]:
    """The marks that stand there as instructions, not as numbered lines of a file that was read.

    After a compaction the client reads up to five files again, nested instructions among them.
    """
    return MARK.findall(NUMBERED.sub("", json.dumps(request.messages)))


def at_start(said: dict[str, str]) -> list[str]:
    """The marks of which we say that the client loads them at the start."""
    return [mark for mark, when in said.items() if when == "start"]


@pytest.mark.row("S2-04", "S2-06", "S2-07", "S2-39", "S2-40")
def test_every_level_loads_when_we_say_it_does(client: Client, stub: StubApi, marks: Marks) -> None:
    """At the start in the order we print, on reading a file below or one that matches, or never."""
    private = re.sub(r"[^a-zA-Z0-9]", "-", str(client.project))
    marks.put("config/CLAUDE.md", "config/rules/all.md", "above/CLAUDE.md", "above/CLAUDE.local.md")
    marks.put("above/.claude/CLAUDE.md", "above/.claude/rules/r.md")
    marks.put("project/CLAUDE.md", "project/.claude/CLAUDE.md", "project/.claude/rules/a/b.md")
    marks.put("project/CLAUDE.local.md", "project/AGENTS.md", "project/.claude/AGENTS.md")
    marks.put(f"config/projects/{private}/CLAUDE.md", "project/rules/standard.md")
    marks.put("project/sub/CLAUDE.md", "project/sub/.claude/CLAUDE.md", "project/sub/AGENTS.md")
    marks.put("project/sub/.claude/rules/n.md", "project/sub/CLAUDE.local.md")
    marks.put("project/sub/deep/CLAUDE.md", "project/other/CLAUDE.md")
    scoped = "---\npaths: src/**/*.py\n---\n"
    marks.put("project/.claude/rules/scoped.md", "config/rules/scoped.md", front=scoped)
    stub.script(marks.read("sub/deep/f.txt"), marks.read("src/a/f.py"), text("end"))

    first, after_sub, after_src = (seen(r) for r in client.run_print("go").main)

    said = marks.said()
    assert sorted(first) == sorted(at_start(said))
    # Weakest first: user, above, project, its own folder, rules, private.
    paths = [str(marks.paths[mark]) for mark in first]
    assert paths == [each["path"] for each in marks.listing()["files"] if each["path"] in paths]
    nested = after_sub[len(first) :]
    assert {said[mark] for mark in nested} == {"read"}
    assert sorted(nested) == sorted(
        mark for mark, when in said.items() if when == "read" and "OTHER" not in mark
    )
    matched = after_src[len(after_sub) :]
    assert sorted(matched) == sorted(mark for mark, when in said.items() if when == "match")
    assert len(matched) == 2
    never = {mark for mark, when in said.items() if when in ("never", "absent")}
    assert {mark.rpartition("-")[0].rpartition("-")[2] for mark in never} >= {"AGENTS", "STANDARD"}
    assert not never & set(after_src)


def test_agents_md_stands_in_where_we_say(client: Client, stub: StubApi, marks: Marks) -> None:
    """For a CLAUDE.md that is not there, at the start and in a folder below."""
    marks.put("project/AGENTS.md", "project/.claude/AGENTS.md", "project/sub/AGENTS.md")
    for name in ("config/CLAUDE.md", "project/sub/CLAUDE.md", "above/CLAUDE.md"):
        marks.put(name)
        if "sub" in name:
            marks.put("project/.claude/rules/r.md")
        stub.script(marks.read("sub/f.txt"), text("end"))

        first, last = (seen(request) for request in client.run_print("go").main)

        said = marks.said()
        assert sorted(first) == sorted(at_start(said)), name
        assert sorted(last) == sorted(mark for mark, when in said.items() if when != "never"), name


def test_imports_load_as_deep_as_we_say(client: Client, stub: StubApi, marks: Marks) -> None:
    """Four in a row; not from code, not in circles twice, not from outside unless approved."""
    marks.put(
        "project/CLAUDE.md",
        tail="@1.md\n`@span.md`\n\n    @indented.md\n\n```\n@fenced.md\n```\n"
        "@../above.md\n@~/h.md\n",
    )
    for number in range(1, 7):
        marks.put(f"project/{number}.md", tail=f"@{number + 1}.md\n@CLAUDE.md\n")
    marks.put("project/span.md", "project/indented.md", "project/fenced.md")
    marks.put("above/above.md", "home/h.md", "home/own.md")
    marks.put("config/CLAUDE.md", tail="@~/own.md\n")
    stub.script(text("end"))

    (request,) = client.run_print("go").main

    assert sorted(seen(request)) == sorted(at_start(marks.said()))
    assert [mark for mark in seen(request) if mark[-4:] == "1-MD"] == ["MARK-PROJECT-1-MD"]
    assert marks.said()["MARK-PROJECT-4-MD"] == "start"
    assert marks.said()["MARK-PROJECT-5-MD"] == "absent"
    assert marks.said()["MARK-ABOVE-ABOVE-MD"] == "absent"


def test_a_compaction_brings_back_what_we_say(client: Client, stub: StubApi, marks: Marks) -> None:
    """What loads at the start is loaded again; what lies below comes when it is read again."""
    marks.put(
        "config/CLAUDE.md", "above/CLAUDE.md", "project/CLAUDE.md", "project/.claude/CLAUDE.md"
    )
    marks.put("project/.claude/rules/r.md", "project/CLAUDE.local.md", "project/sub/CLAUDE.md")
    others = [marks.read(f"other{number}.txt") for number in range(8)]
    again = marks.read("sub/f.txt")
    stub.script(
        marks.read("sub/f.txt"),
        *others,
        too_long(210_000, 200_000),
        bash("true"),
        again,
        text("end"),
    )

    run = client.run_print("go")

    compaction = run.kinds.index("compaction")
    after = loaded(run.requests[compaction + 1])
    nested = "MARK-PROJECT-SUB-CLAUDE-MD"
    files = {each["path"]: each["survives_compaction"] for each in marks.listing()["files"]}
    kept = [mark for mark, path in marks.paths.items() if files[str(path)]]
    assert sorted(after) == sorted(kept)
    assert not files[str(marks.paths[nested])]
    assert nested in seen(run.requests[compaction - 1])
    assert nested in seen(run.requests[-1])


@pytest.mark.row("S4-03", "S4-26")
def test_marked_rules_that_a_summary_loses_come_back_once(
    client: Client, stub: StubApi, marks: Marks
) -> None:
    """Of a folder below and of a path rule, once this session had them; the root's come by itself.

    The files they are about are gone: those that it reads again it loads with their rules, and
    what it reads again as a file, with numbers, is not counted.
    """
    installed = marks.installed
    installed.install()
    scoped = "---\npaths: src/**/*.py\n---\n"
    marks.put("project/CLAUDE.md", tail="- ROOT always (CRITICAL)\n")
    marks.put("project/.claude/rules/py.md", front=scoped, tail="- SCOPED always (ENFORCED)\n")
    marks.put("project/sub/CLAUDE.md", tail="- NESTED always (ENFORCED)\n")
    marks.put("project/other/CLAUDE.md", tail="- OTHER always (ENFORCED)\n")
    stub.script(
        *(marks.read("sub/f.txt"), marks.read("src/a.py"), bash("rm src/a.py sub/f.txt")),
        *(*(bash("true") for _ in range(8)), too_long(210_000, 200_000), bash("true"), text("end")),
    )

    run = client.run_print("go")

    after = run.requests[run.kinds.index("compaction") + 1]
    sent = NUMBERED.sub("", json.dumps(after.messages))
    rules = ("ROOT", "SCOPED", "NESTED", "OTHER")
    assert [sent.count(f"{name} always") for name in rules] == [1, 1, 1, 0]
    shown = " ".join(installed.command("rules", "show").stdout.decode().split())
    assert shown.count("at the start, and again after a summary") == 1
    assert shown.count("brimline brings its marked rules back") == 3
    assert installed.errors() == ""


@pytest.mark.row("S4-04")
def test_the_memory_index_comes_first_and_a_rule_for_docs_with_an_edit_of_docs(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """The client loads both itself, with us installed: the index in every session's first request.

    A rule for pages is silent for code, and there once a page is written.
    """
    private = re.sub(r"[^a-zA-Z0-9]", "-", str(client.project))
    memory = client.config / "projects" / private / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- [Ports](ports.md): MARK-INDEX\n", encoding="utf-8")
    rule = client.project / ".claude" / "rules" / "docs.md"
    rule.parent.mkdir(parents=True)
    line = "- A sentence a line."
    rule.write_text(f"---\npaths: docs/**\n---\n{line}\n", encoding="utf-8")
    page = str(client.project / "docs" / "page.md")
    code = str(client.project / "src" / "x.py")
    stub.script(
        tool("Write", {"file_path": code, "content": "x = 1\n"}),
        tool("Write", {"file_path": page, "content": "# Page\n"}),
        text("end"),
    )

    first, after_code, after_page = client.run_print("go").main
    again, *_ = client.run_print("go").main

    assert [seen(request) for request in (first, again)] == [["MARK-INDEX"]] * 2
    assert line not in after_code.seen_text()
    assert line in after_page.seen_text()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a mount namespace")
def test_the_organisations_files_load_where_we_say_they_do(
    client: Client, stub: StubApi, marks: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put into /etc in a namespace of the test's own; the machine's /etc is not touched."""
    upper, work = client.tmp / "upper", client.tmp / "work"
    work.mkdir()
    marks.roots["managed"] = upper / "claude-code"
    marks.put("managed/CLAUDE.md", tail="@more.md\n")
    marks.put("managed/more.md", "managed/.claude/rules/r.md", "project/CLAUDE.md")
    settings = upper / "claude-code" / "managed-settings.json"
    settings.write_text(json.dumps({"claudeMd": "MARK-SETTING"}), encoding="utf-8")
    wrapper = _in_namespace(upper, work)
    monkeypatch.setattr(client, "binary", wrapper(client.tmp / "claude.sh", client.binary))
    stub.script(text("end"))

    (request,) = client.run_print("go").main

    assert seen(request) == [
        "MARK-MANAGED-CLAUDE-MD",
        "MARK-SETTING",
        "MARK-MANAGED-CLAUDE-RULES-R-MD",
        "MARK-PROJECT-CLAUDE-MD",
    ]
    monkeypatch.setattr(clientsettings, "_MANAGED", str(settings.parent))
    sources = cascade.gather_instruction_files(str(client.project)).sources
    ours = {source.path: source.client for source in sources}
    assert ours[str(settings)] == "start"
    assert ours[str(marks.paths["MARK-MANAGED-CLAUDE-MD"])] == "start"
    assert ours[str(marks.paths["MARK-MANAGED-CLAUDE-RULES-R-MD"])] == "start"
    assert ours[str(marks.paths["MARK-MANAGED-MORE-MD"])] == "never"


def _in_namespace(upper: Path, work: Path) -> Any:
    """Make a script that runs the client with files laid over /etc; skip where that is refused."""
    options = f"lowerdir=/etc,upperdir={upper},workdir={work}"
    mount = f"mount -t overlay overlay -o {options} /etc"
    unshare = shutil.which("unshare")
    tried = unshare and subprocess.run(
        [unshare, "-m", "/bin/sh", "-c", mount], capture_output=True, check=False, timeout=60
    )
    if not tried or tried.returncode:
        pytest.skip("no private mount namespace here: the managed folder cannot be tested")

    def write(path: Path, binary: Path) -> Path:
        inner = f'{mount} && exec "$0" "$@"'
        path.write_text(f"#!/bin/sh\nexec {unshare} -m /bin/sh -c '{inner}' {binary} \"$@\"\n")
        path.chmod(0o755)
        return path

    return write
