"""The shape of the house: small modules, small functions, names that occur once, quiet packages."""

from __future__ import annotations

import ast
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import brimline
from brimline.hooks import table
from brimline.install import bundle
from brimline.mod import request
from brimline.rooms import TRACES

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(brimline.__file__).parent
SOURCES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
MODULES = {
    f"brimline.{name.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__"): tree
    for name, tree in TREES.items()
}
# What is imported by a name that is put together.
BY_NAME = {
    "brimline.rooms": {f"brimline.{room}.traces" for room in TRACES},
    "brimline.hooks.turn": {
        f"brimline.{room}.hook" for event in table.EVENTS.values() for room in event.rooms
    },
    "brimline.mod.request": {f"brimline.mod.{name}" for name in request.ANSWERED_BY.values()},
}
LONGEST_MODULE_LINES = 600
LONGEST_FUNCTION_LINES = 60
# Keys of the client's rows that are not to be mistaken for anything else, and who names them.
ROW_KEYS = re.compile(
    "isSidechain|parentUuid|toolUseResult|isMeta|gitBranch|compactMetadata|isCompactSummary"
    "|leafUuid|agentId|isVisibleInTranscriptOnly|isApiErrorMessage|forkedFrom|holdsPersonsWords"
    "|sourceToolAssistantUUID|requestedModel|microcompactMetadata|promptSource|planFilePath"
)
KNOW_ROWS = {"transcript/row.py", "transcript/usage.py", "testing.py"}
# The two modules whose business it is to know where things live.
KNOW_PATHS = {"fast/paths.py", "settings/clientsettings.py"}
# The doorstep steps into `main`, and has one of its own.
DOORSTEP = "launch.py"
# Every room has these.
EVERYWHERE = {"__init__.py", "hook.py", "traces.py"}


def test_every_module_keeps_the_rules_of_the_house() -> None:
    """All of them at once: what is wrong is named with its file."""
    wrong = [f"{name}: {fault}" for name in SOURCES for fault in _faults(name)]

    assert not wrong, "\n".join(wrong)


def test_rooms_read_the_fields_of_an_event_and_not_the_clients_json() -> None:
    """What the client calls them is known in one place."""
    read = {
        name for name, path in SOURCES.items() if re.search(r"event\.payload\b", path.read_text())
    }

    assert {name.partition("/")[0] for name in read} == {"hooks"}


def _faults(name: str) -> Iterator[str]:
    text, tree = SOURCES[name].read_text(encoding="utf-8"), TREES[name]
    first = (ast.get_docstring(tree) or "").partition("\n")[0]
    if text.count("\n") > LONGEST_MODULE_LINES:
        yield f"more than {LONGEST_MODULE_LINES} lines"
    if not re.search(r"[.:]$", first):
        yield "does not open with a sentence that says what it is for"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION_LINES:
                yield f"{node.name} does not fit on a screen"
        elif isinstance(node, ast.Import | ast.ImportFrom) and name != DOORSTEP:
            yield from _aliases(node)
    if name not in KNOW_PATHS:
        yield from [f"spells the client's path {path!r}" for path in _client_paths(tree)]
    if name not in KNOW_ROWS:
        keys = sorted(set(ROW_KEYS.findall(text)))
        yield from [f"names the key {key!r} of the client's rows" for key in keys]
    if name.endswith("__init__.py"):
        yield from [f"runs {ast.unparse(node)}" for node in tree.body if _runs(node)]


def _aliases(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Our own modules go by one name only; where a library's would hide ours it gives way."""
    for one in node.names:
        module = node.module or "" if isinstance(node, ast.ImportFrom) else one.name
        if one.asname and module.partition(".")[0] == "brimline":
            yield f"line {node.lineno} calls {one.name} {one.asname}"


def _client_paths(tree: ast.Module) -> Iterator[str]:
    """Texts for people apart, `.claude` as a place occurs in two modules only."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in prose else None
        if isinstance(text, str) and re.search(r"(~|\$HOME)?/?\.claude(/|$)", text):
            yield text


def _runs(node: ast.stmt) -> bool:
    """Whether importing a package does more than name constants."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom(module="__future__"):
            return False
        case ast.Assign(value=ast.Constant()) | ast.FunctionDef():
            return False
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return False
        case _:
            return True


def test_no_file_name_occurs_twice() -> None:
    """Whoever hears one knows which is meant."""
    names = Counter(path.name for path in SOURCES.values())

    assert [name for name, count in names.items() if count > 1 and name not in EVERYWHERE] == []


def test_a_fast_module_says_what_it_imports() -> None:
    """Whoever edits it must know that every import there is paid for on every tool call."""
    vague = []
    for name in (*bundle.FAST_MODULES, "brimline.launch", "brimline.hooks.statusline"):
        relative = "/".join(name.split(".")[1:])
        if (PACKAGE / relative).is_dir():
            continue
        if "\n\nFast path: imports " not in (ast.get_docstring(TREES[f"{relative}.py"]) or ""):
            vague.append(name)

    assert vague == []


def test_every_room_has_its_place_among_the_layers() -> None:
    """The contract sees only what it names."""
    declared = (PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]

    assert [room for room in rooms if f"brimline.{room}" not in declared] == []


def test_every_test_says_what_it_proves() -> None:
    """One sentence each, in every test file of this folder."""
    silent = [
        f"{path.name}: {node.name}"
        for path in sorted(Path(__file__).parent.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]

    assert silent == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """At the top, in functions, by a name in a table or in a text; for its types alone is none."""
    graph = {
        name: {*_imported(tree), *BY_NAME.get(name, ())} & MODULES.keys()
        for name, tree in MODULES.items()
    }

    # Raises with the modules of a circle.
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)


def _imported(node: ast.AST) -> Iterator[str]:
    """The modules that a piece of code imports when it runs."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.If) and "TYPE_CHECKING" in ast.dump(inner.test):
            continue
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value.partition(":")[0]
        if isinstance(inner, ast.Import):
            yield from (alias.name for alias in inner.names)
        if isinstance(inner, ast.ImportFrom):
            for alias in inner.names:
                module = f"{inner.module}.{alias.name}"
                yield module if module in MODULES else str(inner.module)
        yield from _imported(inner)
