"""Obtains the pinned Claude Code client once and keeps it in a cache outside the clone."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VERSION = "2.1.328"
_DOWNLOAD_TIMEOUT_S = 600
_VERSION_TIMEOUT_S = 60
# Without a network npm would try for two minutes; one more try is enough for a network with one.
_IMPATIENT = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000")
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class Fetched(NamedTuple):
    """The client's binary, or the one sentence that says why there is none."""

    binary: Path | None
    reason: str = ""


def fetch(cache: Path, version: str = VERSION) -> Fetched:
    """Return a client from `cache`, the pinned one unless told otherwise, fetched with npm."""
    package = package_name()
    if package is None:
        return Fetched(None, f"no client package for {sys.platform} {platform.machine()}")
    folder = cache / version / package.rpartition("/")[2]
    binary = folder / "claude"
    try:
        with locked(cache / f"{version}.lock"):
            if not binary.is_file():
                download(f"{package}@{version}", folder)
        found = _version_of(binary)
    except (OSError, subprocess.SubprocessError, tarfile.TarError) as exc:
        return Fetched(None, f"client {version} not available: {told(exc)}")
    if found != version:
        return Fetched(None, f"{binary} says version {found!r}, not {version}: remove {folder}")
    return Fetched(binary)


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Where clients are kept: our own variable, else the user's cache folder."""
    if own := environ.get("TEST_CLIENT_CACHE"):
        return Path(own)
    base = environ.get("XDG_CACHE_HOME") or str(
        Path(environ.get("HOME", "~")).expanduser() / ".cache"
    )
    return Path(base) / "brimline-client"


def package_name() -> str | None:
    """Name the npm package that holds this platform's native binary."""
    machine = _MACHINES.get(platform.machine().lower())
    if machine is None or sys.platform not in ("linux", "darwin"):
        return None
    musl = "-musl" if sys.platform == "linux" and not platform.libc_ver()[0] else ""
    return f"@anthropic-ai/claude-code-{sys.platform}-{machine}{musl}"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time download; the others then find the finished folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def download(package: str, folder: Path, digest: str = "") -> None:
    """Fetch and unpack beside `folder`, then move into place in one step.

    Args:
        package: name and version, as npm takes them.
        folder: where it goes.
        digest: the SHA-512 that it must have, in base64; any where there is none.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not on PATH and the package is not cached")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as scratch:
        done = subprocess.run(
            [npm, "pack", "--silent", *_IMPATIENT, package, "--pack-destination", scratch],
            check=False,
            capture_output=True,
            text=True,
            cwd=scratch,
            timeout=_DOWNLOAD_TIMEOUT_S,
        )
        if done.returncode:
            raise OSError(f"npm could not fetch {package}; it needs a network once")
        (tarball,) = Path(scratch).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
        if digest and found != digest:
            raise OSError(f"{package} has another hash than the one that is expected: {found}")
        with tarfile.open(tarball) as archive:
            archive.extractall(scratch, filter="data")
        os.replace(Path(scratch) / "package", folder)


def _version_of(binary: Path) -> str:
    """Ask the binary itself, away from any home of its own."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [binary, "--version"],
            check=True,
            capture_output=True,
            text=True,
            env={"HOME": home, "CLAUDE_CONFIG_DIR": home, "PATH": "/usr/bin:/bin"},
            cwd=home,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_TIMEOUT_S,
        )
    return done.stdout.partition(" ")[0].strip()


def told(exc: Exception) -> str:
    stderr = getattr(exc, "stderr", None)
    lines = (stderr or str(exc)).strip().splitlines()
    return lines[-1] if lines else type(exc).__name__
