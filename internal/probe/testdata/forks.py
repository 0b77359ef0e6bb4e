"""Forks a helper, and a rank that starts CUDA itself; each ends as the children of multiprocessing do."""

import os

import torch

for rank in (False, True):
    child = os.fork()
    if child == 0:
        if rank:
            torch.cuda.start()
            torch._C.devices[0].add(500)
        os._exit(0)
    os.waitpid(child, 0)
