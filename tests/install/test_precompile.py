"""The package compiled for the interpreter of the hooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from brimline.errors import InstallError
from brimline.install import precompile

if TYPE_CHECKING:
    from pathlib import Path


def test_a_compiled_package_is_recognised(root: Path, python: str) -> None:
    """Byte code and bundle are there and current."""
    assert precompile.is_precompiled(python, str(root))
    assert precompile.can_start(python, str(root))


def test_a_changed_source_makes_it_stale_and_compiling_renews_it(root: Path, python: str) -> None:
    """After an upgrade the old bundle must not be taken for the new code."""
    source = root / "brimline" / "hooks" / "entry.py"
    source.write_text(source.read_text() + "\n")

    assert not precompile.is_precompiled(python, str(root))
    precompile.precompile(python, str(root))
    assert precompile.is_precompiled(python, str(root))


@pytest.mark.parametrize("name", ["it's here", 'a "b" {c}', "é 😀"])
def test_the_packages_folder_may_have_any_name(name: str, root: Path, python: str) -> None:
    """Quotes, spaces, braces and other letters are just characters."""
    moved = root.parent / name
    root.rename(moved)
    precompile.precompile(python, str(moved))

    assert precompile.is_precompiled(python, str(moved))


def test_a_folder_that_cannot_be_written_is_told(root: Path, python: str) -> None:
    """A file in the place of the cache folder refuses even root."""
    cache = root / "brimline" / "__pycache__"
    for file in cache.iterdir():
        file.unlink()
    cache.rmdir()
    cache.write_text("in the way")

    with pytest.raises(InstallError, match=f"cannot precompile {root}"):
        precompile.precompile(python, str(root))
    assert not precompile.is_precompiled(python, str(root))
    assert precompile.can_start(python, str(root))


def test_without_package_or_interpreter_nothing_is_compiled(tmp_path: Path, python: str) -> None:
    """Every question has an answer there too."""
    gone = str(tmp_path / "python3")

    assert not precompile.can_start(python, str(tmp_path))
    assert not precompile.is_precompiled(python, str(tmp_path))
    assert not precompile.can_start(gone, str(tmp_path))
    with pytest.raises(InstallError, match="No such file"):
        precompile.precompile(gone, str(tmp_path))


def test_the_root_is_the_folder_that_holds_the_package() -> None:
    """Entries put it on the path of the interpreter."""
    assert os.path.isfile(precompile.package_root() + "/brimline/launch.py")
