"""Allocates and fills a tensor, holds it for 30 ms, frees it, and does so again.

Sizes go up by 7 GiB modulo 23, so that a large one stands between small ones. At the end
it prints what the CUDA runtime itself saw in use while the largest was held.
"""
import time

import torch

GIB = 1 << 30


def main():
    largest, seen = 0, 0
    torch.cuda.init()
    for i in range(17):
        size = (1 + 7 * i) % 23 * GIB + GIB
        block = torch.empty(size, dtype=torch.uint8, device="cuda")
        block.fill_(i)
        torch.cuda.synchronize()
        if size > largest:
            free, total = torch.cuda.mem_get_info()
            largest, seen = size, total - free
        time.sleep(0.03)
        del block
        torch.cuda.empty_cache()
        time.sleep(0.69)
    print(f"largest block {largest / (1 << 20):.0f} MiB, "
          f"peak reserved by torch {torch.cuda.max_memory_reserved() / (1 << 20):.0f} MiB, "
          f"in use by the runtime's own count then {seen / (1 << 20):.0f} MiB", flush=True)


main()
