import sys

import torch
from transformers import Trainer

allocate = torch._C.devices[0].add


def loading():
    torch.cuda.start()
    allocate(900)
    allocate(-400)


def set_up():
    allocate(100)
    allocate(-50)


def steps():
    allocate(700)
    if sys.argv[2] == "reset":
        torch.cuda.reset_peak_memory_stats()
    allocate(-650)


loading()
assert "train_mem_gpu_alloc_delta" not in Trainer(sys.argv[1] == "skip", set_up).train(steps)
