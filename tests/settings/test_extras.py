"""What is missing of the package's extras."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from brimline.settings import extras

if TYPE_CHECKING:
    import pytest


def test_an_extra_is_missing_where_one_of_its_packages_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a package was put out of reach; the sentence names the command."""
    assert not extras.is_extra_missing("gateway")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert extras.is_extra_missing("gateway")
    assert not extras.is_extra_missing("team")
    assert extras.text_with_install_hint("it needs x").startswith("it needs x: ")
    assert extras.COMMAND in extras.text_with_install_hint("it needs x")
