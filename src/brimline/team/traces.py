"""What the team's memory leaves here, and whether its server answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.team import together

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {"memory": "home|confirmed"}


def check(home: str, project: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The server, where one is named, for `doctor`."""
    status = together.status(home, project)
    if status:
        yield "team-away" if status["problem"] else "team", {"told": together.status_text(status)}
