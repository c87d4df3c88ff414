"""Commands that a person types in the client, and failures that the mod reports."""

from __future__ import annotations

import pytest

from brimline.mod import request, typed_command


def test_a_command_answers_with_the_text_of_the_slash_command(
    home_dir: str, project_dir: str
) -> None:
    """By its name alone; one that is not ours is an error."""
    question = {"session": "s1", "cwd": project_dir, "name": "off", "arguments": ""}
    answered = request.respond("command", question, home_dir)
    assert "silent in this session" in answered["text"]
    with pytest.raises(ValueError, match="there is no command"):
        request.respond("command", question | {"name": "x"}, home_dir)


def test_a_failure_is_raised_so_that_it_is_logged(home_dir: str) -> None:
    """The process logs whatever is raised."""
    with pytest.raises(request.ModError, match="reading: gone"):
        request.respond("failed", {"message": "reading: gone"}, home_dir)


def test_what_is_typed_here_is_not_sent() -> None:
    """So it takes nothing of the window, however long it is."""
    asked = {"session": "s1", "cwd": "/", "name": "recall", "arguments": "x" * 9_000}
    event = typed_command.Event(asked)

    assert event.added_characters() == 0
    assert event.prompt == f"/brim:recall {'x' * 9_000}"
    assert (event.name, event.transcript, event.agent_id) == ("UserPromptSubmit", "", None)
