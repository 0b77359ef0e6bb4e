import torch

torch.cuda.start()
torch._C.devices[1].add(1 << 30)
torch._C.devices[1].add(-(1 << 29))
torch._C.devices[1].ooms = 1
raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 1 has a total capacity of \"80\" GiB é")
