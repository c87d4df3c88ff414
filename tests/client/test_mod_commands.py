"""brimline's commands as the client's own: listed, answered at once, and silent for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .modded import answer_with
from .stub_api import filled, text

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi


def test_a_command_is_completed_and_answered_and_the_model_hears_nothing(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """With the figures that `brimline status` gives; the next request holds nothing of it."""
    stub.script(text("ANSWER-ONE", filled(60_000)), text("ANSWER-TWO", filled(61_000)))
    with client.interactive() as session:
        session.say("first", "ANSWER-ONE")
        session.ready()
        session.send_keys("/brim-st")
        session.wait_for("How full this session's context window is")
        session.send_keys("atus\r")
        session.wait_for("60,000")
        session.say("second", "ANSWER-TWO")
        session.wait_until(lambda: "60,000" not in session.text)

    assert len(stub.requests("main")) == 2
    assert "60,000" not in stub.requests("main")[-1].seen_text()
    assert "brim-status" not in stub.requests("main")[-1].seen_text()
    assert installed.errors() == ""


def test_a_command_that_python_cannot_answer_says_so(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Nothing reaches the model."""
    answer_with(installed, "/bin/false")
    stub.script(text("ANSWER-ONE", filled(60_000)))
    with client.interactive(columns=80) as session:
        session.say("first", "ANSWER-ONE")
        session.say("/brim-status", "brimline did not answer")

    assert len(stub.requests("main")) == 1


def test_a_failure_inside_the_client_is_in_our_log(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """What the answering program says is not JSON: one line, which doctor shows."""
    launcher = installed.data / "bin" / "hook"
    script = f'case "$1" in failed) exec {launcher} mod failed;; *) echo nonsense;; esac'
    answer_with(installed, "/bin/sh", "-c", script, "sh")
    stub.script(text("END"))

    client.run_print("go")

    assert "sign of life" in installed.errors()
    assert b"mod: ModError" in installed.command("doctor").stdout


def test_a_compaction_that_is_left_to_a_model_says_why(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """To the person alone, as after a compaction without one, when there is little left to move."""
    stub.script(text("ANSWER-ONE", filled(60_000)), text("ANSWER-TWO", filled(61_000)))
    with client.interactive() as session:
        session.say("first", "ANSWER-ONE")
        session.say("second", "ANSWER-TWO")
        session.say("/compact", "brimline leaves this compaction to a model: too little to let go")
        session.wait_until(lambda: len(stub.requests("compaction")) == 1)

    assert "leaves this" not in stub.requests("compaction")[0].seen_text()
    assert installed.errors() == ""
