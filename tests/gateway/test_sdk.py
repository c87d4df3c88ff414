"""The SDK `anthropic` against a gateway: sync, async and streaming, and the library in a loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from tests.client.stub_api import StubApi, text
from tests.compaction.talks import Talk
from tests.gateway.upstream import Gateway

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = "\n".join(f"2026-01-08 12:00:{n % 60:02d} request {n} served" for n in range(400))


@pytest.fixture
def stub() -> Iterator[StubApi]:
    """A service that speaks the whole protocol."""
    found = StubApi()
    found.start()
    found.script(*[text("from the stub")] * 4)
    yield found
    found.stop()


def body() -> dict[str, Any]:
    """A request with bulk in it."""
    talk = Talk()
    talk.step("Bash", {"command": "journalctl -u web"}, LOG)
    found = talk.body(model="claude-opus-5")
    del found["stream"]
    return found


def test_the_sdk_gets_its_answers_through_the_gateway(stub: StubApi) -> None:
    """In every way it has of asking."""

    async def ask(url: str) -> tuple[Any, str]:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="k") as client:
            whole = await client.messages.create(**body())
            async with client.messages.stream(**body()) as stream:
                return whole, "".join([part async for part in stream.text_stream])

    with (
        Gateway(stub.url) as gateway,
        anthropic.Anthropic(base_url=gateway.url, api_key="k") as client,
    ):
        plain = client.messages.create(**body())
        with client.messages.stream(**body()) as stream:
            streamed = "".join(stream.text_stream)
        other, other_streamed = asyncio.run(ask(gateway.url))

    assert plain.content[0].text == other.content[0].text == "from the stub"
    assert streamed == other_streamed == "from the stub"
    shown = [request.blocks("tool_result")[0]["content"] for request in stub.requests()]
    assert len(set(shown)) == 1
    assert shown[0].startswith("[brimline stored ")
