"""What other tools of this kind call things, and what does the same here."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import TYPE_CHECKING

from brimline.fast.paths import PACKAGE_DIR
from brimline.settings import clientsettings, presets
from brimline.settings.catalogue import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from brimline.settings.config import Config

FILE = f"{PACKAGE_DIR}/settings/elsewhere.toml"


def same_here(word: str) -> str:
    """Return what does here what another tool means by a word; empty where none has it."""
    known: dict[str, str] = tables()["words"]
    plain = word.lstrip("-").removesuffix(".py").replace(" ", "").replace("_", "-").lower()
    return known.get(plain, "")


def variables_without_effect(
    project_dir: str, config: Config, environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Variables of other tools that are set here and that nobody reads, each with what to do.

    Where a setting does the same already there is nothing left to do.
    """
    set_here = dict(environment)
    for path in clientsettings.path_by_scope(project_dir).values():
        own = clientsettings.read_settings(path).get("env")
        set_here |= own if isinstance(own, dict) else {}
    preset = presets.preset_or_default(config.values["guard.preset"])
    read = {entry["variable"] for entry in preset["environment"]}
    for variable, same in tables()["variables"].items():
        name, _, needed = variable.partition("=")
        key, _, value = same.partition(" ")
        given = str(set_here.get(name, "")).lower()
        if name not in set_here or name in read or (needed and needed != given):
            continue
        if key not in BY_KEY:
            yield name, same.strip("`")
            continue
        is_set = config.sources[key].partition(" ")[0] not in ("default", "preset")
        if str(config.values[key]).lower() != value if value else not is_set:
            yield name, f"brimline config set {key} {value or 'VALUE'}"


@cache
def tables() -> dict[str, Any]:
    """The words and variables of others, and the page's sections."""
    with open(FILE, "rb") as file:
        return tomllib.load(file)
