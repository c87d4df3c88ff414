"""What other rooms ask for: the marked rules, and the files that the client does not load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.rules import assemble, markers, places
from brimline.rules.markers import MarkedRule, fit
from brimline.rules.model import AT_START, NEVER, ORGANISATION, PRIVATE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from brimline.rules.cascade import Cascade

__all__ = ["MarkedRule", "fit", "for_session_start", "gather", "limits", "marked"]

_HEAD = "[brimline] Instructions that Claude Code does not load by itself:\n\n"


def marked(
    project_dir: str,
    active_paths: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
) -> list[MarkedRule]:
    """The rules marked `(ENFORCED)` or `(CRITICAL)` that hold here, from disk, each once.

    In the order of the cascade. `values` are the settings in force; without them they are read.
    """
    return markers.marked_in(gather(project_dir, active_paths, values).sources)


def for_session_start(
    project_dir: str, budget: int, values: Mapping[str, Any] | None = None
) -> str:
    """The instruction files that the client does not know, or an empty text.

    These are the organisation's file and the user's file for this project, with what they import.
    A text that the client loads from elsewhere is not repeated. The same files give the same bytes.
    """
    sources = gather(project_dir, (), values).sources
    known = {source.digest for source in sources if source.client == AT_START}
    ours = [
        source
        for source in assemble.unique(sources)
        if source.client == NEVER
        and source.level in (ORGANISATION, PRIVATE)
        and source.digest not in known
    ]
    if not ours:
        return ""
    room = assemble.Limits(assemble.FILE_CHARACTERS, budget - len(_HEAD))
    text = assemble.join(ours, room, places.user_home()).text
    return _HEAD + text if text else ""


def gather(
    project_dir: str,
    active_paths: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    *,
    folders: Sequence[str] = (),
    all_scopes: bool = False,
) -> Cascade:
    """The cascade of a project under its settings."""
    from brimline.rules import cascade

    return cascade.gather(
        project_dir,
        active_paths,
        organisation_file=_settings(project_dir, values)["rules.organisation_file"],
        folders=folders,
        all_scopes=all_scopes,
    )


def limits(project_dir: str, values: Mapping[str, Any] | None = None) -> assemble.Limits:
    """How much an assembled text may hold."""
    found = _settings(project_dir, values)
    return assemble.Limits(found["rules.file_characters"], found["rules.total_characters"])


def _settings(project_dir: str, values: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if values is not None:
        return values
    from brimline import config, paths

    return config.load(paths.home(), project_dir).values
