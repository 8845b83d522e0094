// A walk through an account with `@azure/batch`, the client of Node.js; prints one JSON object.
const { BatchServiceClient, BatchSharedKeyCredentials } = require("@azure/batch");

const env = process.env;
const credentials = new BatchSharedKeyCredentials(env.AZURE_BATCH_ACCOUNT, env.AZURE_BATCH_ACCESS_KEY);
const client = new BatchServiceClient(credentials, env.AZURE_BATCH_ENDPOINT);

async function text(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function walk() {
  const image = { publisher: "canonical", offer: "ubuntu-24_04-lts", sku: "server" };
  await client.pool.add({
    id: "p",
    vmSize: "standard_d2s_v3",
    targetDedicatedNodes: 2,
    virtualMachineConfiguration: { imageReference: image, nodeAgentSKUId: "batch.node.ubuntu 24.04" },
  });
  const pool = await client.pool.get("p");
  await client.job.add({ id: "j", poolInfo: { poolId: "p" } });
  const added = await client.task.addCollection("j", [
    { id: "good", commandLine: "/bin/sh -c 'echo hello from node'" },
    { id: "bad", commandLine: "/bin/sh -c 'exit 7'" },
  ]);
  let tasks = [];
  do {
    tasks = await client.task.list("j");
  } while (tasks.some((task) => task.state !== "completed"));
  const file = await client.file.getFromTask("j", "good", "stdout.txt");
  const nodes = await client.computeNode.list("p");
  await client.computeNode.reboot("p", nodes[0].id);
  await client.jobSchedule.add({ id: "s", schedule: { recurrenceInterval: "PT1H" }, jobSpecification: { poolInfo: { poolId: "p" } } });
  const schedule = await client.jobSchedule.get("s");
  const missing = await client.job.get("nothing").catch((error) => error);
  await client.job.terminate("j");
  await client.jobSchedule.deleteMethod("s");
  await client.job.deleteMethod("j");
  await client.pool.deleteMethod("p");
  return {
    images: (await client.account.listSupportedImages()).length,
    pool: [pool.id, pool.state, pool.virtualMachineConfiguration.imageReference.sku],
    added: added.value.map((result) => result.status),
    tasks: tasks.map((task) => [task.id, task.executionInfo.exitCode]).sort(),
    stdout: await text(file.readableStreamBody),
    nodes: nodes.length,
    schedule: schedule.state,
    missing: [missing.statusCode, missing.code ?? missing.body.code],
  };
}

walk().then(
  (found) => console.log(JSON.stringify(found)),
  (error) => {
    console.error(error.statusCode, error.code, JSON.stringify(error.body) ?? error.stack);
    process.exit(1);
  }
);
