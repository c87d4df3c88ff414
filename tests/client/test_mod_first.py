"""brimline's mod in the real client."""
from __future__ import annotations

from typing import TYPE_CHECKING
from .stub_api import bash, filled, text
if TYPE_CHECKING:
    from .brimline_home import Installed
    from .stub_api import StubApi

WINDOW = {"autoCompactWindow": 100_000}

def big(letter: str, used: int):
    return bash(f"for i in $(seq 1 300); do echo line-$i-{letter}-abcdefghijklmnopqrstuvwxyz; done", filled(used))

def test_x(installed: Installed, stub: StubApi) -> None:
    installed.client.write_settings(WINDOW)
    stub.script(*[big(c, 20_000+i) for i,c in enumerate("ABCDEFGHIJKLMNOPQRSTUVW")], bash("echo late", filled(72_000)), text("end"))
    done = installed.client.run_print("go", args=["--debug-file", "/tmp/team/modjs/dbg.log"])
    print(done.kinds, [len(str(r.messages)) for r in done.main])
    print(done.main[-1].results()[:3])
    print(installed.errors())
    import os
    print(os.listdir(installed.data/"sessions"/done.session_id))
    assert 0
