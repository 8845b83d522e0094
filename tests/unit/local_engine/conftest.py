from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio
from engine_fakes import Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """A started service that boots nodes at once."""
    made = await Service(tmp_path).start()
    yield made
    await made.stop()
