"""`brimline gateway` and `brimline run`: the layers between a client and its service."""

from __future__ import annotations

import os
from functools import partial

import click

from brimline import output
from brimline.errors import BrimlineError
from brimline.gateway import serving

_HOW_TO_USE = (
    "A gateway to the service, for `ANTHROPIC_BASE_URL=<this address> claude` in another terminal "
    "(`brimline run` does both). Ctrl-C stops it."
)


@output.command("gateway")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="N",
    help="Port on loopback (default: any free one).",
)
@click.option(
    "--upstream",
    metavar="URL",
    help="The service behind it (default: ANTHROPIC_BASE_URL, else Anthropic's).",
)
@click.option("--path", "secret", metavar="SECRET", help="First part of its path (default: new).")
# Harnesses that replay sessions give it; no layer asks for the time.
@click.option("--test-clock", is_flag=True, hidden=True, expose_value=False)
def gateway(port: int, upstream: str | None, secret: str | None, as_json: bool) -> None:
    """Pass a client's requests on to its service, shortened by the compaction layers.

    The first line it prints is the base URL for the client: whoever knows it can use the gateway.
    It runs until it is interrupted. `brimline run` starts one by itself.

    \b
    Example:
      brimline gateway --port 9100
      ANTHROPIC_BASE_URL=<that line> claude
    """
    source = "--upstream" if upstream else serving.BASE_URL
    service = serving.checked_url(upstream or os.environ.get(source) or serving.SERVICE, source)
    plan = serving.Plan(service, _checked_or_fresh_secret(secret))
    with serving.listen(port) as listening:
        url = serving.base_url(listening, plan.secret)
        answer = partial(output.answer, {"base_url": url}, f"{url}\n{_HOW_TO_USE}", as_json=as_json)
        serving.serve(plan, listening, answer)


def _checked_or_fresh_secret(secret: str | None) -> str:
    if secret and not all(c.isascii() and (c.isalnum() or c in "-_.~") for c in secret):
        raise BrimlineError("--path takes letters, digits and - _ . ~ only")
    return secret or serving.fresh_secret()


@click.command("run", context_settings=output.HELP | {"ignore_unknown_options": True})
@click.option(
    "--compact-pct",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Let the client compact at N % of its window.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- CLIENT ARGUMENTS]")
def run(compact_pct: int | None, arguments: tuple[str, ...]) -> None:
    """Run Claude Code behind a gateway of its own, which ends with it.

    The client gets the gateway's address by --settings; the service behind it is the one that the
    client would have used. No permission flag is added.

    \b
    Example:
      brimline run
      brimline run --compact-pct 70 -- --continue
    """
    from brimline.gateway import launching

    raise SystemExit(launching.run_client_behind_gateway(list(arguments), compact_pct))
