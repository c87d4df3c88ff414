"""Builds the bundle of fast-path modules that `launch` loads, for the interpreter it runs on."""

from __future__ import annotations

import os
import sys
from marshal import dumps

from brimline.launch import FORMAT, PACKAGE_DIR, bundle_path

# What quiet hooks and the status line load; `tests/hooks/test_imports.py` compares it with reality.
FAST_MODULES = (
    "brimline.hooks",
    "brimline.hooks.entry",
    "brimline.hooks.run",
    "brimline.hooks.wire",
    "brimline.hooks.statusline",
    "brimline.fastio",
    "brimline.fastjson",
    "brimline.paths",
    "brimline.policy",
    "brimline.presets",
    "brimline.clock",
    "brimline.gauge",
    "brimline.gauge.reading",
    "brimline.gauge.window",
    "brimline.gauge.tiers",
    "brimline.gauge.telemetry",
    "brimline.gauge.forecast",
    "brimline.guard",
    "brimline.guard.monitor",
    "brimline.guard.prompt",
    "brimline.state",
    "brimline.state.session",
    "brimline.state.failures",
    "brimline.transcript",
    "brimline.transcript.rows",
    "brimline.transcript.tail",
)


def build() -> str:
    """Compile the fast path for the running interpreter and write the bundle; returns its path.

    Raises:
        OSError: a source cannot be read or the package folder cannot be written.
    """
    entries = {}
    for name in FAST_MODULES:
        file = _source_of(name)
        found = os.stat(PACKAGE_DIR + file)
        with open(PACKAGE_DIR + file, "rb") as source:
            code = compile(source.read(), PACKAGE_DIR + file, "exec", dont_inherit=True)
        entries[name] = (file, found.st_mtime_ns, found.st_size, dumps(code))
    target = bundle_path()
    os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = f"{target}.{os.getpid()}.tmp"
    with open(temporary, "wb") as out:
        out.write(dumps(((FORMAT, sys.hexversion), entries)))
    os.replace(temporary, target)
    return target


def _source_of(name: str) -> str:
    relative = "/" + "/".join(name.split(".")[1:])
    package = os.path.isdir(PACKAGE_DIR + relative)
    return relative + ("/__init__.py" if package else ".py")


if __name__ == "__main__":
    sys.stdout.write(build() + "\n")
