"""The names of the metadata that azbatch writes to jobs and pools, and finds them again by."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "azbatch:"
"""No name of a user's own begins like this."""

STAMP: Final = f"{PREFIX}stamp"
"""Of a job: tells the submission that made it from every other."""

USER: Final = f"{PREFIX}user"
"""Of a job or pool: the login name of who made it."""

VERSION: Final = f"{PREFIX}version"
"""Of a job: the version of azbatch that made it."""

NAME: Final = f"{PREFIX}name"
"""Of a job: the name in its spec."""

FINGERPRINT: Final = f"{PREFIX}fingerprint"
"""Of a managed pool: the digest of everything that is fixed at its creation."""
