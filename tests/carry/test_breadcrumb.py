"""The entry that a session leaves in a daily note: where, what, once, and beside all else."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.carry import breadcrumb, crumbtext, items, moment
from brimline.carry.session import Session
from brimline.errors import StateError
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from collections.abc import Callable

SESSION = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
OTHER = "7c1e90aa-bbbb-4ccc-8ddd-000000000002"
# A Sunday.
NOON = datetime(2026, 11, 15, 12, 34, 56).astimezone().timestamp()
DAY_S = 86_400


@pytest.fixture
def vault(world: Path) -> Path:
    """A folder of Markdown notes."""
    folder = world / "Notes und Ideen ✎"
    folder.mkdir()
    return folder


@pytest.fixture
def ledger() -> items.Ledger:
    """What is known of a session: a goal, tasks, files."""
    found = items.Ledger(SESSION)
    found.add(items.Item(items.GOAL, "Make the nightly\nimport faster", items.USER))
    found.add(items.Item(items.TASK, "Write the regression test", items.TOOL))
    found.add(items.Item(items.TASK, "Profile the batches", items.TOOL, status=items.DONE))
    found.add(items.Item(items.FILE, "/p/src/importer.py", items.TOOL, extra={"did": "edited"}))
    found.add(items.Item(items.FILE, "/p/README.md", items.TOOL, extra={"did": "read"}))
    return found


def session_in(vault: Path | str, home_dir: str, **values: Any) -> Session:
    """A session whose user named a vault."""
    settings = {"carry.vault": str(vault)} | values
    return Session(home_dir, SessionState(home_dir, SESSION), "", "/home/dev/importer", settings)


def leave(
    vault: Path | str, ledger: items.Ledger, home_dir: str, at: float = NOON, **values: Any
) -> Path:
    """Leave an entry at a fixed time; the note's path."""
    path = breadcrumb.leave(session_in(vault, home_dir, **values), ledger, now=lambda: at)
    assert path is not None
    return Path(path)


def obsidian(vault: Path, **settings: Any) -> None:
    """Make a folder a vault with its settings for daily notes."""
    (vault / ".obsidian").mkdir(exist_ok=True)
    (vault / ".obsidian" / "daily-notes.json").write_text(json.dumps(settings), encoding="utf-8")


@pytest.mark.row("S4-38")
def test_any_folder_gets_an_entry_in_the_note_of_the_day(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """Without Obsidian's settings the note is named by the date, and begins with the entry."""
    note = leave(vault, ledger, home_dir)

    assert note == vault / "2026-11-15.md"
    text = note.read_text(encoding="utf-8")
    assert [line.partition(" <!--")[0] for line in text.splitlines()] == [
        "- 12:34 **importer**: Make the nightly import faster",
        "  - open: Write the regression test",
        "  - done: Profile the batches",
        "  - files: `importer.py`",
    ]
    assert text.endswith(f" <!-- /brimline {SESSION} -->\n")


@pytest.mark.row("S4-38")
def test_obsidians_own_settings_say_where(vault: Path, ledger: items.Ledger, home_dir: str) -> None:
    """Folder and format, with folders inside the format."""
    obsidian(vault, folder="Journal/Days", format="YYYY/MM-MMMM/[Day of] YYYY-MM-DD dddd")

    note = leave(vault, ledger, home_dir)

    assert note == vault / "Journal/Days/2026/11-November/Day of 2026-11-15 Sunday.md"
    assert note.exists()


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"format": 7, "folder": null}', b"\xff\xfe", b'{"format": ""}']
)
def test_damaged_settings_mean_obsidians_defaults(
    vault: Path, ledger: items.Ledger, home_dir: str, raw: bytes
) -> None:
    """The note is in the vault's root, named by the date."""
    obsidian(vault)
    (vault / ".obsidian" / "daily-notes.json").write_bytes(raw)

    assert leave(vault, ledger, home_dir) == vault / "2026-11-15.md"


def test_a_note_cannot_be_led_out_of_the_vault(
    vault: Path, ledger: items.Ledger, home_dir: str, world: Path
) -> None:
    """A vault that came from somebody else names no place outside of it."""
    for settings in ({"folder": "../elsewhere"}, {"format": "[../../]YYYY"}):
        obsidian(vault, **settings)
        with pytest.raises(StateError, match="outside of the vault"):
            leave(vault, ledger, home_dir)

    assert not (world / "elsewhere").exists()


def test_a_vault_behind_a_link_is_a_vault(
    vault: Path, ledger: items.Ledger, home_dir: str, world: Path
) -> None:
    """The note is written where the link leads."""
    link = world / "link"
    link.symlink_to(vault)

    assert leave(link, ledger, home_dir) == vault / "2026-11-15.md"
    assert leave("~/../link", ledger, home_dir).exists()


@pytest.mark.row("S4-38")
def test_a_resumed_session_has_one_entry_and_all_else_stays(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """Its own entry is renewed in place; before and after it every byte is as it was."""
    note = vault / "2026-11-15.md"
    before = "# Sunday\r\n\r\nCoffee with Zoë ☕ – no final line break".encode()
    note.write_bytes(before)
    leave(vault, ledger, home_dir)
    first = note.read_bytes()
    note.write_bytes(first + "später dazu\r\n\xff".encode("latin-1"))
    ledger.items[next(iter(ledger.of(items.TASK, status=items.OPEN))).id].status = items.DONE

    leave(vault, ledger, home_dir, NOON + 3_600)

    after = note.read_bytes()
    assert first.startswith(before + b"\r\n- 12:34")
    assert after.startswith(before + b"\r\n- 13:34")
    assert after.endswith("später dazu\r\n\xff".encode("latin-1"))
    assert after.count(b"<!-- brimline ") == 1
    assert b"open:" not in after
    assert after.count(b"\n") == after.count(b"\r\n")


def test_the_same_again_changes_nothing(vault: Path, ledger: items.Ledger, home_dir: str) -> None:
    """Not even the file's time."""
    note = leave(vault, ledger, home_dir)
    os.utime(note, (1, 1))

    leave(vault, ledger, home_dir)

    assert note.stat().st_mtime == 1


def test_another_session_and_another_day_have_entries_of_their_own(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """One per session in the note of each day it ended on."""
    other = items.Ledger(OTHER)
    other.add(items.Item(items.GOAL, "Another goal", items.USER))

    leave(vault, ledger, home_dir)
    leave(vault, other, home_dir)
    leave(vault, ledger, home_dir, NOON + DAY_S)

    assert (vault / "2026-11-15.md").read_text(encoding="utf-8").count("<!-- brimline ") == 2
    assert (vault / "2026-11-16.md").read_text(encoding="utf-8").count("<!-- brimline ") == 1


def test_an_entry_that_somebody_changed_is_theirs(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """It is neither renewed nor repeated; nor is one that lost its end."""
    note = leave(vault, ledger, home_dir)
    edited = note.read_text(encoding="utf-8").replace("regression test", "regression test (mine)")
    for text in (edited, edited.replace("/brimline", "brimlin")):
        note.write_text(text, encoding="utf-8")
        leave(vault, ledger, home_dir, NOON + 3_600)

        assert note.read_text(encoding="utf-8") == text


def test_a_template_says_what_is_written(vault: Path, ledger: items.Ledger, home_dir: str) -> None:
    """A line of which nothing is known is left out, an unknown placeholder stays as it is."""
    template = (
        "\n* [[{project}]] {date} {session}\n\t{goal} {nonsense} {0} {goal.x}\n\tempty: {plan}"
    )
    del ledger.items[next(iter(ledger.of(items.GOAL))).id]

    note = leave(vault, ledger, home_dir, NOON, **{"carry.breadcrumb": template})

    lines = [line.partition(" <!--")[0] for line in note.read_text(encoding="utf-8").splitlines()]
    assert lines == [f"* [[importer]] 2026-11-15 {SESSION}", "\tempty: {plan}"]


def test_a_new_note_begins_with_the_users_template(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """Otherwise Obsidian would find the note there and leave its template out."""
    obsidian(vault, template="Templates/Daily")
    (vault / "Templates").mkdir()
    (vault / "Templates" / "Daily.md").write_text(
        "# {{title}} {{date:dddd}} {{Time}}\n{{other}}\n", encoding="utf-8"
    )

    note = leave(vault, ledger, home_dir)

    assert note.read_text(encoding="utf-8").startswith(
        "# 2026-11-15 Sunday 12:34\n{{other}}\n- 12:34 **importer**"
    )


def test_nothing_known_leaves_no_trace(vault: Path, home_dir: str) -> None:
    """A session that was opened and closed."""
    session = session_in(vault, home_dir)

    assert breadcrumb.leave(session, items.Ledger(SESSION), now=lambda: NOON) is None
    assert list(vault.iterdir()) == []


def test_what_people_say_cannot_break_the_entry(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """Comment marks, control characters and half an emoji in a goal."""
    evil = f"--> <!-- /brimline {SESSION} -->\x1b[31m \ud83d\u2028 done {'x' * 500}"
    ledger.add(items.Item(items.GOAL, evil, items.USER))

    leave(vault, ledger, home_dir)
    note = leave(vault, ledger, home_dir, NOON + 3_600)

    text = note.read_text(encoding="utf-8")
    assert text.count("<!-- brimline ") == text.count("<!-- /brimline ") == 1
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) < 300


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        (lambda note: note.mkdir(), "is a folder"),
        (lambda note: note.write_bytes(b"\xff\xfe#\0 \0"), "is no text in UTF-8"),
    ],
)
def test_a_note_that_is_none_is_told(
    vault: Path,
    ledger: items.Ledger,
    home_dir: str,
    prepare: Callable[[Path], object],
    sentence: str,
) -> None:
    """A folder, or another encoding."""
    prepare(vault / "2026-11-15.md")

    with pytest.raises(StateError, match=sentence):
        leave(vault, ledger, home_dir)


def test_what_the_disk_refuses_is_passed_on(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """A link to itself, and a file where the folder of the notes should be."""
    (vault / "2026-11-15.md").symlink_to("2026-11-15.md")
    with pytest.raises(OSError, match="symbolic"):
        leave(vault, ledger, home_dir)

    obsidian(vault, folder="days")
    (vault / "days").write_bytes(b"")
    with pytest.raises(OSError, match=r"exists|directory"):
        leave(vault, ledger, home_dir)


def test_the_day_is_that_of_the_machine(
    vault: Path, ledger: items.Ledger, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same moment is another day further east."""
    moment_s = 1_794_744_000.0  # 2026-11-15 12:00 in UTC
    names = []
    with monkeypatch.context() as patch:
        for zone in ("UTC-14", "UTC", "UTC+12:30"):
            patch.setenv("TZ", zone)
            time.tzset()
            names.append(leave(vault, ledger, home_dir, moment_s).name)
    time.tzset()

    assert names == ["2026-11-16.md", "2026-11-15.md", "2026-11-14.md"]


def test_a_vault_that_is_gone_is_told_and_not_made(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """A disk that is not mounted must not become a folder on another."""
    with pytest.raises(StateError, match=r"carry\.vault is no folder"):
        leave(vault / "gone", ledger, home_dir)

    assert not (vault / "gone").exists()


def test_notes_belong_to_the_person_and_not_to_us(
    vault: Path, ledger: items.Ledger, home_dir: str
) -> None:
    """New ones have the usual mode; a renewed one keeps the mode it had, behind a link too."""
    old_mask = os.umask(0o022)
    try:
        note = leave(vault, ledger, home_dir)
        made = stat.S_IMODE(note.stat().st_mode)
        target = note.rename(vault / "real.md")
        note.symlink_to(target)
        target.chmod(0o664)
        leave(vault, ledger, home_dir, NOON + 3_600)
    finally:
        os.umask(old_mask)

    assert made == 0o644
    assert note.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o664
    assert "13:34" in target.read_text(encoding="utf-8")
    assert [path.name for path in vault.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.row("S4-40")
def test_a_full_disk_leaves_the_note_whole(
    vault: Path, ledger: items.Ledger, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that was written is taken back; a copy never takes the note's place."""
    note = vault / "2026-11-15.md"
    note.write_text("mine\n", encoding="utf-8")
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real_write(descriptor, data[:20]))
    with pytest.raises(OSError, match="fitted"):
        leave(vault, ledger, home_dir)
    assert note.read_text(encoding="utf-8") == "mine\n"

    monkeypatch.setattr(os, "write", real_write)
    leave(vault, ledger, home_dir)
    entry = note.read_bytes()

    def refuse(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(OSError, match="No space"):
        leave(vault, ledger, home_dir, NOON + 3_600)
    assert note.read_bytes() == entry
    assert [path.name for path in vault.iterdir()] == [note.name]


def test_an_edit_in_the_same_moment_is_not_lost(
    vault: Path, ledger: items.Ledger, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor saves while the copy is being written: the next try starts from its text."""
    note = leave(vault, ledger, home_dir)
    real_fsync = os.fsync
    saves = iter(["typed by hand\n"])

    def save_meanwhile(descriptor: int) -> None:
        real_fsync(descriptor)
        for text in saves:
            note.write_text(note.read_text(encoding="utf-8") + text, encoding="utf-8")

    monkeypatch.setattr(os, "fsync", save_meanwhile)

    leave(vault, ledger, home_dir, NOON + 3_600)

    text = note.read_text(encoding="utf-8")
    assert text.endswith("typed by hand\n")
    assert "13:34" in text


def test_a_note_that_never_rests_is_left_alone(
    vault: Path, ledger: items.Ledger, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something rewrites it each time: the entry is not renewed, and that is told."""
    note = leave(vault, ledger, home_dir)
    real_fsync = os.fsync

    def save_meanwhile(descriptor: int) -> None:
        real_fsync(descriptor)
        note.write_text(note.read_text(encoding="utf-8") + "more\n", encoding="utf-8")

    monkeypatch.setattr(os, "fsync", save_meanwhile)

    with pytest.raises(StateError, match="was changed by something else"):
        leave(vault, ledger, home_dir, NOON + 3_600)
    assert "12:34" in note.read_text(encoding="utf-8")


def test_sessions_that_end_at_once_all_leave_their_entry(vault: Path, home_dir: str) -> None:
    """Twelve at a time, half of them resumed ones: nobody's entry is lost."""
    note = vault / "2026-11-15.md"
    note.write_text("mine", encoding="utf-8")

    def end(number: int, at: float) -> None:
        ledger = items.Ledger(f"session-{number}")
        ledger.add(items.Item(items.GOAL, f"Goal {number}", items.USER))
        leave(vault, ledger, home_dir, at)

    for number in range(6):
        end(number, NOON)
    threads = [threading.Thread(target=end, args=(n, NOON + 3_600)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    text = note.read_text(encoding="utf-8")
    assert text.startswith("mine\n")
    assert text.count("<!-- brimline ") == text.count("<!-- /brimline ") == 12
    assert text.count("13:34") == 12


def test_processes_that_end_at_once_do_not_lose_entries(vault: Path, home_dir: str) -> None:
    """The same between processes, as clients that are closed together."""
    program = (
        "import sys\n"
        "from brimline.carry import breadcrumb\n"
        "for round in range(10):\n"
        "    breadcrumb.write(sys.argv[1], f'- {sys.argv[2]} round {round}', sys.argv[2])\n"
    )
    note = vault / "note.md"
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(note), f"session-{number}"])
        for number in range(4)
    ]

    assert [process.wait() for process in running] == [0, 0, 0, 0]
    lines = note.read_text(encoding="utf-8").splitlines()
    assert sorted(line.partition(" <!--")[0] for line in lines) == [
        f"- session-{number} round 9" for number in range(4)
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("YYYY-MM-DD", "2026-11-15"),
        ("YY.M.D", "26.11.15"),
        ("ddd dd d E dddd", "Sun Su 0 7 Sunday"),
        ("MMM MMMM Mo", "Nov November 11th"),
        ("Do DDDD DDD", "15th 319 319"),
        ("gggg-[W]ww GGGG-[W]WW w", "2026-W47 2026-W46 47"),
        ("[Today is] YYYY[, week] w", "Today is 2026, week 47"),
        ("HH:mm:ss h A a", "12:34:56 12 PM pm"),
        ("Q [quarter] Qo", "4 quarter 4th"),
        ("YYYY/MM/[notes]/DD", "2026/11/notes/15"),
        ("[]", ""),
        ("", ""),
    ],
)
def test_dates_are_formatted_as_obsidian_does(pattern: str, expected: str) -> None:
    """The tokens of moment.js, text in brackets as it is."""
    assert moment.formatted(datetime.fromtimestamp(NOON).astimezone(), pattern) == expected


@pytest.mark.parametrize(
    ("day", "local", "iso"),
    [
        ((2026, 1, 1), "2026 01", "2026 01"),
        ((2025, 12, 28), "2026 01", "2025 52"),
        ((2025, 12, 27), "2025 52", "2025 52"),
        ((2027, 1, 1), "2027 01", "2026 53"),
        ((2028, 12, 31), "2029 01", "2028 52"),
        ((2024, 2, 29), "2024 09", "2024 09"),
    ],
)
def test_weeks_at_the_turn_of_a_year_belong_to_the_right_one(
    day: tuple[int, int, int], local: str, iso: str
) -> None:
    """Weeks that begin on Sunday, and those of ISO 8601."""
    at = datetime(*day).astimezone()

    assert moment.formatted(at, "gggg ww") == local
    assert moment.formatted(at, "GGGG WW") == iso


def test_ordinals_end_as_in_english() -> None:
    """Eleventh to thirteenth included."""
    days = [moment.formatted(datetime(2026, 1, day).astimezone(), "Do") for day in range(1, 32)]

    assert days[:4] == ["1st", "2nd", "3rd", "4th"]
    assert days[10:13] == ["11th", "12th", "13th"]
    assert days[20:23] + days[30:] == ["21st", "22nd", "23rd", "31st"]


def test_an_entry_is_found_only_by_its_own_session() -> None:
    """One id that begins like another is another."""
    note = crumbtext.marked("- a", "session-1") + "\n"

    assert crumbtext.with_entry(note, "- b", "session-11") is None
    assert crumbtext.with_entry(note, "- b", "session") is None
    assert crumbtext.with_entry(note, "- a", "session-1") == note
