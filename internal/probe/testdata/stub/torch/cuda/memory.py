import torch._C

__all__ = ["reset_peak_memory_stats", "reset_accumulated_memory_stats", "max_memory_allocated"]


def memory_stats_as_nested_dict(device=None):
    return torch._C._cuda_memoryStats(device or 0)


def reset_peak_memory_stats(device=None):
    return torch._C._cuda_resetPeakMemoryStats(device or 0)


def reset_accumulated_memory_stats(device=None):
    return torch._C._cuda_resetAccumulatedMemoryStats(device or 0)


def max_memory_allocated(device=None):
    return torch._C._cuda_memoryStats(device or 0)["allocated_bytes"]["all"]["peak"]
