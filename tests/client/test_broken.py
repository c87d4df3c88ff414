"""A broken brimline leaves tools, prompts and compactions unharmed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from .stub_api import bash, filled, text, too_long

if TYPE_CHECKING:
    from collections.abc import Callable

    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi


def remove_package(installed: Installed) -> None:
    """The package is gone; the settings still name it."""
    shutil.rmtree(installed.root)


def remove_interpreter(installed: Installed) -> None:
    """The interpreter that the launcher names is gone."""
    launcher = installed.data / "bin" / "hook"
    _, _, code = launcher.read_text(encoding="utf-8").partition("\n")
    launcher.write_text(f"#!{installed.client.home}/gone/python3 -IS\n{code}", encoding="utf-8")


def cut_launcher(installed: Installed) -> None:
    """Half of the launcher is there."""
    launcher = installed.data / "bin" / "hook"
    launcher.write_bytes(launcher.read_bytes()[:-20])


def make_data_unwritable(installed: Installed) -> None:
    """Plain files stand where its folders should be (root ignores permission bits)."""
    for name in ("sessions", "carry", "store", "policy", "search"):
        shutil.rmtree(installed.data / name, ignore_errors=True)
        (installed.data / name).write_text("not a folder", encoding="utf-8")
    (installed.data / "errors.jsonl").mkdir()


# What the client meets: silence, a program that cannot start, that fails, that cannot write.
FAULTS = [remove_package, remove_interpreter, cut_launcher, make_data_unwritable]


@pytest.mark.row("S0-25")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_session_with_tools_and_compactions_goes_on(
    client: Client, stub: StubApi, installed: Installed, fault: Callable[[Installed], None]
) -> None:
    """Prompt, tools, a compaction after an API error, and one that the client starts by itself."""
    fault(installed)
    stub.script(
        bash("echo one-1", filled(120_000)),
        bash("echo two-2", filled(160_000)),
        too_long(210_000, 200_000),
        bash("echo three-3", filled(40_000)),
        bash("echo four-4", filled(60_000)),
        bash("echo five-5", filled(190_000)),
        text("ALL-DONE", filled(41_000)),
    )

    run = client.run_print("go", env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"})

    assert run.rc == 0, run.stderr
    assert run.result is not None
    assert run.result["result"] == "ALL-DONE"
    assert run.kinds.count("compaction") == 2
    results = "".join(text for request in run.requests for text in request.results())
    assert [word in results for word in ("two-2", "three-3", "five-5")] == [True] * 3
    assert not any(request.errors() for request in run.requests)
    seen = "".join(request.seen_text() for request in run.requests)
    if fault is make_data_unwritable:
        # What needs no file is given all the same: the user's words after the compaction.
        seen = seen.replace("[brimline card]", "").replace("brimline carry", "")
        assert "The checkpoint could not be saved" in seen
        assert "[brimline" not in seen
    else:
        assert "brimline" not in seen
