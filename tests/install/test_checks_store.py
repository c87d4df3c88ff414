"""What `doctor` says about the store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from brimline.install import checks_store
from brimline.store import contents, layout, put

if TYPE_CHECKING:
    import pytest

    from brimline.install.finding import Finding


def findings(home_dir: str, project_dir: str) -> list[Finding]:
    """Everything about the store."""
    return list(checks_store.findings(home_dir, project_dir))


def test_without_a_store_nothing_is_said(home_dir: str, project_dir: str) -> None:
    """It is made by the first result that is kept out."""
    assert findings(home_dir, project_dir) == []


def test_its_size_stands_against_its_limit(home_dir: str, project_dir: str) -> None:
    """In the unit of the setting."""
    put.put(home_dir, os.urandom(200_000), {})

    (found,) = findings(home_dir, project_dir)

    assert found.level == "ok"
    assert found.what == "the store holds 0.2 of at most 500 MB in 1 blobs"


def test_more_than_the_limit_is_a_warning_with_its_remedy(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Housekeeping keeps what is pinned or referred to, and that may be too much."""
    monkeypatch.setenv("BRIMLINE_STORE_MAX_MB", "1")
    put.put(home_dir, os.urandom(1_200_000), {})

    (found,) = findings(home_dir, project_dir)

    assert found.level == "warning"
    assert "1.2 of at most 1 MB" in found.what
    assert found.fix == "brimline store prune --max-size-mb 1 --dry-run"


def test_a_store_of_a_newer_version_is_broken(home_dir: str, project_dir: str) -> None:
    """This one must not guess its layout."""
    put.put(home_dir, b"x" * 2_000, {})
    Path(home_dir + layout.FORMAT_FILE).write_text("99\n")

    (found,) = findings(home_dir, project_dir)

    assert found.level == "broken"
    assert "newer brimline" in found.what


def test_a_store_that_cannot_be_read_is_broken(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the system's own reason."""
    put.put(home_dir, b"x" * 2_000, {})

    def fails(_: str) -> list[contents.Blob]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(contents, "blobs", fails)
    (found,) = findings(home_dir, project_dir)

    assert found.level == "broken"
    assert "Permission denied" in found.what
