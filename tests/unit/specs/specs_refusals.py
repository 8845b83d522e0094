"""What every refusal of a spec must be like, whatever the mistake."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from azbatch_core.errors import SpecError

SECRET = "HUSHHUSHHUSH"
"""Put where a secret would be; must never come out again."""


def refusal(make: Any, /, *args: Any, **kwargs: Any) -> SpecError:
    """The error that the call raises: one line, nothing chained to it, no secret in it."""
    with pytest.raises(SpecError) as info:
        make(*args, **kwargs)
    error = info.value
    assert "\n" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(error))
    assert f"{error.field or ''}: " in error.message or error.field is None
    return error
