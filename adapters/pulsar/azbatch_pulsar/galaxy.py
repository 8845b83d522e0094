"""The Galaxy runner: ``load: azbatch_pulsar.galaxy:PulsarAzureBatchJobRunner`` in job_conf.yml.

What Batch says is the truth. Where there is a message queue, results come by it as soon as they are there,
and jobs are watched on Batch beside it: a message that gets lost, and a node or an image that is not there,
end a job all the same. Imported by Galaxy only; for Galaxy 24.0 to 26.1.

How a run comes to its end, and what is called then:

| who hears | of what | then |
|---|---|---|
| `_look`, when Galaxy's monitor asks Batch | how the run stands, and how it ended | `_settle` |
| `_update_job_state_for_status`, by message | an end with an exit code that no limit gives | `_finish` |
| | any other end | nothing: Batch is asked |
| `_settle` | an ending with a reason; a failed or lost run | `_fail` |
| | complete, cancelled, or stopped by its user | `_finish` |
| | none of these | `_go_on` |

Both tell of most ends, from different threads: `_is_first` lets one of them through to Galaxy.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from galaxy import model
from galaxy.jobs.runners.pulsar import PARAMETER_SPECIFICATION_IGNORED, PulsarJobRunner
from pulsar.client.exceptions import PulsarClientTransportError
from pulsar.managers import status

from azbatch_core.errors import AzBatchError, ConfigurationError, SpecError
from azbatch_pulsar.clients import is_final
from azbatch_pulsar.destination import is_queue, queue_params
from azbatch_pulsar.managers import azure_manager
from azbatch_pulsar.outages import Outages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_pulsar.results import Ending

__all__ = ("PulsarAzureBatchJobRunner",)

LOG: Final = logging.getLogger(__name__)
CONTAINER: Final = "galaxy/pulsar-pod-staging:0.15.0.2"
"""Galaxy's own default, from 24.0 on."""

SUSPICIOUS: Final = (None, 124, 137, 143)
"""Exit codes that may come of a limit: then Batch is asked what happened before the job is called over."""

WRONG: Final = "wrong_destination"
"""A runner state of ours, for which no rule of Galaxy's has a job submitted again."""

_REMEMBERED: Final = 100_000


class PulsarAzureBatchJobRunner(PulsarJobRunner):
    """Runs tools on Azure Batch by Pulsar's co-execution.

    With ``amqp_url`` (or ``relay_url``) among the runner's parameters results come by the message queue;
    without, Batch is asked for everything. What is about Azure belongs to the environments.
    """

    runner_name = "PulsarAzureBatchJobRunner"
    poll = True
    destination_defaults: Final = {
        "default_file_action": "remote_transfer",
        "rewrite_parameters": "true",
        "pulsar_container_image": CONTAINER,
        "remote_container_handling": True,
        "url": PARAMETER_SPECIFICATION_IGNORED,
        "private_token": PARAMETER_SPECIFICATION_IGNORED,
    }

    def _init_client_manager(self) -> None:
        queue = queue_params(self.runner_params)
        self.pulsar_app = None
        self.use_mq = is_queue(queue)
        manager = self.runner_params.get("manager")
        self.client_manager = azure_manager({"azure_batch_account": None}, manager=manager, **queue)
        self._ended: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._ending = threading.Lock()
        self._outages = Outages()
        self._refused: dict[int, AzBatchError | PulsarClientTransportError] = {}
        """Why jobs did not get on Batch: from the moment of it until Galaxy fails them, soon after."""

    def get_client_from_state(self, job_state: Any) -> Any:
        """The client of a job that was launched: it knows the id of its Batch job."""
        params = dict(job_state.job_destination.params)
        params["external_id"] = job_state.job_id
        client = self.get_client(params, job_state.job_wrapper.job_id)
        client.removed_later = getattr(job_state, "removed_later", None)
        return client

    def queue_job(self, job_wrapper: Any) -> None:
        """Launch a job. Where that cannot be, its user reads why, and not only that it is so."""
        fail = job_wrapper.fail

        def told(message: str, *args: Any, **kwargs: Any) -> None:
            fail(str(self._refused.pop(job_wrapper.job_id, message)), *args, **kwargs)

        job_wrapper.fail = told
        try:
            super().queue_job(job_wrapper)
        finally:
            del job_wrapper.fail

    def get_client_from_wrapper(self, job_wrapper: Any) -> Any:
        """The client of a job to be launched; whatever keeps it from Batch is kept for the job's end."""
        keeping = self._keeping_refusal(job_wrapper.job_id)
        client = keeping(super().get_client_from_wrapper)(job_wrapper)
        client.setup, client.launch = keeping(client.setup), keeping(client.launch)
        return client

    @contextmanager
    def _keeping_refusal(self, job_id: int) -> Iterator[None]:
        try:
            yield
        except (AzBatchError, PulsarClientTransportError) as error:
            LOG.error("(%s) cannot be sent to Azure Batch: %s", job_id, error)  # noqa: TRY400  # one line
            self._refused[job_id] = error
            raise

    def finish_job(self, job_state: Any) -> None:
        """Finish a job; what is left of it on Batch goes once Galaxy has it all: it may be killed before.

        Galaxy cleans up in the midst of it. So the client (`get_client_from_state`) gets a list, and puts
        into it what its `clean` would have removed.
        """
        job_state.removed_later = []
        super().finish_job(job_state)
        try:
            for remove in job_state.removed_later:
                remove()
        except AzBatchError as error:
            LOG.warning("(%s) is over, but stays on Azure Batch: %s", job_state.job_id, error)

    def check_watched_item(self, job_state: Any) -> Any:
        """Ask Batch how a job stands; None once there is nothing to watch any more."""
        account, batch_id = _run_of(job_state)
        try:
            watched = None if self._is_over(job_state) else self._look(job_state)
        except PulsarClientTransportError as error:
            self._outages.met(account, batch_id, error)
            return job_state
        except Exception:
            LOG.exception("(%s) could not be looked at, will look again", job_state.job_id)
            return job_state
        self._outages.passed(account, batch_id)
        return watched

    def _look(self, job_state: Any) -> Any:
        client = self.get_client_from_state(job_state)
        word = client.get_status()
        if not status.is_job_done(word):
            return self._settle(job_state, word, None)
        ending = client.ending()
        # Without one the message is here, and Batch is about to say what was behind it.
        return job_state if ending is None else self._settle(job_state, word, ending)

    def _update_job_state_for_status(
        self, job_state: Any, pulsar_status: str, full_status: dict[str, Any] | None = None
    ) -> Any:
        """What a message says of a job of this handler: it runs, or ended plainly. Batch tells the rest."""
        LOG.debug("(%s) message: %s", job_state.job_id, pulsar_status)
        if job_state.job_wrapper.get_job().handler != self.app.config.server_name:
            # A broker gives it to any handler, a relay to all. The job's own asks Batch, too.
            self.client_manager.status_cache.pop(str(job_state.job_wrapper.job_id), None)
            return job_state
        message = full_status or {"status": pulsar_status}
        plain = pulsar_status == status.COMPLETE and message.get("returncode") not in SUSPICIOUS
        if plain and is_final(message, str(job_state.job_id)):
            return self._finish(job_state)
        return job_state if status.is_job_done(pulsar_status) else self._go_on(job_state, pulsar_status)

    def _settle(self, job_state: Any, word: str, ending: Ending | None) -> Any:
        """Have Galaxy know how the job stands; None once it is over."""
        if ending is not None and ending.reason is not None:
            return self._fail(job_state, ending)
        if word in {status.COMPLETE, status.CANCELLED}:
            return self._finish(job_state)
        if status.is_job_done(word):
            return self._fail(job_state, ending)
        if job_state.job_wrapper.get_state() == model.Job.states.STOPPED:
            # The user has stopped it, and wants to keep what it made.
            self.get_client_from_state(job_state).kill()
            return self._finish(job_state)
        return self._go_on(job_state, word)

    def _go_on(self, job_state: Any, word: str) -> Any:
        if word == status.RUNNING and not job_state.running:
            job_state.running = True
            job_state.job_wrapper.change_state(model.Job.states.RUNNING)
        return job_state

    def _fail(self, job_state: Any, ending: Ending | None) -> None:
        if self._is_first(job_state):
            job_state.fail_message = (ending and ending.message) or "the job failed on Azure Batch"
            job_state.runner_state = ending.reason if ending else job_state.runner_states.UNKNOWN_ERROR
            job_state.stop_job = False  # it is over
            job_state.full_status = dict(ending.status) if ending else None
            self.mark_as_failed(job_state)

    def fail_job(
        self,
        job_state: Any,
        exception: bool = False,  # noqa: FBT001, FBT002  # Galaxy's own signature
        message: str = "Job failed",
        full_status: dict[str, Any] | None = None,
    ) -> None:
        """Fail a job, or have Galaxy submit it again where its rules say so; with what it wrote.

        Galaxy calls it for a job that has no client, or no place on Batch, too: then there is a refusal. One
        for what the destination says would come again, so no rule is asked.
        """
        kept = full_status or getattr(job_state, "full_status", None)
        refused = self._refused.pop(job_state.job_wrapper.job_id, None)
        if refused is not None:
            job_state.fail_message = str(refused)
            if isinstance(refused.__cause__ or refused, (SpecError, ConfigurationError)):
                job_state.runner_state = WRONG
        super().fail_job(job_state, exception=exception, message=message, full_status=kept)

    def _finish(self, job_state: Any) -> None:
        if self._is_first(job_state):
            self.mark_as_finished(job_state)

    def _is_first(self, job_state: Any) -> bool:
        """Whether nobody has seen the end of this run before: the message and the look at Batch both do."""
        with self._ending:
            new = _run_of(job_state) not in self._ended
            self._ended[_run_of(job_state)] = None
            if len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)
            return new

    def _is_over(self, job_state: Any) -> bool:
        """Whether its end was seen, or the user has done away with it."""
        gone = (model.Job.states.DELETED, model.Job.states.DELETING)
        return _run_of(job_state) in self._ended or job_state.job_wrapper.get_state() in gone


def _run_of(job_state: Any) -> tuple[str, str]:
    """Account and Batch job: a job that Galaxy submits again to another account has the same id there."""
    return str(job_state.job_destination.params.get("azure_batch_account")), str(job_state.job_id)
