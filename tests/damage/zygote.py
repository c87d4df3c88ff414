"""Runs commands in a damaged world, each in a fork of a process that has everything loaded.

`python zygote.py PRISTINE PLACE` reads jobs from standard input, a JSON object on each line, and
answers each with another: the world is put back as it was, the file damaged, the command run.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import json
import os
import pkgutil
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import brimline
from brimline.cli import surface
from brimline.dashboard import web
from brimline.errors import BrimlineError
from brimline.fast import paths

_PATIENCE_S = 30
_GARBAGE = bytes(range(255, 0, -1)) * 3 + b'\n{"v":1,"session":[]}\n[[[\n\x00'


def main(pristine: str, place: str) -> None:
    """Answer jobs until there are none."""
    _load_everything()
    for line in sys.stdin:
        job = json.loads(line)
        put_back(pristine, place)
        for file in job["files"]:
            damage(Path(place, file), job["damage"], job["at"])
        print(json.dumps(run(job)), flush=True)


def _load_everything() -> None:
    """What commands import late, so that a fork need not."""
    for module in pkgutil.walk_packages(brimline.__path__, "brimline."):
        if not module.name.endswith(("__main__", "testing")):
            importlib.import_module(module.name)


def put_back(pristine: str, place: str) -> None:
    """Make a folder what another is; what has not changed is left alone."""
    there = {entry.name: entry for entry in os.scandir(pristine)}
    for entry in os.scandir(place):
        kept = there.get(entry.name)
        if kept is None or _kind(kept) != _kind(entry):
            _remove(entry)
        elif kept.is_dir(follow_symlinks=False):
            put_back(kept.path, entry.path)
        elif _stamp(kept) != _stamp(entry):
            _remove(entry)
    for name, kept in there.items():
        target = f"{place}/{name}"
        if not os.path.lexists(target):
            if kept.is_dir(follow_symlinks=False):
                shutil.copytree(kept.path, target, symlinks=True)
            else:
                shutil.copy2(kept.path, target, follow_symlinks=False)
    shutil.copystat(pristine, place)


def _kind(entry: os.DirEntry[str]) -> int:
    return entry.stat(follow_symlinks=False).st_mode


def _stamp(entry: os.DirEntry[str]) -> tuple[int, int]:
    found = entry.stat(follow_symlinks=False)
    return found.st_size, found.st_mtime_ns


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path)
    else:
        os.unlink(entry.path)


def damage(path: Path, how: str, place: float) -> None:
    """Do to a file what is asked for."""
    data = path.read_bytes()
    if how in ("flip", "high"):
        # A share of the whole, or a place from the beginning on, where the names are.
        at = int(place * (len(data) - 1) if place < 1 else min(place, len(data) - 1))
        bit = 0x80 if how == "high" else 1 << (at % 7)
        path.write_bytes(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :] if data else b"")
    elif how in ("cut", "empty"):
        # Not where a line ends, or in a blank one.
        path.write_bytes(data[: len(data) // 2].rstrip(b"} \n") if how == "cut" else b"")
    elif how == "garbage":
        path.write_bytes(_GARBAGE)
    elif how == "closed":
        path.chmod(0)
    else:
        path.unlink()
        _put_in_its_place(path, how, data)


def _put_in_its_place(path: Path, how: str, data: bytes) -> None:
    elsewhere = Path("/".join(path.parts[:4]), "elsewhere")
    if how in ("link", "dangling"):
        if how == "link":
            elsewhere.write_bytes(data)
        path.symlink_to(elsewhere)
    elif how == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
        (path / "file").write_bytes(data)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a command in a fork; what it printed, how it ended, and what escaped it."""
    out, err, told = (os.pipe() for _ in range(3))
    with tempfile.TemporaryFile() as given:
        given.write(job["stdin"].encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            for number, descriptor in enumerate((given.fileno(), out[1], err[1])):
                os.dup2(descriptor, number)
            for reader, writer in (out, err):
                os.close(reader)
                os.close(writer)
            os.setpgid(0, 0)
            _command(job, told[1])
    for _, writer in (out, err, told):
        os.close(writer)
    return job | _watch(child, job, {"out": out[0], "err": err[0], "escaped": told[0]})


def _command(job: dict[str, Any], told: int) -> None:
    """In the fork: the command as the shell would start it."""
    sys.stdin = io.TextIOWrapper(io.FileIO(0), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w"), encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w"), encoding="utf-8", write_through=True)
    sys.argv = ["brimline", *job["words"]]
    code = 0
    try:
        code = _pages(job["words"][1:]) if job["words"][0] == "pages" else surface.run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt:  # as `cli.main` ends
        code = 130
    except BaseException:  # noqa: BLE001 - this is what is looked for
        os.write(told, traceback.format_exc().encode("utf-8", "replace")[-3_000:])
        code = 99
    os._exit(code)


def _watch(child: int, job: dict[str, Any], pipes: dict[str, int]) -> dict[str, Any]:
    """What the child prints; one that serves is interrupted, one that hangs is killed."""
    begun = time.monotonic()
    texts, waiting = dict.fromkeys(pipes, b""), {pipe: name for name, pipe in pipes.items()}
    while waiting and time.monotonic() - begun < _PATIENCE_S:
        readable = select.select(list(waiting), [], [], 0.5)[0]
        for pipe in readable:
            block = os.read(pipe, 1 << 16)
            texts[waiting[pipe]] += block
            if not block:
                del waiting[pipe]
        if job["until"] and job["until"].encode() in texts["out"] and not readable:
            os.kill(child, signal.SIGINT)  # again where it came too early to be heard
    if waiting:
        os.killpg(child, signal.SIGKILL)
        texts["escaped"] += b"it did not end"
    for pipe in pipes.values():
        os.close(pipe)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    shown = {name: text.decode("utf-8", "replace")[-20_000:] for name, text in texts.items()}
    return shown | {"code": code, "seconds": round(time.monotonic() - begun, 2)}


def _pages(addresses: list[str]) -> int:
    """What the dashboard answers at some addresses; 0 unless one of its pages failed."""
    shown = web.Dashboard(paths.data_dir())
    app = shown.make_asgi_app(80, ["key"])
    with contextlib.suppress(BrimlineError, OSError, sqlite3.Error):
        shown.refresh()
    cookie = ""
    for address in ["/enter?key=key", *addresses]:
        status, headers, body = asyncio.run(_ask(app, address, cookie))
        cookie = cookie or headers.get(b"set-cookie", b"").decode().partition(";")[0]
        print(address, status, len(body), body[-300:] if status != 200 else "")
    return 0


async def _ask(app: Any, address: str, cookie: str) -> tuple[int, dict[bytes, bytes], bytes]:
    path, _, query = address.partition("?")
    headers = [(b"host", b"127.0.0.1:80"), (b"cookie", cookie.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode()}
    scope |= {"query_string": query.encode(), "headers": headers, "http_version": "1.1"}
    scope |= {"scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1)}
    told: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    await app(scope | {"root_path": "", "state": {}, "extensions": {}}, receive, send)
    body = b"".join(message.get("body", b"") for message in told[1:])
    return told[0]["status"], dict(told[0]["headers"]), body


if __name__ == "__main__":
    main(*sys.argv[1:])
