"""Stands for the SDK tests' module of the same name: a client of the local account, signed by its key."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def recorded_by_proxy_async(test: Callable[..., Any]) -> Callable[..., Any]:
    """The test as it is."""
    return test


def client_setup(test: Callable[..., Any]) -> Callable[..., Any]:
    """Give the test a client of the class that pytest chose."""

    async def wrapper(self: Any, BatchClient: Any, **kwargs: Any) -> None:  # noqa: N803 - the tests' own name
        client = BatchClient(
            credential=kwargs["credential"], endpoint=kwargs["batch_account"].account_endpoint
        )
        try:
            await test(self, client, **kwargs)
        finally:
            closing = client.close()
            if inspect.iscoroutine(closing):
                await closing

    return wrapper
