"""azbatch's errors in the words of TorchX's options: its own are those of a job's file. Pure."""

from __future__ import annotations

import re
from typing import Final

_ANOTHER: Final = "leave pool out, and one that fits is made"
_WORDS: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\bask for less per task, or name pool\.vm_size", "ask for less for each role"),
        (r"\b(?:pool\.)?identities\[\d+\]", "identity"),
        (r"\bgang\.nodes\b", "num_replicas"),
        (r"\bpool\.(vm_size|max_nodes|spot)\b", r"\1"),
        (r"\buse a pool with inter_node_communication: true .*", _ANOTHER),
        (r"\bresize it first, or with pool: .*", f"resize it first (azbatch pools resize), or {_ANOTHER}"),
        (r"\bwith pool: \{max_nodes: \d+\} .*", _ANOTHER),
        (r"\bmax_nodes: (\d+) or more", r"max_nodes=\1 or more"),
        (r"\bask for fewer nodes, or leave inter_node_communication out", "a smaller max_nodes"),
        (r"\bgive the job or the task a container, or use another pool", "leave containers=false out"),
        (
            r"\buse a pool with containers: true, or leave the container out",
            "name another pool, or containers=false",
        ),
        (r"\btake fewer slots, or use a pool with more task_slots_per_node", "name another pool"),
        (r"\bthen name it: pool: ITS-ID", "then name it: pool=ITS-ID"),
    )
)


def in_options(text: str) -> str:
    """An error's text, with what a run of TorchX can change by the names that it has there."""
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text
