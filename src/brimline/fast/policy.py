"""The settings in force, as hooks read them: one flat JSON file per project, made by `config`.

Fast path: imports only `fast.io`, `fast.json` and `fast.paths`. The list of settings
itself is loaded only where there is no compiled file or the environment overrides one.
"""

from __future__ import annotations

from brimline import __version__
from brimline.fast import io, json, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

FORMAT = 2
# How variables begin that look like settings of ours, but for the folder and a key.
OVERRIDES = ("BRIMLINE_", ("BRIMLINE_HOME", "BRIMLINE_QDRANT_API_KEY"))
# By which the client does without its own memory.
MEMORY_SWITCH = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
# The client's variables that move the window or the point of a compaction: numbers, and switches
# with what they mean.
_CLIENT_VARIABLES = {
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": ("autocompact_window", None),
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": ("autocompact_pct", None),
    "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": ("idle_least_tokens", None),
    "CLAUDE_CODE_MAX_CONTEXT_TOKENS": ("most_tokens", None),
    "CLAUDE_CODE_DISABLE_1M_CONTEXT": ("large_window_off", True),
    "DISABLE_AUTO_COMPACT": ("autocompact_enabled", False),
    "DISABLE_COMPACT": ("autocompact_enabled", False),
}
_TRUE = frozenset({"1", "true", "yes", "on"})


class Policy(io.Record):
    """Values by setting name, and what the client's own settings say (`client`)."""

    values: dict[str, Any]
    client: dict[str, Any]
    # Compaction points and growth that housekeeping found in earlier sessions.
    learned: dict[str, Any]
    # What it was compiled from.
    sources: list[list[Any]] | None = None
    # Settings that a file sets, so that no preset may change them.
    explicit: Sequence[str] = ()
    # The table of models, the user's rows first; empty before the first settings are compiled.
    models: Sequence[dict[str, Any]] = ()
    # One that was compiled in.
    known_preset: dict[str, Any] | None = None

    @property
    def preset(self) -> dict[str, Any]:
        """The preset in force with its words; only one that was not compiled in is looked up."""
        known = self.known_preset
        if not known or known["name"] != self.values["guard.preset"]:
            from brimline.settings import presets

            self.known_preset = known = presets.preset_or_default(self.values["guard.preset"])
        return known


def means_true(text: str) -> bool:
    """Tell whether a variable says yes."""
    return text.strip().lower() in _TRUE


def load(home_dir: str, project_dir: str) -> Policy:
    """The compiled policy of a project with the environment on top; the defaults without one."""
    policy = load_compiled(home_dir, project_dir) or _policy_of_defaults()
    if names := io.env_names_with_prefix(*OVERRIDES):
        _apply_environment(policy, names)
    if policy.values["guard.preset"] != "default" and policy.preset["environment"]:
        from brimline.settings import presets

        presets.apply_preset_environment(policy.values, policy.preset, io.env)
    apply_client_environment(policy.client)
    return policy


def load_compiled(home_dir: str, project_dir: str) -> Policy | None:
    """The compiled policy as it lies on disk, or None where it is missing or unreadable."""
    try:
        raw = io.read_file(paths.policy_file(home_dir, project_dir))
        document = json.parse_object(raw)
        if document["v"] != FORMAT:
            return None
        values = document["values"]
        is_same_version = document["brimline"] == __version__
        if not is_same_version:
            values = _policy_of_defaults().values | values
        return Policy(
            values=values,
            client=document["client"],
            learned=document["learned"],
            sources=document["sources"],
            explicit=document["explicit"],
            models=document.get("models", ()),
            # Another version's may not have all that is asked for.
            known_preset=document.get("preset") if is_same_version else None,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def apply_client_environment(
    client: dict[str, Any], env: Callable[[str], str | None] = io.env
) -> None:
    """Put the client's own variables over what its settings files say.

    Args:
        client: what is known so far; it is changed in place.
        env: looks a variable up; the settings files have variables too.
    """
    for variable, (key, meant) in _CLIENT_VARIABLES.items():
        text = env(variable)
        if not text:
            continue
        number = io.parse_positive_number(text)
        if meant is None and number:
            client[key] = number
            client |= {"autocompact_window_by_model": {}} if key == "autocompact_window" else {}
        elif meant is not None and means_true(text):
            client[key] = meant
    switch = env(MEMORY_SWITCH)
    if switch:
        client["memory_off"] = means_true(switch) or None
    model = env("ANTHROPIC_MODEL")
    if model:
        client["model"] = model


def _policy_of_defaults() -> Policy:
    from brimline.settings.values import default_values

    return Policy(values=default_values(), client={}, learned={})


def _apply_environment(policy: Policy, names: list[str]) -> None:
    from brimline.settings import presets
    from brimline.settings.catalogue import SETTINGS
    from brimline.settings.values import coerce, default_values

    by_env = {setting.variable: setting for setting in SETTINGS if setting.project}
    explicit = set(policy.explicit)
    for name in names:
        setting = by_env.get(name)
        raw = io.env(name)
        if setting is None or not raw:
            continue
        try:
            policy.values[setting.key] = coerce(setting, raw)
        except ValueError:
            continue  # the default stays in force; `config explain` and `doctor` name the culprit
        explicit.add(setting.key)
    presets.fill_by_preset(policy.values, default_values(), explicit)
