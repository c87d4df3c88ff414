"""The shape of the house: small modules, small functions, paths in one place, quiet packages."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import brimline
from brimline.fast import bundle

PACKAGE = Path(brimline.__file__).parent
SOURCES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
LONGEST_MODULE_LINES = 600
LONGEST_FUNCTION_LINES = 60
# The two modules whose business it is to know where things live.
KNOW_PATHS = {"fast/paths.py", "clientsettings.py"}


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_is_short_and_says_what_it_is_for(name: str) -> None:
    """At most 600 lines, opening with a sentence."""
    text = SOURCES[name].read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text))

    assert len(text.splitlines()) <= LONGEST_MODULE_LINES
    assert docstring
    assert re.search(r"[.:]$", docstring.splitlines()[0])


@pytest.mark.parametrize("name", SOURCES)
def test_a_function_fits_on_a_screen(name: str) -> None:
    """At most 60 lines."""
    too_long = [
        node.name
        for node in ast.walk(_tree(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION_LINES
    ]

    assert too_long == []


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in KNOW_PATHS])
def test_no_other_module_spells_the_clients_paths(name: str) -> None:
    """Texts for people apart, `.claude` as a place occurs in two modules only."""
    tree = _tree(name)
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    spelled = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in prose
        and re.search(r"(~|\$HOME)?/?\.claude(/|$)", node.value)
    ]

    assert spelled == []


@pytest.mark.parametrize("name", [name for name in SOURCES if name.endswith("__init__.py")])
def test_importing_a_package_runs_nothing(name: str) -> None:
    """A docstring, and at most names with constant values."""
    for node in _tree(name).body:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom(module="__future__"):
                continue
            case ast.Assign(value=ast.Constant()):
                continue
            case _:
                pytest.fail(f"{name} runs {ast.unparse(node)}")


def test_a_fast_module_says_what_it_imports() -> None:
    """Whoever edits it must know that every import there is paid for on every tool call."""
    vague = []
    for name in (*bundle.FAST_MODULES, "brimline.launch", "brimline.hooks.statusline"):
        relative = "/".join(name.split(".")[1:])
        if (PACKAGE / relative).is_dir():
            continue
        docstring = ast.get_docstring(_tree(f"{relative}.py")) or ""
        if "\n\nFast path: imports " not in docstring:
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


def _tree(name: str) -> ast.Module:
    return ast.parse(SOURCES[name].read_text(encoding="utf-8"))
