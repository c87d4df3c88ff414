"""`brimline report`: one file, with figures alone or with the texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner
from tests.dashboard.played import NAME

from brimline.cli.surface import program
from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from tests.dashboard.played import Played


def report(session: str, *words: str) -> str:
    """The file that a report becomes."""
    done = CliRunner().invoke(program, ["report", session, "-o", "report.html", *words])
    assert done.exit_code == 0, done.output
    return Path("report.html").read_text(encoding="utf-8")


def test_a_report_is_one_file_with_figures_and_without_texts(played: Played) -> None:
    """Nothing is loaded from elsewhere; no message, no output, no path of the user's."""
    made = report(NAME[:8])

    assert "43,000 of 200,000 tokens in use" in made
    assert " announced" in made
    assert not re.search(r"(src|href)=\"(?!#)", made)
    for private in ("the import drops rows", "of the import", "INFO batch", played.session.cwd):
        assert private not in made
    assert "cat" in made
    assert "logs/import.log" not in made
    assert len(made) < 2_000_000


def test_a_full_report_has_the_texts_and_says_so(played: Played) -> None:
    """Whoever shares it is told what it contains; foreign marks are text."""
    made = report(played.session.path, "--full")

    assert "look through it before you share it" in made
    assert "# of the import" in made
    assert "cat logs/import.log" in made
    assert "<script>alert(" not in made


def test_a_session_without_a_request_is_a_page_too(session: SessionBuilder) -> None:
    """It says that there is nothing to draw."""
    session.prompt("hello")

    assert "there is nothing to draw" in report(session.path)


def test_hostile_names_and_control_characters_are_shown_as_text(session: SessionBuilder) -> None:
    """Whatever a session holds, in a file for others it is only ever text."""
    nasty = "</title><img src=x onerror=alert(1)>\x1b[31m\u202e\ud800.py"
    call = session.tool_call(30_000, "Read", file_path=f"/tmp/{nasty}")
    session.tool_result(call, nasty)
    session.reply(40_000, text_block(nasty))
    session.reply(41_000, model=nasty)

    for words in ((), ("--full",)):
        made = report(session.path, *words)
        assert "<img" not in made
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", made)


def test_what_cannot_be_reported_is_said_in_a_sentence(played: Played) -> None:
    """No such session, and a file that cannot be written."""
    Path("taken").touch()
    missing = CliRunner().invoke(program, ["report", "ffff", "-o", "report.html"])
    unwritable = CliRunner().invoke(program, ["report", NAME, "-o", "taken/report.html"])

    assert "no session ffff was found" in str(missing.exception)
    assert "taken/report.html cannot be written" in str(unwritable.exception)
