"""The extras of the package: which are missing, and the command that installs them."""

from __future__ import annotations

from importlib.util import find_spec

# `uv tool install` takes out what it does not name, so that all of them are named.
COMMAND = "pip install '.[all]'"
_PACKAGES = {"gateway": ("httpx2", "uvicorn"), "team": ("httpx2",)}


def is_extra_missing(extra: str) -> bool:
    """Tell whether a package of an extra is not installed."""
    return not all(map(_is_installed, _PACKAGES[extra]))


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # it was put out of reach
        return False


def text_with_install_hint(needs: str) -> str:
    """A sentence on what is missing for what, and what to do."""
    where = "in the clone that brimline came from"
    return f"{needs}: {where}, `uv tool install '.[all]'` (or `{COMMAND}`) installs it"
