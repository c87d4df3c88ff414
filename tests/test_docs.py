"""The documentation as a contract: what exists is documented, and what is documented exists."""

from __future__ import annotations

import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner
from tests.guard.dialogue import set_by_user

from brimline.cli.surface import COMMANDS, program
from brimline.guard import monitor
from brimline.hooks import statusline
from brimline.hooks.table import EVENTS
from brimline.mcp.tools import TOOLS
from brimline.settings import presets
from brimline.settings.catalogue import SETTINGS
from brimline.testing import bash_event, event, statusline_event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.testing import SessionBuilder

ROOT = Path(__file__).parents[1]
MOST_WORDS = 20_000
DOCS = ROOT / "docs"
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
}
WRITTEN = "\n".join(
    text
    for name, text in PAGES.items()
    if name.startswith("docs/") and not text.startswith("<!-- Made by")
)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
# How a variable of the client's, of ours, or of a library's is named in the code.
_VARIABLE = re.compile(
    r"\"((?:ANTHROPIC|BRIMLINE|CLAUDE|DISABLE|HTTPS?|ALL|NO|SSL|SQLITE|XDG)_?[A-Z_0-9]*[A-Z])\""
)
# Those that we set for a program of the client's, and do not read.
ONLY_SET = {"DISABLE_AUTOUPDATER"}
_INLINE = re.compile(r"`(brimline [^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CALL = re.compile(r"(?:^|[|&(;] *|\bif )(brimline(?: [a-z]+)+)", re.MULTILINE)


def commands(
    command: click.Command = program, path: str = "brimline", parent: click.Context | None = None
) -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand with the words that call it."""
    if command is not program:
        yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path, parent=parent)
        for name in COMMANDS if command is program else command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, f"{path} {name}", context)


COMMAND_LIST = dict(commands())


@pytest.mark.row("S1-19")
def test_what_exists_is_mentioned_in_a_written_page() -> None:
    """Commands, settings and events; a generated list does not tell what they are good for."""
    names = [*COMMAND_LIST, *[setting.key for setting in SETTINGS], *EVENTS]

    assert [n for n in names if not re.search(rf"(?<![\w.]){re.escape(n)}\b", WRITTEN)] == []


def test_options_that_pages_name_exist() -> None:
    """Those of ours, and a few of the client's and the benchmarks'."""
    params = [param for c in COMMAND_LIST.values() for param in c.params]
    known = {name for param in params for name in (*param.opts, *param.secondary_opts)}
    known |= {
        "--help",
        "--resume",
        "--autocompact",
        "--bare",
        "--marketplace",
        "--safe-mode",
        "--settings",
        "--check",
        "--samples",
    }

    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", WRITTEN)) - known == set()


def test_settings_that_pages_name_exist() -> None:
    """In prose and in command lines; a setting that went is named in the changelog only."""
    keys = {setting.key for setting in SETTINGS}
    groups = "|".join({key.partition(".")[0] for key in keys if "." in key})
    found = set(re.findall(rf"[` ]((?:{groups})\.[a-z_]+)(?=[` ])", WRITTEN))

    assert found - keys - {"store.py"} == set()


def test_relative_links_resolve() -> None:
    """A link leads to a file that exists and, where it names one, to a heading in it."""
    for name, text in PAGES.items():
        for link in _LINK.findall(_FENCE.sub("", text)):
            path, _, anchor = link.partition("#")
            target = (ROOT / name).parent.joinpath(path).resolve() if path else ROOT / name
            if "://" not in link:
                assert target.exists(), f"{name}: {link}"
                assert target.is_relative_to(ROOT), f"{name}: {link}"
                assert not anchor or anchor in _anchors(target), f"{name}: {link}"


def test_every_page_is_in_the_index() -> None:
    """What is not listed is not found."""
    indexes = (DOCS / "README.md", DOCS / "developers" / "README.md")
    links = [(index.parent / link) for index in indexes for link in _LINK.findall(_page(index))]

    assert set(DOCS.rglob("*.md")) <= {*[link.resolve() for link in links], indexes[0]}


def test_what_holds_a_variable_is_there() -> None:
    """Each file of tests that the table names."""
    table = _page("developers", "variables.md")
    for name in re.findall(r"`([\w/]+\.py)`", table):
        assert (ROOT / "tests" / name).is_file(), name


def test_every_variable_that_is_read_is_in_the_table() -> None:
    """By its name, or the beginning of it."""
    rows = [
        row.split("|")[1] for row in _page("developers", "variables.md").splitlines() if "|" in row
    ]
    told = [name.replace("…", "*") for row in rows for name in re.findall(r"`([A-Z_*…]+)`", row)]
    sources = (ROOT / "src").rglob("*.py")
    read = {name for path in sources for name in _VARIABLE.findall(path.read_text("utf-8"))}

    assert len(read) > 20
    assert {name for name in read if not any(fnmatch(name, one) for one in told)} == ONLY_SET


def test_the_pages_are_short() -> None:
    """All that people wrote is read in two hours; who adds a page takes one out.

    What changed, and what a session that works on brimline is told, is not read like this.
    """
    others = ("CHANGELOG.md", "AGENTS.md", "CLAUDE.md")
    written = [
        text
        for name, text in PAGES.items()
        if name not in others and not text.startswith("<!-- Made by")
    ]

    assert sum(len(re.findall(r"\w\S*", text)) for text in written) <= MOST_WORDS


def test_there_are_few_how_tos_and_no_two_are_called_alike() -> None:
    """Somebody who looks for one sees which it is."""
    titles = [text.partition("\n")[0] for name, text in PAGES.items() if "/how-to/" in name]

    assert len(titles) <= 18
    assert len({title.lower() for title in titles}) == len(titles)


def test_the_readme_is_read_in_two_minutes() -> None:
    """At most 450 words and 14 links, and the first thing to type is one line for the client."""
    text = PAGES["README.md"]
    first_block = text.partition("```text\n")[2].partition("```")[0]

    assert len(text.split()) <= 450
    assert len(_LINK.findall(text)) <= 14
    assert first_block == "/plugin install brimline --marketplace OWNER/brimline\n"


def test_commands_that_pages_name_exist() -> None:
    """In shell blocks and in prose; blocks of a console are run (`test_console.py`)."""
    groups = {path.rpartition(" ")[0] for path in COMMAND_LIST} | {"brimline"}
    for name, text in PAGES.items():
        blocks = [body for language, body in _FENCE.findall(text) if language == "sh"]
        for call in _CALL.findall("\n".join([*blocks, *_INLINE.findall(text)])):
            words = call.split()
            path = next(p for n in (1, 2, 3) if (p := " ".join(words[:n])) not in groups or n == 3)
            assert path in COMMAND_LIST, f"{name}: {call}"


def test_every_template_of_a_message_is_documented_word_for_word() -> None:
    """What the model may be told can be read beforehand."""
    page = _page("reference", "presets.md")

    for preset in presets.load_presets().values():
        ceiling = preset["ceiling"]
        said = [*(preset["tiers"] or {}).values(), *ceiling["notes"], ceiling["refusal"]]
        assert [text for text in [*said, preset["doc"]] if text not in page] == []
    assert monitor.THINKING.strip() in _page("reference", "messages.md")


def test_what_a_session_leaves_behind_is_documented(session: SessionBuilder, home_dir: str) -> None:
    """Each file has a row in the table, each field of telemetry and audit log its name."""
    page = _page("developers", "data-folder.md")
    table = page.partition("| path |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    rows = [re.sub(r"<\w+>", "[^/]+", name.replace(".", "[.]")) for name in names]
    reminder = Path(home_dir).parent / "reminder.md"
    reminder.write_text("Be brief.", encoding="utf-8")
    set_by_user(home_dir, session.cwd, "reminder.file", str(reminder))

    _live(session, home_dir)

    files = [path for path in Path(home_dir).rglob("*") if path.is_file()]
    found = [str(path.relative_to(home_dir)) for path in files]
    assert [name for name in found if not any(re.fullmatch(row, name) for row in rows)] == []
    assert len(found) > 12
    polled = [path for path in files if path.name in ("telemetry.json", "audit.jsonl")]
    lines = [json.loads(line) for path in polled for line in path.read_bytes().splitlines()]
    assert {key for line in lines for key in line if f'"{key}":' not in page} == set()


def test_every_key_of_a_json_document_is_documented(session: SessionBuilder, home_dir: str) -> None:
    """Outer keys and those within, under the command's heading; of `status` in the same order."""
    page = _page("reference", "json.md")
    _live(session, home_dir)
    named = ["--session", session.path]
    documents = {
        "brimline status": ["status", *named],
        "brimline status --composition": ["status", "--composition", *named],
        "brimline history": ["history", "--compactions"],
        "brimline history --session": ["history", "--session", "1111"],
    }

    for heading, arguments in documents.items():
        section = page.partition(f"## `{heading}`\n")[2].partition("\n## ")[0]
        outer = json.loads(CliRunner().invoke(program, [*arguments, "--json"]).stdout)
        inner = [entry for value in outer.values() if isinstance(value, list) for entry in value]
        rows = [outer, *[entry for entry in inner if isinstance(entry, dict)]]
        told = section if "as above" not in section else page
        assert {key for row in rows for key in row if f"`{key}`" not in told} == set(), heading
        if heading == "brimline status":
            assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(outer)


def test_every_dependency_has_its_reason_in_the_decision() -> None:
    """A runtime dependency is listed with what it is for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (page,) = (DOCS / "developers" / "decisions").glob("0002-*.md")
    names = [re.split(r"[<>=~! ]", text)[0] for text in project["dependencies"]]

    assert re.findall(r"^\| `([\w-]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE) == names


def test_decisions_are_numbered_and_short() -> None:
    """Numbers run without gaps, and none is longer than a page."""
    pages = sorted((DOCS / "developers" / "decisions").glob("*.md"))

    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        parts = set(_HEADING.findall(text))
        assert {"Context", "Decision", "Evidence", "What would reverse it"} <= parts, page.name
        assert len(text.splitlines()) <= 60


def _page(*names: str | Path) -> str:
    return DOCS.joinpath(*names).read_text(encoding="utf-8")


def _live(session: SessionBuilder, home_dir: str) -> None:
    """One session with all that leaves a trace: limits, a ceiling, tiers, a compaction."""
    from brimline.hooks.entry import respond

    def tell(payload: dict[str, Any]) -> None:
        respond(payload["hook_event_name"], json.dumps(payload).encode(), home_dir)

    skill = {"tool_name": "Skill", "tool_input": {"skill": "docs:writer"}}
    tell(event("SessionStart", session, source="startup"))
    session.prompt("find the bug")
    session.tool_call(60_000, command="make test")
    told = statusline_event(session, 200_000, None)
    told["rate_limits"] = {"five_hour": {"used_percentage": 95, "resets_at": 4_000_000_000}}
    statusline.respond(json.dumps(told).encode(), home_dir)
    tell(event("UserPromptSubmit", session, prompt="go on"))
    for tokens in (90_000, 163_000, 165_000):
        session.tool_result(session.tool_call(tokens, command="make test"), "ok")
        tell(bash_event(session))
        tell(event("PreToolUse", session, **skill))
    tell(event("PreCompact", session, trigger="auto"))
    tell(event("PostCompact", session, trigger="auto", compact_summary="Summary."))
    tell(event("SessionStart", session, source="compact"))


def _anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get when it is shown."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(text)
    }


def test_what_was_once_claimed_and_untrue_is_not_claimed_again() -> None:
    """How many hooks and tools there are; that copies lie beside a session; what memory reads."""
    counted = ["seven", "eight", "nine", "ten", "eleven", "twelve"]
    told = re.findall(rf"\b(?:adds|has|runs|installs) ({'|'.join(counted)}) hooks", WRITTEN)

    assert {counted.index(word) + 7 for word in told} <= {len(EVENTS)}
    assert "loses nothing that matters" not in WRITTEN
    assert "Replies of the model are not stored" not in WRITTEN
    assert "Not there yet: memory" not in WRITTEN
    for page in ("README.md", "docs/explanation/safety.md", "docs/how-to/troubleshoot.md"):
        assert "brimline config set memory.exclude /`" in PAGES[page]
    recall = PAGES["docs/how-to/recall-stored-output.md"]
    assert [tool["name"] for tool in TOOLS if f"\n| `{tool['name']}`" not in recall] == []
    for page in ("safety", "data-folder"):
        text = next(text for name, text in PAGES.items() if name.endswith(f"/{page}.md"))
        assert re.search(
            r"cop(y|ies).* beside the session|\*\*beside a session\*\*.* cop(y|ies)", text
        )
