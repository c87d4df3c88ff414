"""The variables by which a client finds its way past a proxy, or to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# What the client goes by, for any service: the first that is set.
PROXIES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
NO_PROXIES = ("no_proxy", "NO_PROXY")


def hosts_listed_in_no_proxy(env: Mapping[str, str]) -> list[str]:
    """The hosts that are reached without a proxy."""
    told = ",".join(env.get(name, "") for name in NO_PROXIES)
    return told.replace(",", " ").split()
