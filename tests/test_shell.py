"""The one reader of command lines: simple commands as the shell would see them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline import shell

# Each is repeated until the line is as long as a book.
HOSTILE = (
    *("cat <<A\n", "<<A <<B\n", "<<'A'\n", "<<", "'", '"', '"\\', "\\", "$(", "$('a'", '$("', "`"),
    *("1", "a=", "((", "$((", ";", "#", "> ", "2>&1 ", "timeout ", "git -c ", "\n", "a'b'\"c\""),
)


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a && b || c; d & e", [("a", "&&"), ("b", "||"), ("c", ";"), ("d", "&"), ("e", "")]),
        ("a | b |& c\nd", [("a", "|"), ("b", "|&"), ("c", "\n"), ("d", "")]),
        ("(a; b)", [("a", ";"), ("b", ")")]),
        ("A=1 B='x y' sudo -u me env -u C nice -n 5 timeout -s KILL 9 a", [("a", "")]),
        ("uv run --quiet pytest && npx tsc", [("pytest", "&&"), ("tsc", "")]),
        ("/usr/bin/python3 -m pytest -q; ./gradlew", [("pytest", ";"), ("./gradlew", "")]),
        ("for f in x; do a; done", [("", ";"), ("a", ";"), ("", "")]),
        ("a # b; c\nd", [("a", "\n"), ("d", "")]),
        ("a \\\n b; c", [("a", ";"), ("c", "")]),
        ("cat <<'END' > f\nx; y\n END\na <<-B; b\nit's\nB\nc", None),
        ("a 'never closed; b", [("a", "")]),
        ('git commit -m "$(cat <<\'EOF\'\nit\'s "done"; rm x\nEOF\n)"; a', None),
        ("cd $(git rev-parse --show-toplevel) && a", [("cd", "&&"), ("a", "")]),
    ],
)
def test_a_line_is_cut_into_its_commands(line: str, commands: list[tuple[str, str]] | None) -> None:
    """At its operators; quotes, comments, here-documents and substitutions are no commands."""
    expected = (
        commands
        or {
            "cat": [("cat", "\n"), ("a", ";"), ("b", "\n"), ("c", "")],
            "git": [("git", ";"), ("a", "")],
        }[line[:3]]
    )

    assert [(command.program, command.operator) for command in shell.split(line)] == expected


def test_words_lose_their_quotes_and_redirections_stand_apart() -> None:
    """What a command is given is what its program would see."""
    (command,) = shell.split("""grep -e "a \\"b\\" c" 'd'e\\ f < in 2>&1 >>"o u t" """)

    assert command.words == ("grep", "-e", 'a "b" c', "de f")
    assert command.redirections == (("<", "in"), ("2>&", "1"), (">>", "o u t"))
    assert command.writes
    assert not shell.split("a 2>/dev/null >&2")[0].writes
    assert command.text.startswith("grep -e")


def test_options_before_a_subcommand_do_not_hide_it() -> None:
    """`git -C x --no-pager diff` is a diff; what follows stays as it is."""
    (command,) = shell.split("git -C x --no-pager diff -C --stat")

    assert command.own == ("git", "diff", "-C", "--stat")
    assert command.pattern == "git diff"
    assert shell.split("grep -c foo a")[0].own == ("grep", "-c", "foo", "a")


@given(st.text(alphabet="ab1 '\"\\$(){}<>|&;\n#`=-", max_size=80))
def test_nothing_raises_and_every_command_has_words(line: str) -> None:
    """However a line breaks off."""
    assert all(command.words for command in shell.split(line))


def test_a_line_as_long_as_a_book_is_read_in_one_pass() -> None:
    """A reader that takes the square or the cube of its input would take hours, not a minute."""
    read = "print(len(shell.split(part * 100_000)))"
    code = f"from brimline import shell\nfor part in {HOSTILE!r}: {read}"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)

    assert len(done.stdout.splitlines()) == len(HOSTILE)
