"""Puts the real client in a test's hands; without one the suite skips, or fails where told to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .brimline_home import Installed
from .by_plugin import Plugin
from .fetch import VERSION, Fetched, cache_dir, fetch
from .harness import Client
from .stub_api import StubApi

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Read at import: inside a test HOME is a temporary folder.
_ENVIRON = dict(os.environ)
_HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder, before `-m` selects."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.client)


def require(fetched: Fetched, environ: Mapping[str, str]) -> Path:
    """Return the binary, or skip the test; where the client must be there, that is a failure."""
    if fetched.binary is not None:
        return fetched.binary
    reason = f"client suite not run: {fetched.reason}"
    if environ.get("CLIENT_REQUIRED"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def client_binary() -> Path:
    """The pinned client, fetched once per machine."""
    return require(fetch(cache_dir(_ENVIRON)), _ENVIRON)


@pytest.fixture
def stub() -> Iterator[StubApi]:
    """A stub API that is listening."""
    api = StubApi()
    api.start()
    yield api
    api.stop()


@pytest.fixture
def client(client_binary: Path, stub: StubApi, tmp_path: Path) -> Client:
    """A client with a fresh home that talks to `stub` only."""
    return Client(client_binary, stub, tmp_path / "client")


@pytest.fixture
def installed(client: Client) -> Installed:
    """The client with brimline installed in its user settings."""
    here = Installed(client)
    here.install()
    return here


@pytest.fixture(params=[VERSION, pytest.param("2.1.287", marks=pytest.mark.long)])
def plugin(request: pytest.FixtureRequest, stub: StubApi, tmp_path: Path) -> Plugin:
    """The plugin, for the pinned client and for the first one that loads mods."""
    binary = require(fetch(cache_dir(_ENVIRON), request.param), _ENVIRON)
    return Plugin(Client(binary, stub, tmp_path / "client"), tmp_path / "plugin")
