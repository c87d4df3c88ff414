"""What other tools of this kind call things, and what does the same here."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import TYPE_CHECKING

from brimline.fast.paths import PACKAGE_DIR
from brimline.settings import clientsettings
from brimline.settings.catalogue import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

FILE = f"{PACKAGE_DIR}/settings/elsewhere.toml"


def same_here(word: str) -> str:
    """Return what does here what another tool means by a word; empty where none has it."""
    known: dict[str, str] = tables()["words"]
    return known.get(word.lstrip("-").replace(" ", "").replace("_", "-").lower(), "")


def variables_without_effect(
    project_dir: str, preset: Mapping[str, Any], environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Variables of other tools that are set here and that nobody reads, each with what to do."""
    set_here = set(environment)
    for path in clientsettings.path_by_scope(project_dir).values():
        own = clientsettings.read_settings(path).get("env")
        set_here |= set(own) if isinstance(own, dict) else set()
    read = {entry["variable"] for entry in preset["environment"]}
    for variable, setting in tables()["variables"].items():
        if variable in set_here - read:
            known = setting.partition(" ")[0] in BY_KEY
            value = "" if " " in setting else " VALUE"
            yield variable, f"brimline config set {setting}{value}" if known else setting.strip("`")


@cache
def tables() -> dict[str, Any]:
    """The words and variables of others, and the page's sections."""
    with open(FILE, "rb") as file:
        return tomllib.load(file)
