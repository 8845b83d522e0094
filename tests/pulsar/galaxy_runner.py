"""Run by an older Galaxy's Python: our runner is imported and made as Galaxy makes it; prints what it is."""

from __future__ import annotations

import json
import sys
from unittest.mock import MagicMock

from galaxy.version import VERSION  # type: ignore[import-not-found]

from azbatch_pulsar.galaxy import PulsarAzureBatchJobRunner


def hears(runner: PulsarAzureBatchJobRunner, handler: str) -> bool:
    """Whether a message that a job of that handler is complete has the runner finish it."""
    runner.app.config.server_name = "main"
    runner.client_manager.status_cache = {}
    runner.mark_as_finished = MagicMock()
    job_state = MagicMock(job_id=f"galaxy-1-{handler}")
    job_state.job_wrapper.job_id = 7
    job_state.job_wrapper.get_job.return_value.handler = handler
    message = {"status": "complete", "returncode": 0, "job_directory": f"/staging/{job_state.job_id}/7"}
    runner._update_job_state_for_status(job_state, "complete", full_status=message)
    return runner.mark_as_finished.called


def main() -> None:
    """Make one runner for each way, and a client of a job by it."""
    found = {"galaxy": VERSION}
    for way, params in {"polling": {}, "queue": {"amqp_url": "memory://localhost"}}.items():
        app = MagicMock()
        app.config.galaxy_infrastructure_url = "http://127.0.0.1:8080"
        app.config.nginx_upload_job_files_path = None
        app.security.encode_id.return_value = "f2db41e1fa331b3e"
        runner = PulsarAzureBatchJobRunner(app, 1, **params)
        runner._init_client_manager()
        client = runner.get_client(
            {"azure_batch_account": "away", "azure_batch_cores": "2", "pulsar_container_image": "p:1"},
            "7",
        )
        found[way] = [
            type(runner.client_manager).__name__,
            type(client).__name__,
            client._first.rpartition("-")[2],
            client.destination.cores,
            runner.use_mq,
            runner.poll,
        ]
        found[way] += [name for name in ("main", "other") if hears(runner, name)]
        runner.client_manager.shutdown()
    json.dump(found, sys.stdout)


main()
