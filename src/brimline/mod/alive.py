"""The mod's sign of life: what other parts of brimline know of the client it runs in."""

from __future__ import annotations

import time
from typing import Any

from brimline.fast import io, paths, policy
from brimline.figures import LEAST_TOKENS, SHORTEST_S
from brimline.mod import modsource
from brimline.state.session import MOD_ALIVE, SessionState


def respond(request: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """Note that the mod runs in a session; say how it is set, and where the session's files are.

    Raises:
        KeyError, OSError: the request names no session, or the note cannot be written.
    """
    values = policy.load(home_dir, request["cwd"]).values
    inside = values["compaction.inside"]
    sign = {"at": time.time(), "client": request.get("client"), "inside": inside}
    state = SessionState(home_dir, request["session"])
    state.save_document(MOD_ALIVE, sign)
    mod = f"{home_dir}/mod"
    _replace_outdated_module(
        f"{mod}/brimline/hooks/register.js", modsource.joined_mod_javascript_bytes()
    )
    _replace_outdated_module(
        f"{mod}/idle/hooks/register.js", modsource.second_mod_javascript_bytes()
    )
    is_wanted = values["compaction.when_cold"] != "off"
    cold = {"tokens": LEAST_TOKENS, "after_s": SHORTEST_S} if is_wanted else None
    return {"folder": state.folder, "cold": cold, "launcher": home_dir + paths.LAUNCHER}


def _replace_outdated_module(installed: str, current: bytes) -> None:
    """After an upgrade, put this version's module in the place of the one that the client loads."""
    try:
        if io.read_file(installed) != current:
            io.replace_file(installed, current)
    except OSError:
        pass  # not installed, or not writable: it works as it is
