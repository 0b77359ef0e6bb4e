"""Under torchrun on two GPUs: rank 1 fills its device until it has no more, rank 0 waits."""
import os

import torch

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl")
torch.distributed.all_reduce(torch.ones(1, device="cuda"))
blocks = []
while rank == 1:
    blocks.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda").fill_(1))
torch.distributed.all_reduce(torch.ones(1, device="cuda"))
torch.cuda.synchronize()
