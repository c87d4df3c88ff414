"""A command line, as far as offloading has to understand it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload import shell


@pytest.mark.row("S3-11")
@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("git log --oneline", "git log"),
        ("cd /x && git -C y --no-pager diff main...HEAD -- z | head -500", "git diff"),
        ("FOO=1 timeout 20 npm run build 2>&1 | tail -5", "npm run"),
        ("sudo -u me docker logs web", "docker logs"),
        ("python3 -m pytest -q tests", "pytest tests"),
        ("for f in *.py; do wc -l $f; done", "wc $f"),
        ("cat <<'EOF' > f\ndon't\nEOF\nls -R", "ls"),
        ("# it's a comment\n./gradlew build", "./gradlew build"),
        ("find . -name '*.go' | xargs grep foo", "find ."),
        ("/usr/bin/make -j4", "make"),
        ("echo done", "echo done"),
    ],
)
def test_a_call_is_remembered_by_two_words(line: str, pattern: str) -> None:
    """Of what most likely printed the output."""
    assert shell.pattern_of("Bash", line) == pattern


@pytest.mark.parametrize(
    "line",
    [
        "cat app.log",
        "sed -n '1,200p' a.py",
        "rg -n foo src | sort | uniq -c",
        "git diff HEAD~1",
        "cd x && git --no-pager log --stat",
        "find . -name '*.py' | xargs wc -l",
        "ls -la 2>/dev/null",
        "gh pr view 12",
        "gh run view 7 --log",
        "awk '{print $1}' x",
        "kubectl logs web",
        "ruff check .",
        "timeout 5 tail -n 900 x.log 2>&1",
    ],
)
def test_commands_that_only_read_are_known(line: str) -> None:
    """They may be repeated by anybody."""
    assert shell.read(line).only_reads


@pytest.mark.parametrize(
    "line",
    [
        "git push",
        "git diff > x.patch",
        "sed -i s/a/b/ x",
        "sed -ni p x",
        "find . -delete",
        "npm test",
        "cat a | tee b",
        "cat $(make list)",
        "rm -rf x; ls",
        "gh pr create",
        "sort -o x x",
        "ruff check --fix .",
        "cat `which x`",
        "awk '{print > \"f\"}' x",
        "git log --output=x",
        "find . -exec rm {} +",
        "",
        "ls &> x",
        "cat <(make)",
    ],
)
def test_others_are_not(line: str) -> None:
    """Nobody is invited to repeat a push."""
    assert not shell.read(line).only_reads


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("cat a.py b.py | head -100", ["a.py", "b.py"]),
        ("sed -n '/a/,/b/p' src/a.py", ["src/a.py"]),
        ("cd x && cat a.log", ["a.log"]),
        ("cat a.py; make", []),
        ("grep foo a.py", []),
    ],
)
def test_files_are_named_where_showing_them_is_all_a_line_does(line: str, files: list[str]) -> None:
    """Their names tell what kind of text it is."""
    assert shell.read(line).files == files


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("brimline store get sha256:01 --lines 3:9", [("sha256:01", "3:9")]),
        ("env A=1 /x/python -I -m brimline store get last --lines=3: | head", [("last", "3:")]),
        ("brimline store list", None),
        ("echo brimline store", None),
    ],
)
def test_recalls_are_known_by_their_words(line: str, asked: list[tuple[str, str]] | None) -> None:
    """Wherever in the line they stand."""
    assert shell.fetches("Bash", {"command": line}) == asked


@given(st.text(alphabet="ab '\"\\$(){}<>|&;\n#`=-", max_size=60))
def test_whatever_a_line_looks_like_nothing_raises(line: str) -> None:
    """And what only reads writes nowhere."""
    found = shell.read(line)

    assert not found.only_reads or not any(one.writes for one in found.commands)
