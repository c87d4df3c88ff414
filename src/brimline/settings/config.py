"""The user's settings: read, explain, change, compile for the hooks.

Precedence, weakest first: defaults, preset, user file, environment.
A wrong value never takes effect and never stops anything: the weaker one stays in force and the
problem is reported by name.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline import __version__, models
from brimline.errors import ConfigError, reason
from brimline.fast import io, json, paths, policy
from brimline.settings import clientsettings, plugins, presets, stamps
from brimline.settings.catalogue import BY_KEY, SETTINGS, Setting
from brimline.settings.values import check_and_complete_model, coerce, default_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOST_BYTES = 1 << 20
# What versions before this one read in a project.
_FORMER_FILE = f"{paths.USUAL_CLIENT_DIR}/brimline.toml"


@dataclass
class Config:
    """Values in force, where each came from, and what was wrong on the way."""

    values: dict[str, Any]
    sources: dict[str, str]
    problems: list[str] = field(default_factory=list)
    models: list[dict[str, Any]] = field(default_factory=list)
    """Rows that the user adds to the table of models."""


def load(home_dir: str, project_dir: str, *, environment: bool = True) -> Config:
    """The settings in force for a project."""
    config = Config(default_values(), dict.fromkeys(BY_KEY, "default"))
    _merge_file(config, paths.user_config(home_dir))
    if os.path.lexists(former := f"{project_dir}{_FORMER_FILE}"):
        told = "is not read any more: a project's `env` in Claude Code's settings does the same"
        config.problems.append(f"{former} {told}")
    if environment:
        _merge_environment(config)
    _fill_from_preset(config, environment=environment)
    return config


def _fill_from_preset(config: Config, *, environment: bool) -> None:
    explicit = {key for key, source in config.sources.items() if source != "default"}
    name = config.values["guard.preset"]
    for key in presets.fill_by_preset(config.values, default_values(), explicit):
        if key in explicit:
            config.problems.append(
                f"{key} is not used: preset {name} counts in another unit; set guard.tier_unit too"
            )
        config.sources[key] = f"preset {name}"
    if environment:
        before = dict(config.values)
        presets.apply_preset_environment(config.values, presets.preset_or_default(name), io.env)
        changed = [key for key, value in config.values.items() if before[key] != value]
        config.sources |= dict.fromkeys(changed, "environment (the preset's own variables)")


def build_live_policy(home_dir: str, project_dir: str) -> policy.Policy:
    """Return what hooks would go by if the settings were compiled now; for commands."""
    config = load(home_dir, project_dir)
    client = _facts_of_client(project_dir)
    policy.apply_client_environment(client)
    return policy.Policy(
        values=config.values,
        client=client,
        learned=_read_learned_points(home_dir),
        models=[*config.models, *models.shipped_rows()],
    )


def _facts_of_client(project_dir: str) -> dict[str, Any]:
    allowed = {"recall_allowed": plugins.is_recall_allowed(project_dir) or None}
    return clientsettings.settings_moving_compaction(project_dir) | allowed


def user_model_rows(home_dir: str) -> list[dict[str, Any]]:
    """The rows that the user adds to the table of models."""
    return load(home_dir, home_dir, environment=False).models


def find_setting(key: str) -> Setting:
    """The setting of that name.

    Raises:
        ConfigError: there is none; the message names the nearest.
    """
    if key not in BY_KEY:
        hint = _did_you_mean(key) or "; `brimline config list` has them all"
        raise ConfigError(f"there is no setting {key!r}{hint}")
    return BY_KEY[key]


def write_setting(path: str, key: str, raw: str) -> Any:
    """Write one setting into a file, keeping its comments and layout; returns the value written.

    Raises:
        ConfigError: unknown setting, wrong value, or a file that cannot be changed.
    """
    value = parse_value(key, raw)
    _set_or_remove_in_file(path, key, value)
    return value


def parse_value(key: str, raw: str) -> Any:
    """The value of a setting as it was typed.

    Raises:
        ConfigError: unknown setting, or wrong value.
    """
    try:
        return coerce(find_setting(key), raw)
    except ValueError as error:
        raise ConfigError(f"{key} {error}, not {raw!r}") from None


def remove_setting(path: str, key: str) -> bool:
    """Take one setting out of a file; whether it was there.

    Raises:
        ConfigError: unknown setting, or a file that cannot be changed.
    """
    find_setting(key)
    return _set_or_remove_in_file(path, key, None)


def _set_or_remove_in_file(path: str, key: str, value: Any) -> bool:
    """Write a value, or take it out where it is None; whether there was something to do."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(_read_text_or_empty(path))
        if not _set_or_remove_in_document(document, tomlkit.table, key.split("."), value):
            return False
        # It may be a link into somebody's dotfiles.
        io.replace_file(os.path.realpath(path), tomlkit.dumps(document).encode())
    except (OSError, TOMLKitError, TypeError, AttributeError) as error:
        raise ConfigError(f"cannot change {path}: {reason(error)}") from error
    return True


def _set_or_remove_in_document(
    document: Any, new_table: Callable[[], Any], key: list[str], value: Any
) -> bool:
    """Put a value into a document, or take it out where it is None; whether that changed it."""
    *parents, name = key
    table = document
    for parent in parents:
        table = table.setdefault(parent, new_table())
    if value is not None:
        table[name] = value
        return True
    if name not in table:
        return False
    del table[name]
    if parents and not table:
        del document[parents[0]]
    return True


def compile_policy(home_dir: str, project_dir: str) -> None:
    """Write the flat file that hooks read. The environment is not in it: hooks have their own."""
    sources = stamps.stamps_of_all_sources(home_dir, project_dir)
    config = load(home_dir, project_dir, environment=False)
    document = {
        "v": policy.FORMAT,
        "brimline": __version__,
        "project": project_dir,
        "values": config.values,
        "learned": _read_learned_points(home_dir),
        "explicit": [key for key in BY_KEY if config.sources[key] == "user"],
        "preset": presets.preset_or_default(config.values["guard.preset"]),
        "models": models.rows_for_hooks(config.models),
        "client": _facts_of_client(project_dir),
        "sources": sources,
    }
    io.replace_file(paths.policy_file(home_dir, project_dir), json.dumps(document).encode("utf-8"))


def _merge_file(config: Config, path: str) -> None:
    try:
        document = tomllib.loads(_read_text_or_empty(path))
        rows = document.pop("models", [])
        found = _dotted_keys_and_values(document)
    except (OSError, ValueError, RecursionError) as error:
        told = "is ignored, with all that it sets, until it is mended"
        config.problems.append(f"{path} {told}: {error}")
        config.values["memory.exclude"] = None  # what stays out is not known: nothing is taken in
        return
    _add_model_rows(config, rows, path)
    for key, raw in found:
        if key in BY_KEY:
            _set_value(config, BY_KEY[key], raw, "user", path)
        else:
            config.problems.append(f"{path}: unknown setting {key!r}{_did_you_mean(key)}")


def _add_model_rows(config: Config, entries: Any, path: str) -> None:
    for entry in entries if isinstance(entries, list) else [entries]:
        try:
            config.models.append(check_and_complete_model(entry))
        except ValueError as error:
            config.problems.append(f"{path}: a row of models is ignored: it {error}")


def _merge_environment(config: Config) -> None:
    by_env = {setting.variable: setting for setting in SETTINGS}
    for name in sorted(io.env_names_with_prefix(*policy.OVERRIDES)):
        setting = by_env.get(name)
        if setting is None:
            problem = f"the environment: {name} is not a setting{_did_you_mean(name, by_env)}"
            config.problems.append(problem)
        elif not setting.project:
            config.problems.append(f"{name} is ignored: only the user's file can set {setting.key}")
        elif raw := io.env(name):
            _set_value(config, setting, raw, f"environment ({name})", "the environment")


def _set_value(config: Config, setting: Setting, raw: Any, source: str, where: str) -> None:
    try:
        config.values[setting.key] = coerce(setting, raw)
    except ValueError as error:
        told = "this" if setting.kind == "url" else repr(raw)  # which may hold a key
        config.problems.append(
            f"{where}: {setting.key} {error}, not {told}; "
            f"{config.values[setting.key]!r} stays in force"
        )
        if setting.key == "memory.exclude":
            config.values[setting.key] = None
    else:
        config.sources[setting.key] = source


def _dotted_keys_and_values(document: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in document.items():
        key = prefix + name
        if isinstance(value, dict) and key not in BY_KEY:
            found += _dotted_keys_and_values(value, key + ".")
        else:
            found.append((key, value))
    return found


def _did_you_mean(key: str, names: Iterable[str] = BY_KEY) -> str:
    from brimline.settings import elsewhere

    if same := elsewhere.same_here(key):
        return f"; {same} does that here"
    close = difflib.get_close_matches(key, list(names), 1)
    return f"; did you mean {close[0]}?" if close else ""


def _read_learned_points(home_dir: str) -> dict[str, Any]:
    try:
        return json.parse_object(io.read_file(paths.learned_file(home_dir)))
    except (OSError, ValueError):
        return {}


def _read_text_or_empty(path: str) -> str:
    if not os.path.lexists(path):
        return ""
    if not os.path.isfile(path):
        raise OSError("it is not a regular file")
    data = io.read_file(path, _MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise OSError(f"it is larger than {_MOST_BYTES >> 10} KB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OSError("it is not UTF-8") from error
