"""What the client's own settings files say: windows, compaction, permissions. Read-only."""

from __future__ import annotations

import json
import os
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from brimline.fast import io, owntools, paths, policy

SERVER = "brimline"
_RECALL = owntools.names("recall")
# A project's settings come with the repository: what is larger or more says nothing.
_MOST_BYTES = 2 << 20
_MOST_MODELS = 100
_MOST_WORKTREES = 200
# The client's own notes of all projects are the user's.
_MOST_STATE_BYTES = 64 << 20
_TRUSTED = "hasTrustDialogAccepted"
_IS_MAC = sys.platform == "darwin"
_MANAGED = "/Library/Application Support/ClaudeCode" if _IS_MAC else "/etc/claude-code"


def path_by_scope(project_dir: str) -> dict[str, str]:
    """The client's settings files by scope, the strongest last."""
    return {
        "user": f"{paths.client_config_dir()}/settings.json",
        "project": f"{project_dir}/.claude/settings.json",
        "local": f"{project_dir}/.claude/settings.local.json",
        "managed": f"{_MANAGED}/managed-settings.json",
    }


def settings_moving_compaction(project_dir: str) -> dict[str, Any]:
    """The facts that move the compaction point, merged over all scopes; absent ones are None."""
    merged: dict[str, Any] = {"env": {}, "modelSettings": {}}
    for path in path_by_scope(project_dir).values():
        found = read_settings(path)
        for nested in ("env", "modelSettings"):
            inner = found.get(nested)
            found[nested] = merged[nested] | (inner if isinstance(inner, dict) else {})
        merged |= found
    facts = {
        "model": _value_if_of_type(merged.get("model"), str) or None,
        "most_tokens": None,
        "large_window_off": None,
        "autocompact_window": _positive_int_or_none(merged.get("autoCompactWindow")),
        "autocompact_window_by_model": _autocompact_window_by_model(merged["modelSettings"]),
        "autocompact_pct": None,
        "autocompact_enabled": _value_if_of_type(merged.get("autoCompactEnabled"), bool),
        "idle_enabled": _value_if_of_type(merged.get("idleCompaction"), bool),
        "idle_least_tokens": None,
        "cleanup_days": _positive_int_or_none(merged.get("cleanupPeriodDays")),
        "memory_off": merged.get("autoMemoryEnabled") is False or None,
    }
    written = merged["env"].items()
    variables = {name: str(value) for name, value in written if isinstance(value, str | int)}
    policy.apply_client_environment(facts, variables.get)
    return facts


def client_state_part(name: str) -> dict[str, Any]:
    """Return what the client has noted for itself under a name, such as all projects."""
    folder = paths.client_config_dir()
    # It keeps that in its configuration folder only where a variable names that.
    folder = folder if io.env("CLAUDE_CONFIG_DIR") else str(Path(folder).parent)
    notes = read_settings(f"{folder}/.claude.json", _MOST_STATE_BYTES).get(name)
    return notes if isinstance(notes, dict) else {}


def is_trusted_folder(project_dir: str) -> bool:
    """Tell whether the user has told the client to trust a folder, or one that it lies in."""
    projects, places = (
        client_state_part("projects"),
        (Path(project_dir), *Path(project_dir).parents),
    )
    entries = [projects.get(str(place)) for place in places]
    return any(isinstance(entry, dict) and entry.get(_TRUSTED) is True for entry in entries)


def memory_folder(project_dir: str) -> str:
    """Return where the client keeps its memory of a project.

    That is one folder for all worktrees and folders of a repository. A setting that comes with the
    repository does not count, for the client neither.
    """
    files = path_by_scope(project_dir)
    for scope in ("managed", "local", "user"):
        chosen = str(read_settings(files[scope]).get("autoMemoryDirectory"))
        is_ours = scope != "local" or is_trusted_folder(project_dir)  # an archive may hold it
        if chosen.startswith(("/", "~/")) and is_ours:
            return paths.normalised_path(chosen, "/")
    return f"{paths.project_transcripts_dir(main_worktree(project_dir))}/memory"


def main_worktree(project_dir: str) -> str:
    """The main worktree that a folder belongs to; itself where it is in no repository."""
    for place in (Path(project_dir), *Path(project_dir).parents):
        if os.path.exists(f"{place}/.git"):
            return _main_worktree_of_linked(str(place)) or str(place)
    return project_dir


def worktrees(top: str) -> list[str]:
    """All worktrees of the repository that has one at a folder, as far as they and it agree."""
    main = main_worktree(top)
    noted = [f"{main}/.git/worktrees/{name}" for name in io.list_names(f"{main}/.git/worktrees")]
    places = [_path_in_git_file(f"{folder}/gitdir", folder) for folder in noted[:_MOST_WORKTREES]]
    linked = [place.removesuffix("/.git") for place in places if place]
    return [main, *[place for place in linked if _main_worktree_of_linked(place) == main]]


def _path_in_git_file(path: str, folder: str) -> str | None:
    """The path that one of git's small files holds; None where it cannot be read."""
    try:
        told = io.read_file(path, _MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    return paths.normalised_path(told.removeprefix("gitdir:").strip(), folder)


def _main_worktree_of_linked(place: str) -> str | None:
    """The one that a folder's `.git` file names, if that knows of the folder: anybody can name it.

    A main worktree has a folder there, and a submodule has none.
    """
    linked = _path_in_git_file(f"{place}/.git", place) or ""
    main, mark, _ = linked.partition("/.git/worktrees/")
    back = _path_in_git_file(f"{linked}/gitdir", linked) if mark else None
    if back is None:
        return None
    try:
        return main if Path(back.removesuffix("/.git")).resolve() == Path(place).resolve() else None
    except (OSError, ValueError, RuntimeError):
        return None


def registered_mcp_server() -> dict[str, Any] | None:
    """Return how the MCP server of our name in the user's scope is started; None without one."""
    found = client_state_part("mcpServers").get(SERVER)
    if not isinstance(found, dict):
        return None
    return {"command": found.get("command"), "args": found.get("args"), "env": found.get("env", {})}


def is_mcp_server_ours() -> bool:
    """Tell whether that is `brimline mcp`, however it is started."""
    found = registered_mcp_server() or {}
    words = found["args"] if isinstance(found.get("args"), list) else []
    told = " ".join(map(str, words))
    return "brimline" in told and (words[-1:] == ["mcp"] or " mcp --data " in told)


def is_too_large_or_deep(path: str) -> bool:
    """Tell whether a file is one that the client can read and we cannot."""
    try:
        raw = io.read_file(path, _MOST_BYTES + 1) if Path(path).is_file() else b"[]"
        return len(raw) > _MOST_BYTES or json.loads(raw) is None
    except RecursionError:
        return True
    except (OSError, ValueError):
        return False


def is_rule_about_recall(rule: str) -> bool:
    """Tell whether a permission rule holds for our tool, or for all of our server."""
    servers = owntools.SERVERS
    return rule in (*_RECALL, *servers, *[f"{server}__*" for server in servers])


def texts_listed_in_settings(project_dir: str, *keys: str) -> list[str]:
    """The texts in a list that settings files have under these keys, over all scopes."""
    texts = []
    for path in path_by_scope(project_dir).values():
        found: Any = read_settings(path)
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, list):
            texts += [text for text in found if isinstance(text, str)]
    return texts


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


def _autocompact_window_by_model(model_settings: dict[str, Any]) -> dict[str, int]:
    windows = {
        model: _positive_int_or_none(entry.get("autoCompactWindow"))
        for model, entry in islice(model_settings.items(), _MOST_MODELS)
        if isinstance(entry, dict)
    }
    return {model: tokens for model, tokens in windows.items() if tokens}


def _positive_int_or_none(value: Any) -> int | None:
    if isinstance(value, str):
        return io.parse_positive_number(value.strip())
    return value if type(value) is int and value > 0 else None


def _value_if_of_type(value: Any, wanted: type) -> Any:
    return value if isinstance(value, wanted) else None
