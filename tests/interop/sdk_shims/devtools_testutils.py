"""Stands for the package of the same name that the SDK's own tests import: all is live, and here."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Test = Callable[..., Any]


class AzureRecordedTestCase:
    """A live test."""

    is_live = True

    def fail(self, message: str) -> None:
        """Let the test fail."""
        raise AssertionError(message)


AzureMgmtRecordedTestCase = AzureRecordedTestCase


class CachedResourceGroupPreparer:
    """Nothing to prepare: an account of the local service is in no resource group."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, test: Test) -> Test:
        """The test as it is."""
        return test


StorageAccountPreparer = CachedResourceGroupPreparer


class EnvironmentVariableLoader:
    """Hands a test the values that it would find in the environment."""

    def __init__(self, _: str, **values: str) -> None:
        self._values = values

    def __call__(self, test: Test) -> Test:
        """The test with the values among its arguments."""

        @wraps(test)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await test(*args, **self._values, **kwargs)

        return wrapper


def recorded_by_proxy(test: Test) -> Test:
    """The test as it is."""
    return test


def set_custom_default_matcher(**_: Any) -> None:
    """Nothing is recorded, so nothing is matched."""
