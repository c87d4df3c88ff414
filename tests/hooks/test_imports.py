"""What a hook loads: an allow-list, because start-up is the whole cost of a hook."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brimline import bundle
from brimline.testing import SessionBuilder, bash_event, event, statusline_event

from .processes import ROOT, build_bundle, command, copy_package, environment, errors, run_hook

# Beyond what an empty `python -I -S` loads. Each addition is paid for on every tool call.
ALLOWED = {"__future__", "_json", "marshal", "posix", "time"}
OURS = {"brimline", "brimline.launch", *bundle.FAST_MODULES}
NOT_WHEN_QUIET = {
    "brimline.config",
    "brimline.decision",
    "brimline.guard.messages",
    "brimline.guard.monitor",
    "brimline.hooks.statusline",
    "brimline.settings",
    "brimline.state.failures",
    "json",
    "os",
    "re",
}
# Modules that may be loaded in a branch but say of themselves that they are fit for the fast path.
FAST_SOURCES = sorted(
    {*bundle.FAST_MODULES, "brimline.launch", "brimline.settings", "brimline.decision"}
)
MODULE_LEVEL = ALLOWED | {"sys", "errno", "_blake2", "_socket", "fcntl", "zlib"}


@pytest.fixture(params=["modules", "bundle"])
def root(request: pytest.FixtureRequest, world: Path) -> str:
    """A copy of the package that nobody else is editing, with and without a bundle."""
    copied = copy_package(world / "copy")
    if request.param == "bundle":
        build_bundle(copied)
    return copied


@pytest.fixture
def calm(session: SessionBuilder, world: Path, root: str) -> SessionBuilder:
    """A session far from the brim, whose policy is compiled."""
    session.now = 1_000_000_000.0
    for tokens in range(40_000, 50_000, 1_000):
        session.reply(tokens)
    run_hook(world, "SessionStart", event("SessionStart", session, source="startup"), root=root)
    return session


@pytest.mark.parametrize("name", ["PostToolUse", "UserPromptSubmit", "PreCompact", "Stop"])
def test_a_quiet_hook_loads_the_allowed_modules_only(
    name: str, calm: SessionBuilder, world: Path, root: str
) -> None:
    """Nothing that decides, speaks or parses settings, and no `json`, `os` or `re`."""
    loaded = _loaded(world, root, name, bash_event(calm, prompt="go on", trigger="auto"))

    assert loaded <= ALLOWED | OURS
    assert not loaded & NOT_WHEN_QUIET


def test_a_status_line_loads_the_allowed_modules_only(
    calm: SessionBuilder, world: Path, root: str
) -> None:
    """The forecast included."""
    loaded = _loaded(world, root, "statusline", statusline_event(calm, 200_000, 49_000))

    assert loaded <= ALLOWED | OURS
    assert "brimline.gauge.forecast" in loaded


def test_a_hook_after_the_announcement_loads_no_texts(
    calm: SessionBuilder, world: Path, root: str
) -> None:
    """Once a tier has spoken, the next hooks only look whether it was left."""
    calm.reply(110_000)
    assert run_hook(world, "PostToolUse", bash_event(calm), root=root).stdout

    loaded = _loaded(world, root, "PostToolUse", bash_event(calm))

    assert loaded <= ALLOWED | OURS
    assert not loaded & {"brimline.guard.messages", "brimline.decision", "brimline.settings"}


def test_the_bundle_holds_what_quiet_hooks_and_the_status_line_load(
    calm: SessionBuilder, world: Path, root: str
) -> None:
    """No module of theirs is looked for on disk, and none is carried along for nothing."""
    loaded = _loaded(world, root, "PostToolUse", bash_event(calm))
    loaded |= _loaded(world, root, "UserPromptSubmit", event("UserPromptSubmit", calm, prompt=""))
    calm.reply(110_000)
    run_hook(world, "PostToolUse", bash_event(calm), root=root)
    loaded |= _loaded(world, root, "PostToolUse", bash_event(calm))
    loaded |= _loaded(world, root, "statusline", statusline_event(calm, 200_000, 110_000))

    assert {name for name in loaded if name.startswith("brimline")} == OURS


@pytest.mark.parametrize("name", FAST_SOURCES)
def test_a_fast_module_imports_only_what_is_allowed(name: str) -> None:
    """Checked on the source: at module level only cheap built-ins and other fast modules."""
    tree = ast.parse(_source(name).read_text(encoding="utf-8"))

    imported = {found for node in tree.body for found in _imports(node)}

    assert {found for found in imported if not _is_fast(found)} <= MODULE_LEVEL


def _loaded(world: Path, root: str, name: str, payload: dict[str, Any]) -> set[str]:
    """The modules that a process loads beyond those of an empty interpreter."""
    empty = [sys.executable, "-I", "-S", "-X", "importtime", "-c", "pass"]
    hook = command(name, root=root, options=("-X", "importtime"))
    loaded = _imported(hook, payload, world) - _imported(empty, {}, world)
    assert "brimline.hooks.entry" in loaded
    assert errors(world) == []
    return loaded


def _imported(arguments: list[str], payload: dict[str, Any], world: Path) -> set[str]:
    done = subprocess.run(
        arguments,
        input=json.dumps(payload).encode(),
        env=environment(world),
        capture_output=True,
        check=True,
        timeout=60,
    )
    lines = done.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


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
    return name.split(".")[0] == "brimline"


def _is_fast(name: str) -> bool:
    """A fast module of ours, or a name that one of them defines."""
    if not _is_ours(name):
        return False
    module = name if _source(name).exists() else name.rpartition(".")[0]
    return module == "brimline" or module in FAST_SOURCES


def _source(name: str) -> Path:
    path = Path(ROOT, *name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
