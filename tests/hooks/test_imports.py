"""What a hook loads: an allow-list, because start-up is the whole cost of a hook."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from brimline.install import bundle
from brimline.testing import SessionBuilder, bash_event, event, statusline_event

from .processes import ROOT, build_bundle, copy_package, loaded_modules, run_hook

# Beyond what an empty `python -I -S` loads. Each addition is paid for on every tool call.
ALLOWED = {"__future__", "_json", "gc", "marshal", "posix", "time"}
# What fast modules may name at module level, whether or not a quiet hook gets there.
MODULE_LEVEL = ALLOWED | {"sys", "errno", "_blake2", "_socket", "fcntl", "zlib"}
NOT_WHEN_QUIET = {
    *("brimline.settings.config", "brimline.settings.values"),
    *("brimline.fast.decision", "brimline.state.logs"),
    *("json", "os", "re"),
}
QUIET = {"brimline", "brimline.launch", *bundle.FAST_MODULES}


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


@pytest.mark.row("S0-25", "S1-14")
def test_a_quiet_hook_loads_what_is_allowed(calm: SessionBuilder, world: Path, root: str) -> None:
    """Nothing that decides, speaks or parses settings, and no `json`, `os` or `re`.

    The most frequent one by far loads exactly what is bundled; the status line may look at the
    error log, and a hook after an announcement at the tiers.
    """
    payload = bash_event(calm, prompt="go on", trigger="auto")
    write = {"tool_name": "Write", "tool_input": {"file_path": "/a", "content": "b"}}
    loaded = {
        name: loaded_modules(world, root, name, payload)
        for name in ("PostToolUse", "UserPromptSubmit", "Stop")
    }
    loaded["PreToolUse"] = loaded_modules(world, root, "PreToolUse", payload | write)
    assert {name for name in loaded["PostToolUse"] if _is_ours(name)} == QUIET
    calm.reply(110_000)
    assert run_hook(world, "PostToolUse", bash_event(calm), root=root).stdout
    loaded["announced"] = loaded_modules(world, root, "PostToolUse", bash_event(calm))
    assert "brimline.guard.monitor" in loaded["announced"]
    shown = statusline_event(calm, 200_000, 49_000)
    loaded["statusline"] = loaded_modules(world, root, "statusline", shown) - {
        "brimline.state.logs"
    }
    assert "brimline.gauge.forecast" in loaded["statusline"]

    for name, modules in loaded.items():
        assert modules <= ALLOWED | FAST.keys(), name
        assert not modules & NOT_WHEN_QUIET, name


def test_a_hook_before_any_settings_were_compiled_parses_no_settings(
    session: SessionBuilder, world: Path, root: str
) -> None:
    """Without a compiled file defaults hold; only the table of models is read."""
    session.reply(40_000)
    loaded = loaded_modules(world, root, "PostToolUse", bash_event(session))
    assert "brimline.settings.values" in loaded
    assert not loaded & {"brimline.settings.config", "json", "pathlib", "dataclasses"}


def test_with_the_bundle_two_built_in_modules_are_loaded_beyond_an_empty_interpreter(
    calm: SessionBuilder, world: Path, root: str
) -> None:
    """The most frequent hook by far looks for no module on disk."""
    build_bundle(root)
    quiet = loaded_modules(world, root, "PostToolUse", bash_event(calm))
    assert {name for name in quiet if not _is_ours(name)} == {"_json", "gc"}


def test_what_is_bundled_says_that_it_is_fast() -> None:
    """And comes after everything that it imports itself, which is loaded first."""
    assert FAST.keys() >= QUIET
    for at, name in enumerate(bundle.FAST_MODULES):
        needed = {found for found in _imports_of(FAST[name]) if found in bundle.FAST_MODULES}
        assert needed <= set(bundle.FAST_MODULES[:at])


@pytest.mark.row("S1-14")
def test_a_fast_module_imports_only_what_is_allowed() -> None:
    """Checked on the source: at module level only cheap built-ins and other fast modules."""
    for name, path in FAST.items():
        foreign = {found for found in _imports_of(path) if not _is_fast(found)}
        assert foreign <= MODULE_LEVEL, name


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
