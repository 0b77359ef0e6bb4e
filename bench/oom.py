"""Allocates 1 GiB blocks until the device has no more, and dies of it."""
import torch

blocks = []
while True:
    blocks.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda").fill_(1))
