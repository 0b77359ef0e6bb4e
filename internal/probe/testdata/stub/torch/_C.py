class Counters:
    def __init__(self):
        self.current = self.peak = self.handed_out = self.reserved = self.reserved_peak = 0
        self.retries = self.ooms = 0

    def add(self, size):
        self.current += size
        self.handed_out += max(size, 0)
        self.peak = max(self.peak, self.current)
        self.reserved = max(self.reserved, self.current)
        self.reserved_peak = max(self.reserved_peak, self.reserved)


devices = [Counters(), Counters()]


def _cuda_init():
    pass


def _cuda_memoryStats(device):
    c = devices[device]
    return {
        "allocated_bytes": {"all": {"current": c.current, "peak": c.peak, "allocated": c.handed_out}},
        "reserved_bytes": {"all": {"current": c.reserved, "peak": c.reserved_peak}},
        "num_alloc_retries": c.retries,
        "num_ooms": c.ooms,
    }


def _cuda_resetPeakMemoryStats(device):
    devices[device].peak = devices[device].current
    devices[device].reserved_peak = devices[device].reserved


def _cuda_resetAccumulatedMemoryStats(device):
    devices[device].handed_out = devices[device].retries = devices[device].ooms = 0


def _cuda_getAllocatorBackend():
    return "native"
