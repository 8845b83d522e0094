"""Roles of several replicas: one command, the same on every node of a gang. Pure.

The nodes are told apart by a few lines of POSIX shell between those of `azbatch_core.plan.gang_prelude`
and the role's command. What torchrun needs to know of its node is TorchX's and PyTorch's, so it is here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from azbatch_core import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RANK0_ENV: Final = "TORCHX_RANK0_HOST"
"""The variable that holds the address of replica 0."""
REPLICA_ENV: Final = "TORCHX_REPLICA_ID"
REPLICA_ID: Final = "\x01replica\x01"
"""Stands for ``${replica_id}`` until a node knows its own; no text of a person holds it."""
_PORT: Final = "\x01port\x01"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ENDPOINT: Final = re.compile(rf"(\$\{{{RANK0_ENV}(?::?[=-]\w*)?\}}|\${RANK0_ENV}):(\d{{2,5}})(?!\d)")

# Every node of the local service has this machine's ports, and torchrun's store listens on all addresses
# (torch 2.13): so a port of replica 0 becomes one that no other gang of the machine has, made from what all
# members know.
_PORTS: Final = """
azb_port() {
  azb_p=$1
  case $AZBATCH_MAIN_NODE in 127.*)
    azb_r=${AZBATCH_MAIN_NODE#*.*.}
    azb_s=${AZ_BATCH_ACCOUNT_URL##*:}
    azb_s=${azb_s%%/*}
    case $azb_s in *[!0-9]*) azb_s=0;; esac
    azb_p=$(((${azb_s:-0}*31+${azb_r%.*}*9398+${azb_r#*.}*37+$1)%10000+20000));;
  esac
}
"""

# torchrun's options by their variables: whoever set one, or wrote the option, is obeyed. Without them a host
# name that resolves to loopback, or not at all, keeps the nodes from finding each other (torch 2.13:
# c10d_rendezvous_backend, and gloo's choice of an interface).
_TORCHRUN: Final = """
azb_host=false
[ "$AZBATCH_NODE_RANK" = 0 ] && azb_host=true
export PET_LOCAL_ADDR="${PET_LOCAL_ADDR-$AZBATCH_NODE_ADDRESS}"
export PET_RDZV_CONF="${PET_RDZV_CONF-is_host=$azb_host,read_timeout=300}"
azb_nic() {
  azb_r=$1
  azb_n=0
  azb_f=1
  while [ -n "$azb_r" ]; do
    azb_n=$((azb_n+${azb_r%%.*}*azb_f))
    azb_f=$((azb_f*256))
    azb_o=$azb_r
    azb_r=${azb_r#*.}
    [ "$azb_r" = "$azb_o" ] && azb_r=
  done
  while read -r azb_i azb_d azb_x azb_x azb_x azb_x azb_x azb_m azb_x; do
    case $azb_m in
      *[!0-9A-Fa-f]*|"") ;;
      00000000) [ -n "$GLOO_SOCKET_IFNAME" ] || GLOO_SOCKET_IFNAME=$azb_i;;
      *) if [ $((azb_n & 0x$azb_m)) -eq $((0x$azb_d)) ]; then GLOO_SOCKET_IFNAME=$azb_i; return; fi;;
    esac
  done < /proc/net/route
}
if [ -z "${GLOO_SOCKET_IFNAME-}" ] && [ -r /proc/net/route ]; then
  read -r azb_h < /proc/sys/kernel/hostname
  azb_h=$(getent hosts "$azb_h" 2>/dev/null)
  case ${azb_h:-127.} in 127.*|::1*)
    case $AZBATCH_NODE_ADDRESS in
      127.*) GLOO_SOCKET_IFNAME=lo;;
      *[!0-9.]*) ;;
      *) azb_nic "$AZBATCH_NODE_ADDRESS";;
    esac
    [ -n "${GLOO_SOCKET_IFNAME-}" ] && export GLOO_SOCKET_IFNAME;;
  esac
fi
"""


def command(entrypoint: str, args: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """What every node of a gang runs: the role's command, told which replica it is.

    Args:
        entrypoint: The role's.
        args: The role's, macros replaced, with `REPLICA_ID` for that of the replica; quotes around it, of a
            shell that runs later, stay as they are.
        env: The role's variables, the same way. Those that the node must fill in are set by the command; the
            others are the task's.

    Raises:
        SpecError: A variable holds the replica's number and has a name that no shell can set.
    """
    words = [entrypoint, *args]
    ports = sorted({found.group(2) for word in words for found in _ENDPOINT.finditer(word)})
    lines = [
        *(["" if name in env else f'export {name}="${value}"' for name, value in _OWN.items()]),
        *_TORCHRUN.strip().splitlines(),
        *(_PORTS.strip().splitlines() if ports else ()),
        *(f"azb_port {port}; azb_port_{port}=$azb_p" for port in ports),
        *(f"export {_checked(name)}={_quoted(value)}" for name, value in env.items() if REPLICA_ID in value),
        "exec " + " ".join(_quoted(_ENDPOINT.sub(rf"\1:{_PORT}\2{_PORT}", word)) for word in words),
    ]
    return ("/bin/sh", "-c", "\n".join(line.strip() for line in lines if line), "torchx")


_OWN: Final = {REPLICA_ENV: "AZBATCH_NODE_RANK", RANK0_ENV: "AZBATCH_MAIN_NODE"}


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of a gang that are the same on every node."""
    return {name: value for name, value in env.items() if REPLICA_ID not in value}


def _checked(name: str) -> str:
    if not _NAME.match(name):
        raise SpecError(
            f"the variable {name!r} holds the number of the replica, and no shell can set one of that name",
            field="env",
        )
    return name


def _quoted(text: str) -> str:
    """One argument for the shell, in which only what we spliced in is ever expanded."""
    quoted = "'" + text.replace("'", "'\"'\"'") + "'"
    spliced = quoted.replace(REPLICA_ID, f"'\"${{{REPLICA_ENV}}}\"'")
    return re.sub(rf"{_PORT}(\d+){_PORT}", r"""'"${azb_port_\1}"'""", spliced)
