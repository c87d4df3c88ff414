"""What the installer remembers about the files it changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from brimline.install import record


def test_a_record_is_found_by_the_path_of_its_file(home_dir: str) -> None:
    """Each settings file has its own, and all of them can be listed."""
    first = record.Record("/a/settings.json", ["x"], None, [["hooks"]], made_folder=True)
    second = record.Record("/b/settings.json", ["y"])
    record.save(home_dir, first)
    record.save(home_dir, second)

    assert record.load(home_dir, "/a/settings.json") == first
    assert record.load(home_dir, "/c/settings.json") is None
    assert sorted(found.path for found in record.load_all(home_dir)) == [first.path, second.path]


def test_forgetting_takes_everything_of_that_file_and_nothing_else(home_dir: str) -> None:
    """Originals of cut-short runs go too."""
    for path in ("/a", "/b"):
        record.save(home_dir, record.Record(path))
        record.keep_original(home_dir, path, b"one")
        record.keep_original(home_dir, path, b"two")

    record.forget(home_dir, "/a")

    assert [found.path for found in record.load_all(home_dir)] == ["/b"]
    assert len(list(Path(home_dir, "install").iterdir())) == 3


def test_an_original_comes_back_only_as_it_was(home_dir: str) -> None:
    """Bytes that changed since then are not handed out."""
    found = record.Record("/a", original=record.keep_original(home_dir, "/a", b"bytes"))
    assert record.original_bytes(home_dir, found) == b"bytes"

    (kept,) = Path(home_dir, "install").iterdir()
    kept.write_bytes(b"other")
    with pytest.raises(LookupError):
        record.original_bytes(home_dir, found)
    kept.unlink()
    with pytest.raises(LookupError):
        record.original_bytes(home_dir, found)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"v": 2}', '{"v": 1}', '{"v": 1, "path": 1}', '{"v": 1, "x": 1}',
     '{"v": 1, "path": "/a", "made": [1]}', '{"v": 1, "path": "/a", "written": null}'],
)  # fmt: skip
def test_a_record_of_another_kind_counts_as_none(text: str, home_dir: str) -> None:
    """Damaged, foreign or of a version we do not know."""
    record.save(home_dir, record.Record("/a"))
    (file,) = Path(home_dir, "install").iterdir()
    file.write_text(text)

    assert record.load(home_dir, "/a") is None
    assert record.load_all(home_dir) == []
