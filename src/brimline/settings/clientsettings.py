"""What the client's own settings files say: windows, compaction, permissions. Read-only."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from brimline.fast import io, paths, policy

# What lets the model fetch stored output: the command, and the tool.
RECALL_RULES = ("Bash(brimline store get:*)", "mcp__brimline__recall")
# A project's settings come with the repository: what is larger or more says nothing.
_MOST_BYTES = 2 << 20
_MOST_MODELS = 100
# The client's own notes of all projects are the user's.
_MOST_STATE_BYTES = 64 << 20
_TRUSTED = "hasTrustDialogAccepted"
SCOPES = ("user", "project", "local", "managed")


def settings_files(project_dir: str) -> dict[str, str]:
    """The client's settings files by scope, the strongest last."""
    return {
        "user": f"{paths.client_config_dir()}/settings.json",
        "project": f"{project_dir}/.claude/settings.json",
        "local": f"{project_dir}/.claude/settings.local.json",
        "managed": _managed_settings(),
    }


def compaction_facts(project_dir: str) -> dict[str, Any]:
    """The facts that move the compaction point, merged over all scopes; absent ones are None."""
    merged: dict[str, Any] = {"env": {}, "modelSettings": {}}
    for path in settings_files(project_dir).values():
        found = read_settings(path)
        for nested in ("env", "modelSettings"):
            if isinstance(found.get(nested), dict):
                found[nested] = merged[nested] | found[nested]
            else:
                found.pop(nested, None)
        merged |= found
    facts = {
        "model": _as_text(merged.get("model")),
        "most_tokens": None,
        "large_window_off": None,
        "autocompact_window": _as_int(merged.get("autoCompactWindow")),
        "autocompact_window_by_model": _autocompact_windows(merged["modelSettings"]),
        "autocompact_pct": None,
        "autocompact_enabled": _as_bool(merged.get("autoCompactEnabled")),
        "idle_enabled": _as_bool(merged.get("idleCompaction")),
        "idle_least_tokens": None,
        "cleanup_days": _as_int(merged.get("cleanupPeriodDays")),
        "recall_allowed": recall_allowed(project_dir) or None,
        "memory_off": merged.get("autoMemoryEnabled") is False or None,
    }
    variables = {name: _variable_text(value) for name, value in merged["env"].items()}
    policy.apply_client_environment(facts, variables.get)
    return facts


def notes_of(name: str) -> dict[str, Any]:
    """Return what the client has noted for itself under a name, such as all projects."""
    folder = paths.client_config_dir()
    # It keeps that in its configuration folder only where a variable names that.
    folder = folder if io.env("CLAUDE_CONFIG_DIR") else str(Path(folder).parent)
    notes = read_settings(f"{folder}/.claude.json", _MOST_STATE_BYTES).get(name)
    return notes if isinstance(notes, dict) else {}


def is_trusted(project_dir: str) -> bool:
    """Tell whether the user has told the client to trust a folder, or one that it lies in."""
    projects, places = notes_of("projects"), (Path(project_dir), *Path(project_dir).parents)
    entries = [projects.get(str(place)) for place in places]
    return any(isinstance(entry, dict) and entry.get(_TRUSTED) is True for entry in entries)


def memory_folder(project_dir: str) -> str:
    """Where the client keeps its memory of a project.

    That is one folder for all worktrees and folders of a repository. A setting that comes with the
    repository does not count, for the client neither.
    """
    files = settings_files(project_dir)
    for scope in ("managed", "local", "user"):
        chosen = _as_text(read_settings(files[scope]).get("autoMemoryDirectory"))
        is_ours = scope != "local" or is_trusted(project_dir)  # an archive may hold that file too
        if chosen and chosen.startswith(("/", "~/")) and is_ours:
            return paths.normalised_path(chosen, "/")
    return f"{paths.project_transcripts_dir(main_worktree(project_dir))}/memory"


def main_worktree(project_dir: str) -> str:
    """The main worktree that a folder belongs to; itself where it is in no repository."""
    for place in (Path(project_dir), *Path(project_dir).parents):
        try:
            if (place / ".git").is_file():
                told = io.read_file(f"{place}/.git", _MOST_BYTES).decode("utf-8", "replace")
                return _main_worktree(str(place), told) or str(place)
            if (place / ".git").exists():
                return str(place)
        except OSError:
            break
    return project_dir


def _main_worktree(place: str, git_file: str) -> str | None:
    """The one that a folder's `.git` file names, if that knows of the folder: anybody can name it.

    A submodule has none.
    """
    linked = paths.normalised_path(git_file.removeprefix("gitdir:").strip(), place)
    main, mark, _ = linked.partition("/.git/worktrees/")
    if not mark:
        return None
    try:
        back = io.read_file(f"{linked}/gitdir", _MOST_BYTES).decode("utf-8", "replace").strip()
        registered = Path(paths.normalised_path(back, linked).removesuffix("/.git")).resolve()
        return main if registered == Path(place).resolve() else None
    except (OSError, ValueError):
        return None


def recall_allowed(project_dir: str) -> bool:
    """Whether the client's permission rules let the model fetch stored output without asking."""
    allowing, denying = (_permission_rules(project_dir, name) for name in ("allow", "deny"))
    return any(
        any(_covers(rule, form) for rule in allowing)
        and not any(_covers(rule, form) for rule in denying)
        for form in RECALL_RULES
    )


def _permission_rules(project_dir: str, name: str) -> list[str]:
    """The rules of one list, over all scopes."""
    rules = []
    for path in settings_files(project_dir).values():
        permissions = read_settings(path).get("permissions")
        listed = permissions.get(name) if isinstance(permissions, dict) else None
        if isinstance(listed, list):
            rules += [rule for rule in listed if isinstance(rule, str)]
    return rules


def _covers(rule: str, form: str) -> bool:
    """Whether a permission rule holds for all that one of our own rules is about."""
    tool, _, content = form.partition("(")
    if rule in (tool, form) or (tool.startswith("mcp__") and rule == tool.rpartition("__")[0]):
        return True
    asked, _, pattern = rule.partition("(")
    prefix = pattern.removesuffix(")").removesuffix("*").removesuffix(":").rstrip()
    named = content.removesuffix(":*)")
    # However the command is started: by its name, or by the interpreter that runs it.
    ours = prefix.endswith(named) or named.startswith(prefix)
    return bool(content) and asked == tool and "*" in pattern and ours


def read_settings(path: str, most_bytes: int = _MOST_BYTES) -> dict[str, Any]:
    """One settings file; a missing or broken one says nothing (`doctor` tells of broken ones)."""
    if not Path(path).is_file():
        return {}
    try:
        raw = io.read_file(path, most_bytes + 1)
        found = json.loads(raw) if len(raw) <= most_bytes else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _variable_text(value: Any) -> str | None:
    """A variable as the settings files have it: a text, or a number."""
    number = _as_int(value)
    return _as_text(value) if number is None else str(number)


def _managed_settings() -> str:
    if sys.platform == "darwin":
        return "/Library/Application Support/ClaudeCode/managed-settings.json"
    return "/etc/claude-code/managed-settings.json"


def _autocompact_windows(model_settings: dict[str, Any]) -> dict[str, int]:
    windows = {
        model: _as_int(entry.get("autoCompactWindow"))
        for model, entry in islice(model_settings.items(), _MOST_MODELS)
        if isinstance(entry, dict)
    }
    return {model: tokens for model, tokens in windows.items() if tokens}


def _as_int(value: Any) -> int | None:
    if isinstance(value, str):
        return io.positive_number(value.strip())
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _as_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _as_bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
