"""A small model, trained by as many processes as there are: each on its own part of the data.

torchx run -s azure_batch -cfg account=local --log dist.ddp -j 2x2 --script train.py
"""

from __future__ import annotations

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SAMPLES = 512
FEATURES = 16


def data(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points, and on which side of a curved surface each lies: the same ones in every process."""
    made = torch.Generator().manual_seed(seed)
    points = torch.randn(SAMPLES, FEATURES, generator=made)
    curved = points[:, :8].square().sum(1) - points[:, 8:].square().sum(1)
    return points, (curved > 0).float().unsqueeze(1)


def main() -> None:
    """Train, and check that all processes came to the same weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--pause", type=float, default=0.0, help="Seconds to wait after each epoch.")
    chosen = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    replica = os.environ.get("TORCHX_REPLICA_ID", "0")
    print(f"rank {rank} of {world} runs on replica {replica}", flush=True)

    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1))
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    judge = nn.BCEWithLogitsLoss()
    points, sides = (part[rank::world] for part in data(seed=1))

    for epoch in range(1, chosen.epochs + 1):
        optimizer.zero_grad()
        loss = judge(model(points), sides)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if epoch == 1 or epoch % 10 == 0:
            print(f"rank {rank} epoch {epoch}: loss {mean.item() / world:.4f}", flush=True)
        time.sleep(chosen.pause)

    weights = torch.cat([one.detach().flatten() for one in model.parameters()])
    lowest, highest = weights.clone(), weights.clone()
    dist.all_reduce(lowest, op=dist.ReduceOp.MIN)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    agree = "agree" if torch.equal(lowest, highest) else "differ"
    print(f"rank {rank}: all {world} ranks {agree}, weights sum to {weights.sum().item():.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
