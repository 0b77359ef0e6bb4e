import sys

import torch


class TrainerMemoryTracker:
    stages = {"__init__": "init", "train": "train", "_finalize_training": "train"}

    def __init__(self, skip_memory_metrics=False):
        self.skip_memory_metrics = skip_memory_metrics
        if not skip_memory_metrics:
            self.gpu = {}

    def start(self):
        if not self.skip_memory_metrics:
            self.stages[sys._getframe(1).f_code.co_name]  # as the real one: from its caller only
            torch.cuda.reset_peak_memory_stats()
            self.begin = torch._C.devices[0].current

    def stop_and_update_metrics(self, metrics=None):
        if not self.skip_memory_metrics:
            stage = self.stages[sys._getframe(1).f_code.co_name]
            now = torch._C.devices[0]
            self.gpu[stage] = {"begin": self.begin, "alloc": now.current - self.begin, "peaked": now.peak - now.current}
