"""A walk through an account with azure-batch 14, the last of its line before 15; prints one JSON object."""

import datetime as dt
import json
import os
import sys

from azure.batch import BatchServiceClient, models
from azure.batch.batch_auth import SharedKeyCredentials

credentials = SharedKeyCredentials(os.environ["AZURE_BATCH_ACCOUNT"], os.environ["AZURE_BATCH_ACCESS_KEY"])
client = BatchServiceClient(credentials, batch_url=os.environ["AZURE_BATCH_ENDPOINT"])

client.pool.add(
    models.PoolAddParameter(
        id="p",
        vm_size="standard_d2s_v3",
        target_dedicated_nodes=2,
        virtual_machine_configuration=models.VirtualMachineConfiguration(
            image_reference=models.ImageReference(
                publisher="canonical", offer="ubuntu-24_04-lts", sku="server", version="latest"
            ),
            node_agent_sku_id="batch.node.ubuntu 24.04",
        ),
        start_task=models.StartTask(command_line="/bin/true", wait_for_success=True),
    )
)
client.job.add(models.JobAddParameter(id="j", pool_info=models.PoolInformation(pool_id="p")))
added = client.task.add_collection(
    "j",
    [
        models.TaskAddParameter(id="good", command_line="/bin/sh -c 'echo hello from 14'"),
        models.TaskAddParameter(id="bad", command_line="/bin/sh -c 'exit 7'"),
    ],
)
while any(task.state != "completed" for task in client.task.list("j")):
    pass
tasks = sorted((task.id, task.execution_info.exit_code) for task in client.task.list("j"))
stdout = b"".join(client.file.get_from_task("j", "good", "stdout.txt")).decode()
node = next(iter(client.compute_node.list("p")))
client.compute_node.reboot("p", node.id)
client.job_schedule.add(
    models.JobScheduleAddParameter(
        id="s",
        schedule=models.Schedule(recurrence_interval=dt.timedelta(hours=1)),
        job_specification=models.JobSpecification(pool_info=models.PoolInformation(pool_id="p")),
    )
)
try:
    client.job.get("nothing")
except models.BatchErrorException as error:
    missing = [error.response.status_code, error.error.code]
found = {
    "pool": client.pool.get("p").allocation_state,
    "added": [str(result.status).rpartition(".")[2].lower() for result in added.value],
    "tasks": tasks,
    "stdout": stdout,
    "counts": client.job.get_task_counts("j").task_counts.completed,
    "schedule": client.job_schedule.get("s").state,
    "missing": missing,
}
client.job.terminate("j")
client.job_schedule.delete("s")
client.job.delete("j")
client.pool.delete("p")
sys.stdout.write(json.dumps(found))
