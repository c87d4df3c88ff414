"""The mod's sign of life, and the module that an upgrade renews."""

from __future__ import annotations

from pathlib import Path

from brimline.mod import modsource, request
from brimline.state.session import MOD_ALIVE, SessionState


def say(home_dir: str, project_dir: str) -> dict[str, object]:
    """What Python answers when a session begins."""
    question = {"session": "s1", "cwd": project_dir, "client": "2.1.325"}
    return request.respond("alive", question, home_dir)


def test_it_is_noted_with_the_client_and_the_setting(home_dir: str, project_dir: str) -> None:
    """In the session's folder, where the gateway and `doctor` look."""
    folder = SessionState(home_dir, "s1").folder
    cold = {"tokens": 100_000, "after_s": 300}
    told = {"folder": folder, "cold": cold, "launcher": f"{home_dir}/bin/hook"}
    assert say(home_dir, project_dir) == told
    sign = SessionState(home_dir, "s1").read_document(MOD_ALIVE)
    assert (sign["client"], sign["inside"]) == ("2.1.325", "balanced")
    assert SessionState(home_dir, "s2").read_document(MOD_ALIVE) == {}


def test_a_module_of_another_version_is_renewed(home_dir: str, project_dir: str) -> None:
    """The client loads this version's from its next session on; one that is missing stays so."""
    module = Path(home_dir, "mod/brimline/hooks/register.js")
    say(home_dir, project_dir)
    assert not module.exists()
    module.parent.mkdir(parents=True)
    module.write_text("old")
    say(home_dir, project_dir)
    assert module.read_bytes() == modsource.joined_mod_javascript_bytes()
