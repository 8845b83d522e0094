"""The few lines of shell before a gang's command: they tell each node who it is.

Batch gives members no number and no address of their own, and promises no order of its lists ("Task runtime
environment variables"). So each node makes the same order itself: the main node, then the others by address,
and finds itself in it by its own addresses. The local service's nodes share one machine and every address of
it; it gives each its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from azbatch_core.specs.command import Shell

if TYPE_CHECKING:
    from azbatch_core.specs import Command

RANK: Final = "AZBATCH_NODE_RANK"
"""This node's place, from 0 (the main node) on."""
COUNT: Final = "AZBATCH_NODE_COUNT"
LIST: Final = "AZBATCH_NODE_LIST"
"""The addresses of all nodes, by rank, with commas."""
MAIN: Final = "AZBATCH_MAIN_NODE"
"""The address of the node of rank 0, which is Batch's primary."""
ADDRESS: Final = "AZBATCH_NODE_ADDRESS"
"""This node's own address. The local service sets it; elsewhere it is found."""

# POSIX sh, for dash, bash and busybox; needs no program but itself. $@ is the command and is never touched.
# azb_all holds KEY=ADDRESS sorted by KEY: 0 for the main node, a dotted address as a number, any other text
# by its place in the list.
_SOURCE: Final = """
azb_main=${AZ_BATCH_MASTER_NODE%%:*}
azb_hosts=${AZ_BATCH_HOST_LIST:-$AZ_BATCH_NODE_LIST}
azb_own=$AZBATCH_NODE_ADDRESS
azb_n=0
azb_all=
azb_other=
IFS=",;"
for azb_h in ${azb_hosts:-${azb_main:-localhost}}; do
  unset IFS
  azb_n=$((azb_n+1))
  : "${azb_main:=$azb_h}"
  case $azb_h in
    "$azb_main") azb_k=0;;
    *[!0-9.]*) azb_k=$azb_n;;
    *) azb_k=0
       azb_r=$azb_h.
       while [ -n "$azb_r" ]; do azb_k=$((azb_k*256+${azb_r%%.*})); azb_r=${azb_r#*.}; done;;
  esac
  [ "$azb_h" = "$azb_main" ] || azb_other=$azb_h
  azb_new=
  for azb_i in $azb_all; do
    if [ -n "$azb_h" ] && [ "$azb_k" -lt "${azb_i%%=*}" ]; then
      azb_new="$azb_new $azb_k=$azb_h"
      azb_h=
    fi
    azb_new="$azb_new $azb_i"
  done
  azb_all="$azb_new${azb_h:+ $azb_k=$azb_h}"
done
unset IFS
azb_find() {
  for azb_i in $azb_all; do
    [ "${azb_i#*=}" = "$1" ] && azb_own=$1
  done
}
if [ -n "$azb_own" ]; then :
elif [ "$azb_n" -eq 1 ] || [ "$AZ_BATCH_IS_CURRENT_NODE_MASTER" = true ]; then azb_own=$azb_main
elif [ "$azb_n" -eq 2 ]; then azb_own=$azb_other
else
  if [ -r /proc/net/fib_trie ]; then
    while read -r azb_a azb_b azb_c; do
      case $azb_a in
        "|--") azb_h=$azb_b;;
        /32) [ "$azb_b $azb_c" = "host LOCAL" ] && azb_find "$azb_h";;
      esac
    done < /proc/net/fib_trie
  fi
  if [ -z "$azb_own" ]; then
    for azb_h in $(hostname -I 2>/dev/null || hostname -i 2>/dev/null); do azb_find "$azb_h"; done
  fi
fi
AZBATCH_NODE_RANK=
AZBATCH_NODE_LIST=
azb_k=0
for azb_i in $azb_all; do
  azb_h=${azb_i#*=}
  AZBATCH_NODE_LIST="$AZBATCH_NODE_LIST${AZBATCH_NODE_LIST:+,}$azb_h"
  [ "$azb_h" = "$azb_own" ] && AZBATCH_NODE_RANK=$azb_k
  azb_k=$((azb_k+1))
done
if [ -z "$AZBATCH_NODE_RANK" ]; then
  echo "azbatch: no address of this node is among those of the gang: $AZBATCH_NODE_LIST" >&2
  exit 1
fi
AZBATCH_NODE_COUNT=$azb_n
AZBATCH_NODE_ADDRESS=$azb_own
AZBATCH_MAIN_NODE=$azb_main
export AZBATCH_NODE_RANK AZBATCH_NODE_COUNT AZBATCH_NODE_LIST AZBATCH_NODE_ADDRESS AZBATCH_MAIN_NODE
"""


def with_prelude(command: Command, mark: str = "") -> tuple[str, ...]:
    """The command, told its place first, as arguments; what the command is given stays exactly as it is.

    Args:
        command: What every node runs.
        mark: A line of shell that runs before it (`member_logs.marked`).
    """
    words = ("/bin/bash", "-c", command.script) if isinstance(command, Shell) else command
    lines = [line.strip() for line in _SOURCE.strip().splitlines()]
    lines += [mark] if mark else []
    return ("/bin/sh", "-c", "\n".join([*lines, 'exec "$@"']), "azbatch", *words)
