"""How a hook process starts: which programs are launchers of ours, and which code is current."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from brimline import launch
from brimline.fast import clock
from brimline.launch import PACKAGE_DIR


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (launch.bootstrap_code("/a"), True),
        ("from brimline.launch import main", True),
        ("from brimline.hooks import entry", False),
        ("from other import main", False),
    ],
)
def test_a_launcher_is_known_by_its_code(tmp_path: Path, text: str, ours: bool) -> None:
    """In a place of ours; elsewhere it is not looked into."""
    place = tmp_path / "data" / "bin" / "hook"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")
    elsewhere = tmp_path / "hook2"
    elsewhere.write_text(launch.bootstrap_code("/a"), encoding="utf-8")

    assert launch.is_launcher(str(place)) is ours
    assert launch.is_launcher(str(elsewhere)) is False


def test_a_launcher_that_is_gone_is_known_by_its_usual_place(tmp_path: Path) -> None:
    """A pipe in its place is none, and nobody waits for it."""
    assert launch.is_launcher(f"{tmp_path}/brimline/bin/hook")
    assert launch.is_launcher(f"{tmp_path}/other/bin/hook") is False
    pipe = tmp_path / "bin" / "hook"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    assert launch.is_launcher(str(pipe)) is False


def test_the_code_tells_what_was_installed() -> None:
    """Whatever letters a folder has, in plain ones."""
    code = launch.bootstrap_code("/a'ü", "/data")

    assert code.isascii()
    assert "main('/data')" in code
    assert launch.is_bootstrap(code)
    compile(code, "x", "exec")


def test_code_is_current_while_its_source_is_as_it_was() -> None:
    """Another time, another size, or no file: plain imports do the work."""
    code = compile("", "x", "exec")
    told = Path(clock.__file__).stat()
    current = ("brimline.fast.clock", "/fast/clock.py", told.st_mtime_ns, told.st_size, code)
    assert launch.is_source_unchanged(current)
    assert not launch.is_source_unchanged(
        ("x", "/fast/clock.py", told.st_mtime_ns + 1, told.st_size, code)
    )
    assert not launch.is_source_unchanged(
        ("x", "/fast/clock.py", told.st_mtime_ns, told.st_size + 1, code)
    )
    assert (
        launch.is_source_unchanged(("x", "/gone.py", told.st_mtime_ns, told.st_size, code)) is False
    )


def entry(name: str, file: str, text: str) -> launch.Entry:
    """One of a bundle, as current as its source is."""
    told = Path(PACKAGE_DIR + file).stat()
    return (name, file, told.st_mtime_ns, told.st_size, compile(text, file, "exec"))


def test_modules_of_a_bundle_are_known_until_one_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A package has its folder; whatever comes behind one that changed is imported plainly."""
    import brimline

    for name in ("made", "kept", "later"):
        monkeypatch.setitem(sys.modules, f"brimline.{name}", sys)
        monkeypatch.delitem(sys.modules, f"brimline.{name}")
        monkeypatch.setattr(brimline, name, None, raising=False)
    changed = ("brimline.none", "/fast/clock.py", 0, 0, compile("", "x", "exec"))
    package = entry("brimline.made", "/fast/__init__.py", "value = __package__")
    module = entry("brimline.kept", "/fast/clock.py", "value = __package__")

    launch.load_modules([package, module, changed, entry("brimline.later", "/fast/clock.py", "")])

    made, kept = sys.modules["brimline.made"], sys.modules["brimline.kept"]
    assert (made.value, kept.value) == ("brimline.made", "brimline")
    assert made.__path__ == [f"{PACKAGE_DIR}/fast"]
    assert (made.__file__, kept.__file__) == (
        f"{PACKAGE_DIR}/fast/__init__.py",
        f"{PACKAGE_DIR}/fast/clock.py",
    )
    assert not hasattr(kept, "__path__")
    assert vars(brimline)["kept"] is kept
    assert "brimline.later" not in sys.modules


def test_a_module_that_fails_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a plain import tries it again."""
    monkeypatch.setitem(sys.modules, "brimline.broken", sys)
    monkeypatch.delitem(sys.modules, "brimline.broken")

    with pytest.raises(ZeroDivisionError):
        launch.load_modules([entry("brimline.broken", "/fast/clock.py", "1 / 0")])
    assert "brimline.broken" not in sys.modules


def test_a_bundle_of_another_interpreter_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or of another format; it is looked for beside the package's byte code."""
    import marshal

    assert launch.bundle_path().startswith(f"{PACKAGE_DIR}/__pycache__/fastpath.")
    path = tmp_path / "bundle"
    monkeypatch.setattr(launch, "bundle_path", lambda: str(path))
    path.write_bytes(marshal.dumps(((launch.FORMAT, sys.hexversion), [("all", "", 0, 0, None)])))
    assert [name for name, *_ in launch.read_bundle()] == ["all"]
    for header in ((launch.FORMAT, sys.hexversion + 1), (launch.FORMAT + 1, sys.hexversion)):
        path.write_bytes(marshal.dumps((header, [])))
        with pytest.raises(ValueError, match="another interpreter"):
            launch.read_bundle()
