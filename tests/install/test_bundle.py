"""The bundle of fast-path modules: what `launch` reads is what was compiled."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from brimline import launch
from brimline.install import bundle

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_bundle_has_every_module_as_its_source_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order, without docstrings and annotations; nothing else is left beside it."""
    target = tmp_path / "cache" / "bundle"
    for module in (bundle, launch):
        monkeypatch.setattr(module, "bundle_path", lambda: str(target))

    assert bundle.build() == str(target)
    assert bundle.build() == str(target)

    entries = launch.read_bundle()
    assert [entry[0] for entry in entries] == list(bundle.FAST_MODULES)
    assert all(launch.is_source_unchanged(entry) for entry in entries)
    assert os.listdir(target.parent) == ["bundle"]
    files = {name: file for name, file, *_ in entries}
    assert files["brimline.fast"] == "/fast/__init__.py"
    assert files["brimline.fast.io"] == "/fast/io.py"
    assert files["brimline.models"] == "/models.py"


def test_compiled_code_does_what_its_source_does(tmp_path: Path) -> None:
    """Values that have annotations are set, declarations without a value are not there."""
    source = tmp_path / "x.py"
    source.write_text(
        '"""Doc."""\n'
        "from __future__ import annotations\n"
        "import sys\n"
        "from os import sep\n"
        "a: Unknown = 1\n"
        "b: Unknown\n"
        "def f(x: Unknown, *, y: Unknown = 2) -> Unknown:\n"
        '    """Doc."""\n'
        "    z: Unknown = x\n"
        "    assert False\n"
        "    return z + y\n"
        "class C:\n"
        '    """Doc."""\n'
        "    def g(self, x: Unknown) -> Unknown:\n"
        "        return x\n",
        encoding="utf-8",
    )
    made: dict[str, object] = {}

    exec(bundle._compile_without_annotations(str(source)), made)  # noqa: S102 - what the bundle runs

    function = made["f"]
    assert callable(function)
    assert (made["a"], function(3), made["sep"]) == (1, 5, os.sep)
    assert "b" not in made
    assert "annotations" not in made
    assert made["sys"] is sys
    assert not function.__annotations__
    assert function.__doc__ is None
    assert made.get("__doc__") is None
