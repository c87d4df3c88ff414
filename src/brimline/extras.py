"""The extras of the package: which are there, and the command that adds one to them."""

from __future__ import annotations

from importlib.util import find_spec

_PACKAGES = {
    "dashboard": ("jinja2", "starlette", "uvicorn"),
    "gateway": ("httpx2", "uvicorn"),
    "mcp": ("mcp",),
    "memory": ("numpy",),
    "team": ("httpx2", "numpy"),
}


def command(missing: str, program: str = "pip") -> str:
    """The command that adds an extra, in the clone that brimline came from.

    `uv tool install` takes out what it does not name, so that all that are there are named.
    """
    there = [name for name, packages in _PACKAGES.items() if all(map(_is_there, packages))]
    return f"{program} install '.[{','.join(sorted({*there, missing}))}]'"


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # it was put out of reach
        return False


def hint(needs: str, missing: str) -> str:
    """A sentence on what is missing for what, and what to do."""
    tool = command(missing, "uv tool")
    where = "in the clone that brimline came from"
    return f"{needs}: {where}, `{command(missing)}` (or `{tool}`) installs it"
