"""What a hook loads: an allow-list, because start-up is the whole cost of a hook."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import bundle
from brimline.launch import bootstrap
from brimline.testing import SessionBuilder, bash_event, event, statusline_event

from .processes import ROOT, build_bundle, copy_package, environment, errors, run_hook

# Beyond what an empty `python -I -S` loads. Each addition is paid for on every tool call.
ALLOWED = {"__future__", "_json", "marshal", "posix", "time"}
# What fast modules may name at module level, whether or not a quiet hook gets there.
MODULE_LEVEL = ALLOWED | {"sys", "errno", "_blake2", "_socket", "fcntl", "zlib"}
NOT_WHEN_QUIET = {
    "brimline.config",
    "brimline.decision",
    "brimline.settings",
    "brimline.state.logs",
    "json",
    "os",
    "re",
}
QUIET = {"brimline", "brimline.launch", *bundle.FAST_MODULES}
# Prints the names of all loaded modules at the moment the process leaves.
SPY = """import posix, sys
def leave(code, leave=posix._exit):
    posix.write(2, chr(10).join(sys.modules).encode())
    leave(code)
posix._exit = leave
"""


def _says_fast(path: Path) -> bool:
    """Whether a module claims to be fit for the fast path; packages without code always are."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return "Fast path:" in (ast.get_docstring(tree) or "") or path.name == "__init__.py"


def _name_of(path: Path) -> str:
    relative = path.relative_to(ROOT).with_suffix("")
    return ".".join(part for part in relative.parts if part != "__init__")


FAST = {_name_of(p): p for p in sorted(Path(ROOT, "brimline").rglob("*.py")) if _says_fast(p)}


@pytest.fixture(params=["modules", "bundle"])
def root(request: pytest.FixtureRequest, world: Path) -> str:
    """A copy of the package that nobody else is editing, with and without a bundle."""
    copied = copy_package(world / "copy")
    if request.param == "bundle":
        build_bundle(copied)
    return copied


@pytest.fixture
def calm(session: SessionBuilder, world: Path, root: str) -> SessionBuilder:
    """A session far from the brim that has just begun, and was measured once."""
    session.now = 1_000_000_000.0
    for tokens in range(40_000, 50_000, 1_000):
        session.reply(tokens)
    run_hook(world, "SessionStart", event("SessionStart", session, source="startup"), root=root)
    run_hook(world, "PostToolUse", bash_event(session), root=root)
    return session


@pytest.mark.row("S1-14")
@pytest.mark.row("S0-25")
@pytest.mark.parametrize("name", ["PostToolUse", "UserPromptSubmit", "Stop", "PreToolUse"])
def test_a_quiet_hook_loads_the_allowed_modules_only(
    name: str, calm: SessionBuilder, world: Path, root: str
) -> None:
    """Nothing that decides, speaks or parses settings, and no `json`, `os` or `re`."""
    payload = bash_event(calm, prompt="go on", trigger="auto")
    if name == "PreToolUse":
        payload |= {"tool_name": "Write", "tool_input": {"file_path": "/a", "content": "b"}}
    loaded = _loaded(world, root, name, payload)

    assert loaded <= ALLOWED | FAST.keys()
    assert not loaded & NOT_WHEN_QUIET


def test_the_bundle_holds_exactly_what_a_quiet_tool_call_loads(
    calm: SessionBuilder, world: Path, root: str
) -> None:
    """The most frequent hook by far looks for no module on disk and carries none for nothing."""
    loaded = _loaded(world, root, "PostToolUse", bash_event(calm))

    assert {name for name in loaded if _is_ours(name)} == QUIET
    build_bundle(root)  # with it, one built-in module beyond an empty interpreter
    loaded = _loaded(world, root, "PostToolUse", bash_event(calm))
    assert {name for name in loaded if not _is_ours(name)} == {"_json"}


def test_a_status_line_loads_the_allowed_modules_only(
    calm: SessionBuilder, world: Path, root: str
) -> None:
    """The forecast included."""
    loaded = _loaded(world, root, "statusline", statusline_event(calm, 200_000, 49_000))

    assert loaded <= ALLOWED | FAST.keys()
    assert not loaded & (NOT_WHEN_QUIET - {"brimline.state.logs"})
    assert "brimline.gauge.forecast" in loaded


def test_a_hook_after_the_announcement_loads_no_texts(
    calm: SessionBuilder, world: Path, root: str
) -> None:
    """Once a tier has spoken, the next hooks only look whether it was left."""
    calm.reply(110_000)
    assert run_hook(world, "PostToolUse", bash_event(calm), root=root).stdout

    loaded = _loaded(world, root, "PostToolUse", bash_event(calm))

    assert loaded <= ALLOWED | FAST.keys()
    assert "brimline.guard.monitor" in loaded
    assert not loaded & NOT_WHEN_QUIET


def test_what_is_bundled_says_that_it_is_fast() -> None:
    """And comes after everything that it imports itself, which is loaded first."""
    assert FAST.keys() >= QUIET
    for at, name in enumerate(bundle.FAST_MODULES):
        needed = {found for found in _imports_of(FAST[name]) if found in bundle.FAST_MODULES}
        assert needed <= set(bundle.FAST_MODULES[:at])


@pytest.mark.row("S1-14")
@pytest.mark.parametrize("name", FAST)
def test_a_fast_module_imports_only_what_is_allowed(name: str) -> None:
    """Checked on the source: at module level only cheap built-ins and other fast modules."""
    foreign = {found for found in _imports_of(FAST[name]) if not _is_fast(found)}

    assert foreign <= MODULE_LEVEL


def _loaded(world: Path, root: str, name: str, payload: dict[str, Any]) -> set[str]:
    """The modules that a process has loaded when it leaves, beyond those of an empty one."""
    empty = _modules(SPY + "posix._exit(0)", world, "", {})
    loaded = _modules(SPY + bootstrap(root), world, name, payload) - empty
    assert "brimline.hooks.entry" in loaded
    assert errors(world) == []
    return loaded


def _modules(code: str, world: Path, name: str, payload: dict[str, Any]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, name],
        input=json.dumps(payload).encode(),
        env=environment(world),
        capture_output=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.decode().splitlines())


def _imports_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {found for node in tree.body for found in _imports(node)}


def _imports(node: ast.stmt) -> set[str]:
    """What a statement imports when the module is loaded on CPython and POSIX."""
    match node:
        case ast.Import(names=names):
            return {alias.name for alias in names}
        case ast.ImportFrom(module=str(module), names=names):
            return {module} | {f"{module}.{alias.name}" for alias in names if _is_ours(module)}
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
            return {found for inner in otherwise for found in _imports(inner)}
        case ast.If(body=body, orelse=otherwise):
            return {found for inner in [*body, *otherwise] for found in _imports(inner)}
        case ast.Try(body=body):
            # The handlers of ImportError serve other implementations and systems.
            return {found for inner in body for found in _imports(inner)}
        case _:
            return set()


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "brimline"


def _is_fast(name: str) -> bool:
    """A fast module of ours, or a name that one of them defines."""
    # `errors` holds nothing but exceptions, for branches in which speed no longer matters.
    fast = {*FAST, "brimline.errors"}
    return _is_ours(name) and (name in fast or name.rpartition(".")[0] in fast)
