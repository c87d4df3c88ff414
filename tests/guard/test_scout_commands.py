"""Which paths a command line reads: every form of reading, every form of not reading."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.guard.scout_commands import MOST_CHARACTERS, Read, reads, resolve
from brimline.guard.scout_shell import alternatives

VARIABLES = {"HOME": "/home/me", "CLAUDE_PROJECT_DIR": "/p"}
FRAGMENTS = st.sampled_from(
    [
        *("cat ", "ls ", "cd ", "find ", "sed -n ", "rg -g ", "bash -c ", "sudo ", "dist/x"),
        *("'", '"', "`", "$(", ")", "(", "${", "}", "$", "\\", "\n", "<<EOF\n", "EOF", "<<<", "<("),
        *("&&", "||", "|", ";", "&", "2>&1", ">", "#", "{a,b}", "--", "-", "~", "*", "\0", "="),
        *(" ", "[", "!"),
    ]
)


def paths(line: str, cwd: str = "/p") -> list[str]:
    """The paths a line reads, from the project's root."""
    return [read.path.removeprefix("/p/") for read in reads(line, cwd, VARIABLES)]


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls node_modules", ["node_modules"]),
        ("ls -la node_modules/react", ["node_modules/react"]),
        ("ls -I dist .", ["/p"]),
        ("cat dist/a.js", ["dist/a.js"]),
        ("cat a.js dist/b.js", ["a.js", "dist/b.js"]),
        ("cat -- -odd", ["-odd"]),
        ("/bin/cat dist/a.js", ["dist/a.js"]),
        ("\\cat dist/a.js", ["dist/a.js"]),
        ("head -n 5 dist/a.js", ["dist/a.js"]),
        ("head -5 dist/a.js", ["dist/a.js"]),
        ("tail -f build/log", ["build/log"]),
        ("less dist/a.js", ["dist/a.js"]),
        ("wc -l dist/a.js", ["dist/a.js"]),
        ("wc -l < dist/a.js", ["dist/a.js"]),
        ("stat dist/a.js", ["dist/a.js"]),
        ("du -sh node_modules", ["node_modules"]),
        ("tree -L 2 node_modules", ["node_modules"]),
        ("diff src/a.js dist/a.js", ["src/a.js", "dist/a.js"]),
        ("sed -n '1,20p' dist/a.js", ["dist/a.js"]),
        ("sed -ne 1p dist/a.js", ["dist/a.js"]),
        ("awk -F: '{print $1}' dist/a.csv", ["dist/a.csv"]),
        ("jq .version node_modules/react/package.json", ["node_modules/react/package.json"]),
        ("grep foo dist/a.js", ["dist/a.js"]),
        ("grep -rn foo node_modules", ["node_modules"]),
        ("grep -e foo -e bar dist", ["dist"]),
        ("rg foo node_modules", ["node_modules"]),
        ("rg --files node_modules", ["node_modules"]),
        ("rg -g 'node_modules/**' foo", ["/p", "node_modules/**"]),
        ("fd . node_modules", ["node_modules"]),
        ("find node_modules -name '*.md'", ["node_modules"]),
        ("find . -path '*/node_modules/*' -name x", ["/p", "*/node_modules/*"]),
        ("find dist -name x -exec cat {} +", ["dist"]),
        ("find -L dist", ["dist"]),
        ("find", ["/p"]),
    ],
)
def test_a_reading_command_names_its_paths(line: str, expected: list[str]) -> None:
    """Options, patterns and programs are told apart from the paths."""
    assert paths(line) == expected


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("npm test && cat dist/a.js", ["dist/a.js"]),
        ("npm test; cat dist/a.js", ["dist/a.js"]),
        ("npm test || cat dist/a.js", ["dist/a.js"]),
        ("npm test & cat dist/a.js", ["dist/a.js"]),
        ("npm test\ncat dist/a.js", ["dist/a.js"]),
        ("cat dist/a.js | head", ["dist/a.js"]),
        ("cat dist/a.js |\n  head", ["dist/a.js"]),
        ("(cat dist/a.js)", ["dist/a.js"]),
        ("{ cat dist/a.js; }", ["dist/a.js"]),
        ("if cat dist/a.js; then echo yes; fi", ["dist/a.js"]),
        ("! cat dist/a.js", ["dist/a.js"]),
        ("FOO=1 BAR=2 cat dist/a.js", ["dist/a.js"]),
        ("env FOO=1 cat dist/a.js", ["dist/a.js"]),
        ("sudo -u me cat dist/a.js", ["dist/a.js"]),
        ("timeout 10s cat dist/a.js", ["dist/a.js"]),
        ("time nice -n 5 cat dist/a.js", ["dist/a.js"]),
        ("echo a | xargs -n 1 cat dist/a.js", ["dist/a.js"]),
        ("bash -lc 'cat dist/a.js'", ["dist/a.js"]),
        ("eval cat dist/a.js", ["dist/a.js"]),
        ("echo $(cat dist/a.js)", ["dist/a.js"]),
        ('echo "is $(cat dist/a.js | wc -l) long"', ["dist/a.js"]),
        ("echo `cat dist/a.js`", ["dist/a.js"]),
        ("diff <(cat dist/a.js) b.js", ["dist/a.js", "b.js"]),
        ("cat 'dist/a b.js'", ["dist/a b.js"]),
        ('cat "dist/a b.js"', ["dist/a b.js"]),
        ("cat dist/a\\ b.js", ["dist/a b.js"]),
        ("cat \\\n  dist/a.js", ["dist/a.js"]),
        ("cat dist/a.js 2>/dev/null", ["dist/a.js"]),
        ("cat dist/a.js 2>&1", ["dist/a.js"]),
        ("cat dist/a.js >&2", ["dist/a.js"]),
        ("cat dist/a.js > /dev/stderr", ["dist/a.js"]),
        ("cat dist/a.js # a comment", ["dist/a.js"]),
        ("cat <<EOF\ncat build/b\nEOF\ncat dist/a.js", ["dist/a.js"]),
        ("cat $PWD/dist/a.js ${PWD}/b $(pwd)/c", ["dist/a.js", "b", "c"]),
        ("cat $CLAUDE_PROJECT_DIR/dist/a.js", ["dist/a.js"]),
        ("cat node_modules/$package/index.js", ["node_modules/*/index.js"]),
        ("cat ~/dist/a.js", ["/home/me/dist/a.js"]),
        ("cat C:\\\\x\\\\a.js", ["C:/x/a.js"]),
    ],
)
def test_a_read_is_found_wherever_the_shell_would_run_it(line: str, expected: list[str]) -> None:
    """Compounds, subshells, prefixes, wrappers, quotes, here-documents and substitutions."""
    assert paths(line) == expected


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cd node_modules", ["node_modules"]),
        ("pushd dist", ["dist"]),
        ("cd -P -- dist", ["dist"]),
        ("cd node_modules && ls", ["node_modules", "node_modules"]),
        ("cd node_modules && cat react/a.js", ["node_modules", "node_modules/react/a.js"]),
        ("cd build && cmake .. && make", []),
        ("cd build && make && ls", ["build"]),
        ("cd node_modules/x && npm test", []),
        ("(cd build && make) && cat a.js", ["a.js"]),
        ("(cd dist); cat a.js", ["dist", "a.js"]),
        ("cd $somewhere && cat a.js", []),
        ("cd - && cat a.js", []),
        ("cd && cat a.js", ["/home/me", "/home/me/a.js"]),
    ],
)
def test_cd_moves_the_reads_after_it(line: str, expected: list[str]) -> None:
    """Going there to build is fine; going there and then reading, or staying, is a read."""
    assert paths(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls", ["/p/build"]),
        ("grep -r foo", ["/p/build"]),
        ("rg foo", ["/p/build"]),
        ("grep foo", []),
        ("make | rg foo", []),
        ("make | head -n 5", []),
        ("cat ../src/a.js", ["/p/src/a.js"]),
        ("cat -", []),
    ],
)
def test_a_command_without_a_path_reads_the_current_folder_only_if_it_walks(
    line: str, expected: list[str]
) -> None:
    """Filters read their input; `ls`, `tree` and searches read where they stand."""
    assert [read.path for read in reads(line, "/p/build", VARIABLES)] == expected


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    "line",
    [
        "npm run build",
        "npm install --prefix node_modules/x",
        "pnpm -C packages/dist build",
        "yarn build",
        "bun build ./dist/a.ts",
        "npx tsc --outDir dist",
        "go build ./vendor/x",
        "go mod vendor",
        "cargo build --target-dir target",
        "make build",
        "docker build -t x build/",
        "docker exec box ls node_modules",
        "kubectl apply -f build/k8s",
        "terraform plan -out=build/plan",
        "mvn -f target/pom.xml package",
        "gradle build",
        "./gradlew build",
        "pip install -t vendor requests",
        "uv pip install -r vendor/requirements.txt",
        "git status",
        "git add dist && git commit -m 'cat dist/a.js'",
        "git log -- vendor",
        "python -m venv .venv",
        "python3 -m venv venv",
        "py -3.11 -m venv .venv",
        "uv venv .venv",
        "virtualenv venv",
        ".venv/bin/python x.py",
        "./.venv/bin/pytest tests",
        ".venv/Scripts/python.exe x.py",
        "node_modules/.bin/tsc --noEmit",
        "node dist/index.js",
        "source .venv/bin/activate",
        ". venv/bin/activate && pytest",
        "rm -rf dist build",
        "mkdir -p build/out",
        "cp -r src dist",
        "mv dist old",
        "touch dist/.keep",
        "test -d node_modules",
        "[ -d node_modules ] && echo there",
        "tar czf dist.tgz dist",
        "ssh host cat node_modules/a.js",
        "echo node_modules",
        "psql < build/dump.sql",
    ],
)
def test_building_running_and_writing_read_nothing(line: str) -> None:
    """Build commands, package managers, virtual environments, executables, changes to folders."""
    assert paths(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "echo hi > dist/a.js",
        "cat <<'EOF' > dist/a.js\nls node_modules\nEOF",
        "cat src/a.js > dist/a.js",
        "cat node_modules/a.js >> all.js",
        "ls node_modules > /dev/null 2>&1 && echo yes",
        "ls node_modules &> /dev/null",
        "cat node_modules/a.js | sort > all.txt",
        "grep -q foo dist/a.js && echo yes",
        "sed -i 's/a/b/' dist/a.js",
        "sed -i.bak 's/a/b/' dist/a.js",
        "sort -o dist/a dist/a",
        "tree -o out.txt node_modules",
        "find dist -name '*.map' -delete",
        "find . -name __pycache__ -exec rm -rf {} +",
        "find dist -type f -exec chmod 644 {} \\;",
        "cat <<< node_modules/a.js",
        "cat > dist/a.js <<EOF\nnode_modules/a.js\nEOF\n",
        "git commit -m \"$(cat <<'EOF'\ndon't (read\ncat dist/a.js\nEOF\n)\"",
    ],
)
def test_what_never_reaches_the_conversation_is_no_read(line: str) -> None:
    """Output to a file, silent options, edits in place, deletions, here-documents."""
    assert paths(line) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("grep node_modules .gitignore", [".gitignore"]),
        ("grep -r foo src --exclude-dir=node_modules", ["src"]),
        ("grep -r foo --exclude-dir node_modules src", ["src"]),
        ("rg foo -g '!node_modules' src", ["src"]),
        ("rg foo --glob='!dist/**' src", ["src"]),
        ("tree -I 'node_modules|dist' .", ["/p"]),
        ("du -h --exclude node_modules .", ["/p"]),
        ("fd foo src -E node_modules", ["src"]),
        ("ag foo --ignore node_modules src", ["src"]),
        ("find . -path ./node_modules -prune -o -name '*.ts' -print", ["/p"]),
        ("find . -name '*.ts' -not -path '*/node_modules/*'", ["/p"]),
        ("find . -name '*.ts' ! -path './dist/*'", ["/p"]),
        ("awk '/node_modules/' a.log", ["a.log"]),
        ("sed -n '/dist/p' a.log", ["a.log"]),
    ],
)
def test_a_folder_that_is_excluded_or_searched_for_is_not_read(
    line: str, expected: list[str]
) -> None:
    """A name in a pattern, a program or an exclusion is no path."""
    assert paths(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "cat 'dist",
        'cat "dist',
        "cat `dist",
        "cat $(dist",
        "cat ${dist",
        "cat <<EOF",
        "cat <<",
        "cat >",
        "cat \\",
        "&& | ; ( ) ) (",
        "$",
        "",
        "\0",
        "bash -c",
        "sudo",
        "find -exec",
        "$(" * 5_000,
        "(" * 5_000,
        "{a,b}" * 500,
        "cat " + "{" + "," * 4_000 + "}",
        'cat "' + "<<E " * 4_000,
    ],
)
def test_broken_command_lines_are_taken_as_far_as_they_go(line: str) -> None:
    """Unfinished quotes, here-documents and substitutions end with the line."""
    assert isinstance(reads(line, "/p", VARIABLES), list)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_text_makes_the_analysis_fail(line: str) -> None:
    """Any text at all is a command line."""
    assert all(isinstance(read, Read) for read in reads(line, "/p", VARIABLES))


@settings(deadline=None)
@given(st.lists(FRAGMENTS, max_size=25).map("".join))
def test_no_mix_of_shell_signs_makes_the_analysis_fail(line: str) -> None:
    """What comes out is always an absolute path without the sign for the unknown."""
    for read in reads(line, "/p", VARIABLES):
        assert read.path.startswith("/")
        assert "\0" not in read.path


def test_only_the_beginning_of_a_huge_line_is_looked_at() -> None:
    """A line with a megabyte of data in it costs no more than a long command."""
    line = "echo " + "x" * MOST_CHARACTERS + "; cat dist/a.js"

    assert paths(line) == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a", ["a"]),
        ("{a,b}/c", ["a/c", "b/c"]),
        ("{a,{b,c}}", ["a", "b", "a", "c"]),
        ("{a}", ["{a}"]),
        ("{a,b", ["{a,b"]),
    ],
)
def test_brace_alternatives_are_spelled_out(word: str, expected: list[str]) -> None:
    """Braces with a comma stand for several words."""
    assert alternatives(word) == expected


def test_brace_alternatives_are_bounded() -> None:
    """A short word cannot stand for millions."""
    assert len(alternatives("{a,b}" * 40)) <= 128
    assert len(alternatives("{" + "," * 4_000 + "}")) <= 128


@pytest.mark.parametrize(
    ("cwd", "path", "expected"),
    [
        ("/p", "a/../b", "/p/b"),
        ("/p", "//x", "/x"),
        ("/p/..", ".", "/"),
        ("/p", "", None),
        (None, "a", None),
        (None, "/a", "/a"),
        ("/p", "~other/a", None),
        ("/p", "\0/a", None),
        ("C:/p", "src\\a.js", "C:/p/src\\a.js"),
        ("/p", "C:\\p\\a.js", "C:/p/a.js"),
    ],
)
def test_a_path_is_resolved_without_the_disk(
    cwd: str | None, path: str, expected: str | None
) -> None:
    """What only the shell or another user's home could say is unknown."""
    assert resolve(cwd, path) == expected
