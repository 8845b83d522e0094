"""The scheduler `azure_batch`: one class for both lines of TorchX.

Its constructor and `run_opts` are called by commands that only list options, so nothing that takes long is
imported before an app is planned or looked at.
"""

from __future__ import annotations

import json
import secrets
import threading
from contextlib import contextmanager
from datetime import timezone
from typing import TYPE_CHECKING, Any, Dict, Final  # the config type, which TorchX looks at

from torchx import specs
from torchx.schedulers.api import DescribeAppResponse, ListAppResponse, Scheduler
from torchx.specs import AppDryRunInfo, AppState
from torchx.workspace.api import WorkspaceMixin

from azbatch_torchx import app_ids, command_line, compat, options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from azbatch_core import AzBatchError, AzureBatch, JobHandle, JobStatus, TaskStatus
    from azbatch_torchx.building import Images, Workspaces
    from azbatch_torchx.request import Request
    from azbatch_torchx.stamp import AppStamp
    from azbatch_torchx.waiting import Waits
    from azbatch_torchx.workspace import Archive

_HANDLES: Final = 32


class AzureBatchScheduler(WorkspaceMixin[Any], Scheduler[Dict[str, Any]]):
    """Runs TorchX apps on Azure Batch, or on azbatch's local service.

    An app is a job, and its id is ``<account>:<job id>``. Which account that is and how to log in there comes
    from azbatch's own configuration (profiles, environment, azure-identity), never from arguments.
    """

    def __init__(self, session_name: str) -> None:
        super().__init__(compat.BACKEND, session_name)
        self._clients: dict[str | None, AzureBatch] = {}
        self._jobs: dict[str, JobHandle] = {}
        self._opening = threading.Lock()
        self._missing: set[str] = set()
        self._workspaces: Workspaces | None = None
        self._waits: Waits | None = None

    def _run_opts(self) -> specs.runopts:
        return options.add_to(compat.RunOpts())

    def _submit_dryrun(self, app: specs.AppDef, cfg: Mapping[str, Any]) -> AppDryRunInfo:
        from azbatch_torchx import links, mapping
        from azbatch_torchx.request import Request

        with _refusing():
            options.refuse_unknown(cfg, [name for name, _ in self.run_opts()])
            chosen = options.read(cfg)
            client = self._client(options.account_of(cfg))
            job_id = mapping.job_id_of(app.name, secrets.token_hex(4))
            app_id = app_ids.join(client.account.name, job_id)
            archives, images = self._built(app, cfg)
            roles = [_replaced(role, app_id) for role in app.roles]
            mapped = mapping.to_job(
                app,
                roles,
                job_id,
                chosen,
                compat.version(),
                storage=client.account.storage is not None,
                local=client.account.name == links.LOCAL,
            )
            plan = client.plan(mapped.job)
            return AppDryRunInfo(Request(plan, mapped.notes, archives=archives, images=images), str)

    def schedule(self, dryrun_info: AppDryRunInfo) -> str:
        """Submit what was planned. On return the app can be described from anywhere.

        Raises:
            InvalidRunConfigException: It could not be submitted; one line says why. No job is left.
            AzBatchError: The account cannot be asked.
        """
        request: Request = dryrun_info.request
        for note in (*request.plan.warnings, *request.notes):
            compat.LOG.info("%s", note)
        with _refusing():
            client = self._client(request.plan.account)
            _submit(client, _delivered(client, request))
        return request.app_id

    def build_workspace_and_update_role(
        self, role: specs.Role, workspace: Any, cfg: Mapping[str, Any]
    ) -> None:
        """Pack the workspace, or build an image with it; `schedule` sends it. Called before a dry run.

        Raises:
            InvalidRunConfigException: What the options ask for cannot be done.
        """
        from azbatch_torchx.building import Workspaces

        with _refusing():
            options.refuse_unknown(cfg, [name for name, _ in self.run_opts()])
            storage = self._client(options.account_of(cfg)).account.storage
            self._workspaces = self._workspaces or Workspaces()
            self._workspaces.build(role, workspace, cfg, has_storage=storage is not None)

    def _built(self, app: specs.AppDef, cfg: Mapping[str, Any]) -> tuple[tuple[Archive, ...], Images]:
        if self._workspaces is None:
            return (), {}
        return self._workspaces.archives(app), self._workspaces.to_push(app, cfg)

    def describe(self, app_id: str) -> DescribeAppResponse | None:
        """The app as it stands; None where there is no such app (any more).

        None, too, for an id that is none of this scheduler or names no account of this machine, with a logged
        line; in the command `torchx` that is an error. `torchx log` of TorchX 0.7 asks until there is an app:
        in the command the second time is an error as well.

        Raises:
            AzBatchError: The account cannot be asked.
        """
        from azbatch_torchx import described, links, stamp, states

        found = self._look(app_id)
        if found is None:
            self._not_for_ever(app_id)
            return None
        client, app, status, tasks = found
        job = self._job(app_id)
        state = states.app_state(status, tasks)
        by_id = {task.id.lower(): task for task in tasks}
        return compat.make(
            DescribeAppResponse,
            app_id=app_id,
            state=AppState[state],
            num_restarts=states.restarts(tasks),
            msg=self._why_pending(job) if state == "PENDING" else states.message(status),
            structured_error_msg=states.first_error_file(status) or specs.NONE,
            ui_url=links.of_job(client.account, status.id),
            metadata=stamp.own_metadata(status.metadata),
            roles=[described.role(role) for role in app.roles],
            roles_statuses=[
                described.role_status(role, by_id.get(role.task.lower()), job) for role in app.roles
            ],
        )

    def describe_native(self, app_id: str) -> AppDryRunInfo | None:
        """The job and its tasks as the service tells them, in JSON, signatures and keys in URLs masked.

        None where there is no such app, as `describe` has it.
        """
        from azbatch_core import NotFound
        from azbatch_core.specs.problems import mask_text

        found = self._find(app_id)
        try:
            documents = found[1].documents() if found else None
        except NotFound:
            return None
        if documents is None:
            return None
        return AppDryRunInfo(documents, lambda request: mask_text(json.dumps(request, indent=2)))

    def list(self, cfg: Mapping[str, Any] | None = None) -> list[ListAppResponse]:
        """The apps that this user submitted to an account, the newest first.

        TorchX 0.7 gives no configuration here: the account is then that of .torchxconfig, of
        ``AZBATCH_ACCOUNT``, or azbatch's default. Of an account that is not known, or with an option that is
        none, there are none, and a logged line says why; in the command `torchx` that is an error.

        Raises:
            AzBatchError: The account cannot be asked.
        """
        from azbatch_core.errors import ConfigurationError, SpecError
        from azbatch_torchx import stamp, states

        try:
            options.refuse_unknown(cfg or {}, [name for name, _ in self.run_opts()])
            client = self._client(options.account_of(cfg or compat.configured(compat.BACKEND)))
        except (ConfigurationError, SpecError) as error:
            _complain(error)
            return []
        apps = ((job, stamp.read(job.metadata)) for job in client.jobs())
        return [
            compat.make(
                ListAppResponse,
                app_id=job.handle,
                state=AppState[states.APP_STATES[job.state]],
                name=app.name,
            )
            for job, app in apps
            if app is not None
        ]

    def log_iter(  # noqa: PLR0917  # TorchX's signature
        self,
        app_id: str,
        role_name: str,
        k: int = 0,
        regex: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        should_tail: bool = False,  # noqa: FBT001, FBT002  # TorchX's signature
        streams: Any = None,
    ) -> Iterable[str]:
        """The lines of replica `k` of a role; with `should_tail` until the task has ended and all was read.

        `since` and `until` choose as far as lines carry a time. What is gone with its node is read from its
        copy in storage if there is one; otherwise there are no lines, and a logged line says why. So it is
        where there is no such app, role or replica; in the command `torchx` that is an error.

        Raises:
            SpecError: `regex` is no regular expression.
            AzBatchError: The account cannot be asked.
        """
        from azbatch_core import NotFound
        from azbatch_torchx import links, log_times, logs

        found = self._look(app_id)
        role = found[1].role(role_name) if found else None
        if found is None or role is None or not 0 <= k < role.replicas:
            _complain(NotFound(f"{app_id} has no replica {k} of a role {role_name!r}"))
            return ()
        stream = logs.STREAMS[getattr(streams, "value", streams)]
        member = k if role.replicas > 1 else None
        lines = logs.of_task(self._job(app_id), role.task, stream, follow=should_tail, member=member)
        zone = None if found[0].account.name == links.LOCAL else timezone.utc
        return logs.matching(log_times.between(lines, since, until, zone), regex)

    def _cancel_existing(self, app_id: str) -> None:
        self._job(app_id).cancel()

    def delete(self, app_id: str) -> None:
        """Remove the app, its tasks and their files. An app that is not there is fine."""
        self._job(app_id).delete()

    def close(self) -> None:
        """Close the connections. May be called twice."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _validate(self, app: specs.AppDef, scheduler: str, *cfg: Any) -> None:
        super()._validate(app, scheduler, *cfg)

    def _client(self, account: str | None) -> AzureBatch:
        from azbatch_core import AzureBatch

        with self._opening:
            if account not in self._clients:
                compat.quieten_sdk()
                client = AzureBatch(account)
                self._clients[account] = self._clients.setdefault(client.account.name, client)
            return self._clients[account]

    def _job(self, app_id: str) -> JobHandle:
        """The job of an app: the same handle for all who ask, which is how they share what they saw."""
        account, job_id = app_ids.split(app_id)
        client = self._client(account)
        with self._opening:
            found = self._jobs.get(app_id)
            if found is None:
                if len(self._jobs) >= _HANDLES:
                    del self._jobs[next(iter(self._jobs))]
                found = self._jobs[app_id] = client.job(app_ids.join(account, job_id))
            return found

    def _find(self, app_id: str) -> tuple[AzureBatch, JobHandle] | None:
        """Where to ask for an app; None, and a logged line, where the id or its account is none."""
        from azbatch_core.errors import ConfigurationError, SpecError

        try:
            return self._client(app_ids.split(app_id)[0]), self._job(app_id)
        except (ConfigurationError, SpecError) as error:
            _complain(error)
            return None

    def _why_pending(self, job: JobHandle) -> str:
        from azbatch_torchx.waiting import Waits

        self._waits = self._waits or Waits()
        return self._waits.of(job)

    def _not_for_ever(self, app_id: str) -> None:
        """Note that an app is not there.

        Raises:
            NotFound: The command `torchx` was told so before, and asks again.
        """
        from azbatch_core import NotFound

        if app_id in self._missing and compat.is_command():
            raise NotFound(f"there is no app {app_id}", hint="`torchx list -s azure_batch` shows them")
        self._missing.add(app_id)

    def _look(self, app_id: str) -> tuple[AzureBatch, AppStamp, JobStatus, Iterable[TaskStatus]] | None:
        """The app at one moment; None where there is no such app, or the job is none of TorchX's."""
        from azbatch_core import NotFound
        from azbatch_torchx import described, stamp

        found = self._find(app_id)
        if found is None:
            return None
        client, job = found
        try:
            status, tasks = job.look(described.FRESH)
        except NotFound:
            return None
        app = stamp.read(status.metadata)
        return (client, app, status, tasks) if app is not None else None


def _delivered(client: AzureBatch, request: Request) -> Request:
    """The request, when what its nodes will fetch is where they fetch it; images by their digests."""
    from azbatch_torchx import workspace

    for archive in request.archives:
        sent = client.stage(archive.path, workspace.CONTAINER, archive.name)
        compat.LOG.info("the workspace: %s%s", archive.words, "" if sent else ", unchanged in storage")
    if not request.images:
        return request
    from azbatch_torchx import building, mapping
    from azbatch_torchx.request import Request

    places = building.push(request.images)
    return Request(client.plan(mapping.with_images(request.plan.job, places)), request.notes)


def _submit(client: AzureBatch, request: Request) -> None:
    """Submit the plan whole, or leave no job behind."""
    from azbatch_core import SubmissionError

    try:
        client.submit(request.plan)
    except SubmissionError as error:
        client.job(request.plan.job_id).delete()
        reasons = [f"{result.id}: {result.error or result.code}" for result in error.submission.failed]
        raise compat.refusal(f"Batch did not take {'; '.join(reasons)}") from error


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn azbatch's errors into the one kind that `torchx run` shows as a message about run options.

    But for those of an account that cannot be asked, which no run option mends.
    """
    with command_line.collecting_later():
        from azbatch_core import AuthenticationError, AzBatchError, ServiceUnavailable, Throttled

        try:
            yield
        except (AuthenticationError, ServiceUnavailable, Throttled):
            raise
        except AzBatchError as error:
            from azbatch_torchx import wording

            raise compat.refusal(wording.in_options(str(error))) from error


def _complain(error: AzBatchError) -> None:
    """Log an error, and go on; raise it in the command `torchx`, which ends with it and says so itself."""
    if compat.is_command():
        raise error
    compat.complain(str(error))


def _replaced(role: specs.Role, app_id: str) -> specs.Role:
    """The role with its macros replaced; of several replicas each node fills in its own number."""
    from azbatch_torchx import checks, gangs

    checks.check_types(role)
    replica_id = "0" if role.num_replicas == 1 else gangs.REPLICA_ID
    return compat.replaced(role, app_id=app_id, replica_id=replica_id, rank0_env=gangs.RANK0_ENV)


def create_scheduler(session_name: str, **kwargs: object) -> AzureBatchScheduler:  # noqa: ARG001  # TorchX passes what it has
    """The scheduler, for TorchX. Asks nothing of anybody."""
    command_line.set_up()
    compat.warn_of_two_lines()
    return AzureBatchScheduler(session_name)
