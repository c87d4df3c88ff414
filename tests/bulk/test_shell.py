"""The one reader of command lines: simple commands as the shell would see them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk import shell

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

    assert [
        (command.program, command.operator) for command in shell.split_commands(line)
    ] == expected


def test_words_lose_their_quotes_and_redirections_stand_apart() -> None:
    """What a command is given is what its program would see."""
    (command,) = shell.split_commands("""grep -e "a \\"b\\" c" 'd'e\\ f < in 2>&1 >>"o u t" """)

    assert command.words == ("grep", "-e", 'a "b" c', "de f")
    assert command.redirections == (("<", "in"), ("2>&", "1"), (">>", "o u t"))
    assert command.writes
    assert not shell.split_commands("a 2>/dev/null >&2")[0].writes
    assert command.text.startswith("grep -e")


def test_options_before_a_subcommand_do_not_hide_it() -> None:
    """`git -C x --no-pager diff` is a diff; what follows stays as it is."""
    (command,) = shell.split_commands("git -C x --no-pager diff -C --stat")

    assert command.own == ("git", "diff", "-C", "--stat")
    assert command.pattern == "git diff"
    assert shell.split_commands("grep -c foo a")[0].own == ("grep", "-c", "foo", "a")


@given(st.text(alphabet="ab1 '\"\\$(){}<>|&;\n#`=-", max_size=80))
def test_nothing_raises_and_every_command_has_words(line: str) -> None:
    """However a line breaks off."""
    assert all(command.words for command in shell.split_commands(line))


def test_a_line_as_long_as_a_book_is_read_in_one_pass() -> None:
    """A reader that takes the square or the cube of its input would take hours, not a minute."""
    read = "print(len(shell.split_commands(part * 100_000)))"
    code = f"from brimline.bulk import shell\nfor part in {HOSTILE!r}: {read}"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)

    assert len(done.stdout.splitlines()) == len(HOSTILE)


@pytest.mark.parametrize(
    ("line", "program", "before"),
    [
        ("timeout 9 a b", "a", 2),
        ("timeout -k 5 -s KILL 9 a", "a", 6),
        ("timeout", "timeout", 0),
        ("timeout 9", "", 2),
        ("nice -n 5 a", "a", 3),
        ("nice a -n", "a", 1),
        ("sudo -u me -E a", "a", 4),
        ("uv run a", "a", 2),
        ("uv run -q a", "a", 3),
        ("uv sync a", "uv", 0),
        ("uv", "uv", 0),
        ("poetry exec a", "a", 2),
        ("python -m a", "a", 2),
        ("python3 -m", "python3", 0),
        ("python a.py", "python", 0),
        ("A=1 b+=2 a", "a", 2),
        ("if a", "a", 1),
        ("! a", "a", 1),
        ("done", "", 1),
        ("case x in", "", 3),
        ("/usr/bin/env -u X /bin/a", "a", 3),
        ("./a", "./a", 0),
        ("x/./a", "a", 0),
        ("a/", "a/", 0),
    ],
)
def test_the_program_stands_behind_words_that_hand_over_to_it(
    line: str, program: str, before: int
) -> None:
    """With the options and values of those words; a word that hands over to nothing is it."""
    (command,) = shell.split_commands(line)

    assert (command.program, command.before) == (program, before)
    assert command.own == command.words[before:]


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("git -c a=b -C x log", "git log"),
        ("gh --repo a/b pr list", "gh pr"),
        ("npm --prefix x test", "npm test"),
        ("make -C sub all", "make all"),
        ("ls -l --color a b", "ls a"),
        ("ls -l", "ls"),
        ("cat " + "x" * 100, ("cat " + "x" * 100)[: shell._LONGEST_PATTERN]),
    ],
)
def test_a_pattern_is_the_program_and_its_first_word(line: str, pattern: str) -> None:
    """Options and their values left out, of a long word the beginning."""
    assert shell.split_commands(line)[0].pattern == pattern


@pytest.mark.parametrize(
    ("line", "text"),
    [("  a  b ; c", "a  b"), ("x=1 a 'b' > o | c", "x=1 a 'b' > o"), ("a", "a")],
)
def test_a_command_keeps_how_it_was_written(line: str, text: str) -> None:
    """From its first word to the operator behind it."""
    assert shell.split_commands(line)[0].text == text


def test_commands_of_a_here_document_are_none_and_those_behind_it_are() -> None:
    """Two on one line end in their order; one that never ends takes the rest with it."""
    two = "cat <<A <<B\nA1; x\nA\nB1; y\nB\nz"
    assert [command.program for command in shell.split_commands(two)] == ["cat", "z"]
    assert [command.program for command in shell.split_commands("cat <<A\nx\ny")] == ["cat"]
    again = "cat <<A\nx\nA\ncat <<A\ny\nA\nz"
    assert [command.program for command in shell.split_commands(again)] == ["cat", "cat", "z"]
    assert [command.program for command in shell.split_commands("cat <<<A\nx")] == ["cat", "x"]


def test_an_empty_target_is_a_target() -> None:
    """The word behind it is an argument again."""
    (command,) = shell.split_commands("a > '' b")

    assert command.redirections == ((">", "''"),)
    assert command.words == ("a", "b")


def test_of_a_line_as_long_as_a_script_the_beginning_is_read() -> None:
    """One that goes on may do anything."""
    whole = "cat a.txt".ljust(shell._LONGEST_CHARACTERS)
    assert shell.parse_line(whole).only_reads
    assert shell.parse_line(whole).files == ["a.txt"]
    longer = whole + " "
    assert not shell.parse_line(longer).only_reads
    assert shell.parse_line(longer).files == []
    assert [each.program for each in shell.split_commands(f"a;{'x' * 7_998};b")] == [
        "a",
        "x" * 7_998,
    ]


@pytest.mark.parametrize(
    ("line", "main"),
    [
        ("cd x && make | tail -5", "make"),
        ("make | grep a | head", "make"),
        ("cat a | sort", "cat"),
        ("make > log", None),
        ("make > log; ls", "ls"),
        ("make 2>&1 | tee log", "make"),
        ("make; echo done", "make"),
        ("echo a; cd b", "echo"),
        ("make; ls", "ls"),
        ("a | xargs rm", "rm"),
        ("", None),
    ],
)
def test_the_main_command_is_the_one_whose_output_is_seen(line: str, main: str | None) -> None:
    """Of the last that prints, what feeds the filters."""
    found = shell.parse_line(line).main

    assert (found.program if found else None) == main


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("cat a.txt", True),
        ("cat a.txt > b", False),
        ("echo a", True),
        ("echo a > b", False),
        ("echo a > /dev/null", True),
        ("cat a | sort", True),
        ("sort -o b a", False),
        ("sort --output=b a", False),
        ("find . -name a", True),
        ("find . -delete", False),
        ("sed -n 1p a", True),
        ("sed -i s/a/b/ a", False),
        ("sed -ni s/a/b/ a", False),
        ("sed --in-place s/a/b/ a", False),
        ("awk '{print $1}' a", True),
        ("awk '{print > \"b\"}' a", False),
        ("awk 'BEGIN {system(1)}'", False),
        ("git log -3", True),
        ("git log --output=x", False),
        ("git push", False),
        ("gh pr list", True),
        ("gh pr merge 5", False),
        ("rg a", True),
        ("rg --pre x a", False),
        ("rm a", False),
        ("cat a; rm b", False),
        ("cat $(ls)", False),
        ("cat `ls`", False),
        ("diff <(a) b", False),
        ("", False),
        ("for x in y", False),
    ],
)
def test_a_line_only_reads_where_every_command_is_known_to(line: str, reads: bool) -> None:
    """With the options that it has; what nobody knows may change something."""
    assert shell.parse_line(line).only_reads is reads


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("cat a.txt b/c", ["a.txt", "b/c"]),
        ("cat -n a.txt name", ["a.txt"]),
        ("sed -n 1,5p a.txt", ["a.txt"]),
        ("cd x && cat a.txt | head", ["a.txt"]),
        ("cat a.txt | python x.py", []),
        ("cat a.txt; ls", []),
        ("bat a.txt", []),
        ("sort a.txt", []),
        ("cat a.txt; tail b.txt", ["a.txt", "b.txt"]),
    ],
)
def test_files_are_shown_where_nothing_else_is_printed(line: str, files: list[str]) -> None:
    """What their kind is, the output is too."""
    assert shell.parse_line(line).files == files


@pytest.mark.parametrize(
    ("line", "exempt"),
    [
        ("git status", True),
        ("git status -s", True),
        ("git log", False),
        ("/usr/bin/vim a", True),
        ("pwd", True),
        ("pwd; ls", False),
        ("echo $HOME", False),
        ("python", True),
        ("python -i", True),
        ("python -i a.py", False),
        ("python a.py", False),
        ("command -v git", True),
        ("command git", False),
        ("", False),
        ("  ", False),
    ],
)
def test_one_brief_or_interactive_command_is_exempt(line: str, exempt: bool) -> None:
    """And nothing beside it."""
    assert shell.parse_line(line).is_exempt is exempt


@pytest.mark.parametrize(
    ("line", "prints", "ran"),
    [
        ("pytest -q", "log", True),
        ("npm run build | tail", "log", True),
        ("docker logs x", "log", False),
        ("ls -l", "paths", True),
        ("git ls-files", "paths", True),
        ("find . | xargs wc -l", "", True),
        ("git log", "", False),
        ("cat a.log", "", False),
        ("python x.py", "", True),
        ("", "", False),
    ],
)
def test_what_a_line_prints_is_known_by_its_program(line: str, prints: str, ran: bool) -> None:
    """A log or paths; failures in what was kept are not its own."""
    known = shell.parse_line(line)

    assert (known.prints, known.ran_something) == (prints, ran)


@pytest.mark.parametrize(
    ("line", "program"), [("git log", "git"), ("our-tool x", ""), ("cd a && npm test", "npm")]
)
def test_a_program_is_named_where_everybody_has_it(line: str, program: str) -> None:
    """Those of one project are nobody else's business."""
    assert shell.main_program_if_known(line) == program


@pytest.mark.parametrize("more", [0, 1])
def test_a_pattern_has_its_length(more: int) -> None:
    """What a command is remembered by is no longer."""
    (command,) = shell.split_commands("x" * (shell._LONGEST_PATTERN + more))

    assert command.pattern == "x" * shell._LONGEST_PATTERN
