from torch.cuda import reset_peak_memory_stats  # bound before anything runs

import torch

allocate = torch._C.devices[0].add
torch.cuda.start()
allocate(700)
allocate(-600)
torch._C.devices[0].retries = 3
reset_peak_memory_stats()
torch.cuda.reset_accumulated_memory_stats()
allocate(200)
torch._C.devices[0].retries = 1
assert torch.cuda.max_memory_allocated() == 300, "the program sees its own resets"
torch.cuda.memory.reset_peak_memory_stats()
