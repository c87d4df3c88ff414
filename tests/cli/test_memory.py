"""`brimline memory`: topics and their index, in step, within the client's limits, never unseen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from brimline.cli import memory_commands
from brimline.errors import StateError
from brimline.fast import paths
from brimline.recall import hot, textfile
from brimline.settings import clientsettings
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from .conftest import Refused, Run

ADDS = """
import sys
from brimline.recall import hot
for number in range(10):
    name = f"{sys.argv[2]}-{number}"
    hot.add_topic(sys.argv[1], name, "project", f"About {name}", f"Text of {name}.")
"""


@pytest.fixture
def folder(project_dir: str) -> Path:
    """The client's memory of this project."""
    return Path(paths.project_transcripts_dir(project_dir), "memory")


def add(brimline: Run, name: str, text: str = "", kind: str = "project") -> None:
    """Write a topic."""
    about = f"About {name}"
    done = brimline("memory", "add", name, text or f"Text of {name}.", "--type", kind,
                    "--description", about)  # fmt: skip
    assert done.code == 0, done.err


@pytest.mark.row("S4-05", "S4-06", "S4-27")
def test_topic_and_index_stay_in_step(folder: Path, brimline: Run) -> None:
    """Added at the top; other lines are left alone."""
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Ours\n\n- [Old](old.md) — by hand\n", encoding="utf-8")
    (folder / "old.md").write_text(
        "---\nname: old\ndescription: By hand\nmetadata:\n  type: user\n  origin: abc\n---\nHi.\n",
        encoding="utf-8",
    )
    add(brimline, "Release day: how", 'Use "tags"; key sk-abcdefghijklmnopqrstuvwx')
    index = (folder / "MEMORY.md").read_text(encoding="utf-8")
    first = "- [Release day: how](release-day-how.md) — About Release day: how"
    assert index == f"# Ours\n\n{first}\n- [Old](old.md) — by hand\n"
    topic = hot.read_topics(str(folder))[1]
    assert (topic.type, topic.problem, "sk-" in topic.text) == ("project", "", False)

    assert brimline("memory", "lint").code == 0
    listed = brimline("memory", "list", "--json").document["topics"]
    assert [one["name"] for one in listed] == ["old", "Release day: how"]


@pytest.mark.row("S4-05")
def test_what_is_no_topic_is_refused(folder: Path, brimline: Run, refused: Refused) -> None:
    """A type nobody knows, a name or a content that is there already."""
    add(brimline, "one", "Some text that is long enough.")
    about = ("--type", "user", "--description")
    assert "no type 'secret'" in refused(
        "memory", "add", "x", "y", "--type", "secret", "--description", "z"
    )
    assert "there already" in refused("memory", "add", "ONE", "Other.", *about, "Other")
    assert "says the same" in refused(
        "memory", "add", "two", "Some text that is long enough.", *about, "Other"
    )
    assert "a path" in refused("memory", "add", "../evil", "Other.", *about, "Other")
    refused("memory", "add", "two", " ", *about, "Other")
    assert len(list(folder.iterdir())) == 2
    for name in ("über uns 🚀", "three"):  # equal, but too short to be the same thing
        assert brimline("memory", "add", name, "t", *about, "d").code == 0


@pytest.mark.row("S4-06", "S4-08", "S2-22")
def test_lint_names_every_fault_with_its_line(folder: Path, brimline: Run) -> None:
    """Front matter, types, links, duplicates, an index that the client cuts."""
    folder.mkdir(parents=True)
    files = {
        "a.md": "---\nname: a\ndescription: d\ntype: secret\n---\nSame.\n",
        "b.md": "---\nname: [b\ndescription: d\n---\nOther.\n",
        "c.md": "no front matter",
        "d.md": "---\nname: d\ntype: user\n---\nSame.\n",
        "e.md": "---\nname: a\ndescription: e\nmetadata: {type: user}\n---\nMore.\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    lines = [f"- [{name}]({name}) — x" for name in (*"abd", "gone", "a")]
    lines = [line.replace("](", "](").replace(") —", ".md) —") for line in lines]
    (folder / "MEMORY.md").write_text("\n".join([*lines, *["text"] * 200]), encoding="utf-8")
    done = brimline("memory", "lint")

    assert done.code == 1
    told = done.out.replace(str(folder) + "/", "")
    for expected in (
        "a.md:4: its type 'secret' is none of user, feedback, project, reference",
        "b.md:1: its front matter has no name",
        "c.md:1: it has no front matter",
        "d.md:1: its front matter has no description",
        "MEMORY.md:4: gone.md is not there",
        "MEMORY.md:5: a.md is named twice: also in line 1 of MEMORY.md",
        "c.md:1: MEMORY.md does not name it",
        "e.md:1: it has the same name as a.md",
        "d.md:1: it has the same text as a.md",
        "MEMORY.md:201: the client loads 200 lines of 205",
    ):
        assert expected in told, expected


def test_many_at_once_lose_no_line(folder: Path) -> None:
    """Eight processes that add topics, while somebody writes into the index by hand."""
    writers = [
        subprocess.Popen([sys.executable, "-c", ADDS, str(folder), f"w{n}"]) for n in range(8)
    ]
    by_hand = [f"by hand {number}" for number in range(3)]
    for line in by_hand:
        textfile.change_lines(str(folder / "MEMORY.md"), lambda lines: [*lines, line])  # noqa: B023
    assert [one.wait() for one in writers] == [0] * 8
    index = (folder / "MEMORY.md").read_text(encoding="utf-8")

    assert all(f"(w{n}-{m}.md)" in index for n in range(8) for m in range(10))
    assert all(f"by hand {n}\n" in index for n in range(3))
    assert hot.lint(str(folder)) == []


def test_writers_that_are_killed_leave_every_topic_they_acknowledged(folder: Path) -> None:
    """In its file and in the index; what was begun is at most a topic that the index lacks."""
    code = ADDS.replace(
        "    hot.add_topic", "    print(name, flush=True) if number else None\n    hot.add_topic"
    )
    told: list[str] = []
    for number in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", code, str(folder), f"k{number}"], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        for _ in range(number % 4 + 1):
            writer.stdout.readline()
        writer.kill()
        # A name is said when the one before it is done.
        said = writer.communicate()[0].decode().split()
        told += [f"k{number}-{n}" for n in range(number % 4 + 1 + len(said))]
    index = (folder / "MEMORY.md").read_text(encoding="utf-8")

    assert [name for name in told if f"({name}.md)" not in index] == []
    assert {topic.name for topic in hot.read_topics(str(folder))} >= set(told)
    found = {problem.text for problem in hot.lint(str(folder))}
    assert found <= {"MEMORY.md does not name it", "it has no front matter"}


def test_a_line_that_nobody_saw_is_not_overwritten(
    folder: Path, brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is changed from what it holds by then."""
    add(brimline, "one")
    index, read, calls = folder / "MEMORY.md", textfile.read_whole_file, list[str]()

    def interrupted(name: str) -> bytes:
        data = read(name)
        if name == str(index) and not calls:
            calls.append(name)
            index.write_bytes(data + b"- [By hand](one.md) by hand\n")
        return data

    monkeypatch.setattr(textfile, "read_whole_file", interrupted)
    add(brimline, "two")
    text = index.read_text(encoding="utf-8")
    assert "by hand" in text
    assert "(two.md)" in text


def test_the_folder_is_the_one_the_client_uses(world: Path, folder: Path) -> None:
    """That of the main worktree; the user's setting wins, one from the repository does not."""
    config = Path(paths.client_config_dir())
    project = world / "project"
    worktree, inner = world / "tree", project / "src" / "deep"
    inner.mkdir(parents=True)
    (project / ".git" / "worktrees" / "tree").mkdir(parents=True)
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {project}/.git/worktrees/tree\n", encoding="utf-8")
    back = project / ".git" / "worktrees" / "tree" / "gitdir"
    assert clientsettings.memory_folder(str(inner)) == str(folder)
    # Anybody can name a repository: it has to know of the worktree.
    for told in (None, f"{world}/other/.git\n"):
        back.write_text(told, encoding="utf-8") if told else None
        assert (
            clientsettings.memory_folder(f"{worktree}")
            == f"{paths.project_transcripts_dir(str(worktree))}/memory"
        )
    back.write_text(f"{worktree}/.git\n", encoding="utf-8")
    assert clientsettings.memory_folder(str(worktree)) == str(folder)

    part = project / "part"
    part.mkdir()
    (part / ".git").write_text("gitdir: ../.git/modules/part\n", encoding="utf-8")
    assert (
        clientsettings.memory_folder(str(part))
        == f"{paths.project_transcripts_dir(str(part))}/memory"
    )

    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"autoMemoryDirectory": "/etc"}')
    assert clientsettings.memory_folder(str(project)) == str(folder)
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.json").write_text('{"autoMemoryDirectory": "~/notes"}', encoding="utf-8")
    assert clientsettings.memory_folder(str(project)) == f"{world}/home/notes"


def test_a_damaged_search_file_is_told_and_no_empty_name_forgets(
    home_dir: str, brimline: Run, refused: Refused
) -> None:
    """It is begun anew, which costs what the client has deleted meanwhile."""
    add(brimline, "deploys", "By tag, never on Fridays.")
    assert "never on Fridays" in brimline("memory", "search", "fridays").out
    (file,) = Path(home_dir, "search").glob("*.sqlite3")
    file.write_bytes(b"\0" * 16 + file.read_bytes()[16:])

    done = brimline("memory", "search", "fridays")

    assert "the search file was damaged and begun anew" in done.err
    brimline("memory", "index", "--rebuild")
    assert "never on Fridays" in brimline("memory", "search", "fridays").out
    assert refused("forget", "--project", "", "--yes").endswith("is empty: name a folder\n")


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (0, "2 sessions, 0 entries, 1 output and 0 backups"),
        (1, "2 sessions, 1 entry, 1 output and 0 backups"),
        (1_200, "2 sessions, 1,200 entries, 1 output and 0 backups"),
    ],
)
def test_what_goes_is_counted(entries: int, text: str) -> None:
    """Each kind in its own number."""
    document = {"sessions": 2, "entries": entries, "outputs": 1, "backups": 0}

    assert memory_commands._deleted_counts_text(document) == text


def test_a_day_is_one_of_the_calendar() -> None:
    """Its midnight here, or the moment that is written; anything else is told."""
    assert memory_commands._parse_day_as_timestamp("2026-01-31T00:00:00+00:00") == 1_769_817_600.0
    assert (
        memory_commands._parse_day_as_timestamp("2026-02-01")
        - memory_commands._parse_day_as_timestamp("2026-01-31")
        > 0
    )
    with pytest.raises(StateError, match=r"'31\.1\.' is not a day: write it as 2026-01-31"):
        memory_commands._parse_day_as_timestamp("31.1.")


def test_sessions_to_forget_are_named_by_id_project_or_day(world: Path) -> None:
    """Those of a folder are those of the folders in it, too."""
    kept = {
        "abc": SimpleNamespace(project=str(world / "one"), last_at=1_000_000.0),
        "xyz": SimpleNamespace(project=str(world / "one" / "in"), last_at=2_000_000_000.0),
        "other": SimpleNamespace(project=str(world / "two"), last_at=2_000_000_000.0),
    }
    for name in ("one/in", "two"):
        (world / name).mkdir(parents=True)

    def chosen(*named: str | None) -> tuple[str, ...]:
        return tuple(memory_commands._choose_sessions(kept, *named).sessions)

    assert chosen("ab", None, None) == ("abc",)
    assert chosen(None, str(world / "one"), None) == ("abc", "xyz")
    assert chosen(None, None, "2026-01-31") == ("abc",)
    with pytest.raises(StateError, match="--project is empty"):
        chosen(None, " ", None)


def test_a_search_says_what_it_did_not_look_into(brimline: Run, project_dir: str) -> None:
    """Other projects, sessions that were not read yet; where all was, nothing is said."""
    alone = "this project alone was searched; `--everywhere` looks into all"
    anew = "the search file was damaged and begun anew"
    assert alone in brimline("memory", "search", "narwhal").err
    assert alone not in brimline("memory", "search", "narwhal", "--everywhere").err
    add(brimline, "deploys", "Ship the narwhal.")
    quiet = brimline("memory", "search", "narwhal").err
    assert alone not in quiet
    assert anew not in quiet
    assert "sessions read" not in quiet
    assert "from this machine alone" not in quiet

    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    SessionBuilder(path, session_id="abc", cwd=project_dir).prompt("hello")
    told = " ".join(brimline("memory", "search", "narwhal").err.split())

    assert "0 of 1 sessions read; `brimline memory index` reads the rest (about 1 s)" in told


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 entry added, 1 in all."), (2, "2 entries added, 2 in all.")]
)
def test_what_memory_took_in_is_counted(
    count: int, said: str, brimline: Run, project_dir: str
) -> None:
    """A second time there is nothing new; from the beginning it is the same again."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    session = SessionBuilder(path, session_id="abc", cwd=project_dir)
    for number in range(count):
        session.prompt(f"Remember the narwhal number {number}, please.")

    assert brimline("memory", "index").out == f"{said}\n"
    assert brimline("memory", "index").out == f"0 entries added, {count} in all.\n"
    again = brimline("memory", "index", "--rebuild").out
    assert again.endswith(f" added, {count} in all.\n")


def test_sessions_to_forget_are_named_in_one_way(brimline: Run, refused: Refused) -> None:
    """Not in none, nor in two."""
    told = "name one of --session, --project and --before"
    assert told in refused("forget", "--yes")
    assert told in refused("forget", "--session", "a", "--before", "2026-01-31", "--yes")
    assert "--project is empty: name a folder" in refused("forget", "--project", " ", "--yes")
    assert "/nope is not a folder, and nothing is kept of" in refused(
        "forget", "--project", "/nope"
    )
    assert "'soon' is not a day: write it as 2026-01-31" in refused("forget", "--before", "soon")
    assert brimline("forget", "--before", "2026-01-31", "--yes").out == (
        "0 sessions, 0 entries, 0 outputs and 0 backups forgotten.\n"
    )
    assert brimline("forget", "--before", "2026-01-31", "--dry-run").out == (
        "0 sessions, 0 entries, 0 outputs and 0 backups would go.\n"
    )
