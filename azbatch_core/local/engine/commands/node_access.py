"""The façade's calls on what a node has for people: users, remote login, service logs, extensions."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azbatch_core.local.engine.commands.base import Commands
from azbatch_core.local.engine.commands.nodes import find_node
from azbatch_core.local.engine.node_logs import log_files
from azbatch_core.local.errors import HIDDEN, BatchError, invalid_property
from azbatch_core.local.rules import node_access as rules
from azbatch_core.local.rules.nodes import refuse_unless
from azbatch_core.local.rules.times import moment
from azbatch_core.local.wire.durations import sortable_time

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc, Node

__all__ = ["NodeAccessCommands"]


class NodeAccessCommands(Commands):
    """Users, remote login, logs and extensions of nodes."""

    def create_user(self, pool_id: str, node_id: str, body: Doc) -> None:
        """Add a user to a node. It is written down, without password and key, and not made on this machine.

        Raises:
            BatchError: PoolNotFound, NodeNotFound, InvalidPropertyValue, MissingRequiredProperty,
                NodeUserExists, and one that names the node's state if it is not up.
        """
        node, spec = self._node(pool_id, node_id, "users")
        now = self.account.now()
        rules.check_new_user(spec, body, now)
        name = body["name"]
        accounts = {item["name"] for item in spec.get("userAccounts") or ()}
        if name in accounts or self._has_user(node, name):
            raise BatchError("NodeUserExists")
        node.users[name] = {"isAdmin": bool(body.get("isAdmin")), "expiryTime": rules.expiry_of(body, now)}
        self._keep(node)

    def replace_user(self, pool_id: str, node_id: str, name: str, body: Doc) -> None:
        """Give a user of a node a new expiry time; what the body omits gets its default.

        Raises:
            BatchError: as for `create_user`, and NodeUserNotFound.
        """
        node, spec = self._node(pool_id, node_id, "users")
        now = self.account.now()
        if not self._has_user(node, name):
            raise BatchError("NodeUserNotFound")
        rules.check_secrets(spec, body, now)
        node.users[name] = {**node.users[name], "expiryTime": rules.expiry_of(body, now)}
        self._keep(node)

    def delete_user(self, pool_id: str, node_id: str, name: str) -> None:
        """Take a user off a node.

        Raises:
            BatchError: PoolNotFound, NodeNotFound, NodeUserNotFound, or one that names the node's state.
        """
        node, _ = self._node(pool_id, node_id, "users")
        if not self._has_user(node, name):
            raise BatchError("NodeUserNotFound")
        del node.users[name]
        self._keep(node)

    def remote_login(self, pool_id: str, node_id: str) -> Doc:
        """Where to log in to a node.

        Raises:
            BatchError: PoolNotFound, NodeNotFound, OperationNotValidOnNode.
        """
        node = find_node(self.account, pool_id, node_id)
        return rules.remote_login(node, self.account.pools[node.pool].spec)

    def extensions(self, pool_id: str, node_id: str) -> list[Doc]:
        """The extensions of a node's machine.

        Raises:
            BatchError: PoolNotFound, NodeNotFound.
        """
        node = find_node(self.account, pool_id, node_id)
        return rules.extension_documents(node, self.account.pools[node.pool].spec)

    def extension(self, pool_id: str, node_id: str, name: str) -> Doc:
        """One extension of a node's machine.

        Raises:
            BatchError: PoolNotFound, NodeNotFound, ResourceNotFound.
        """
        for found in self.extensions(pool_id, node_id):
            if found["vmExtension"]["name"].lower() == name.lower():
                return found
        raise BatchError("ResourceNotFound")

    def upload_logs(self, pool_id: str, node_id: str, body: Doc) -> Doc:
        """Begin to upload a node's logs of a span of time, and tell where they will be and how many.

        As on the real service, a container that cannot be written is not told to the caller.

        Raises:
            BatchError: PoolNotFound, NodeNotFound, InvalidPropertyValue, and one that names the node's state.
        """
        node, _ = self._node(pool_id, node_id, "files")
        url, start = body["containerUrl"], body["startTime"]
        end = body.get("endTime") or moment(self.account.now())
        _check_container(url)
        if sortable_time(end) < sortable_time(start) and body.get("endTime"):
            raise invalid_property("endTime", end, "The end time must not be before the start time.")
        folder = f"{node.pool_id}/{node.id}/{uuid.uuid4()}"
        files = {
            f"{folder}/{name}": content for name, content in log_files(self.account, node, start, end).items()
        }
        self.account.runtime.send_files(url, body.get("identityReference"), files)
        return {"virtualDirectoryName": folder, "numberOfFilesUploaded": len(files)}

    def _node(self, pool_id: str, node_id: str, action: Any) -> tuple[Node, Doc]:
        node = find_node(self.account, pool_id, node_id)
        refuse_unless(node, action)
        return node, self.account.pools[node.pool].spec

    def _has_user(self, node: Node, name: str) -> bool:
        """Whether a node has a user whose time is not over."""
        found = node.users.get(name)
        now = sortable_time(moment(self.account.now()))
        return found is not None and sortable_time(found["expiryTime"]) > now

    def _keep(self, node: Node) -> None:
        self.account.touch(node)
        self.done()


def _check_container(url: str) -> None:
    """Refuse what is no URL of a container; its signature is not quoted."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        fine = False
    if not fine:
        raise invalid_property("containerUrl", HIDDEN, "The URL of a blob container is expected.")
