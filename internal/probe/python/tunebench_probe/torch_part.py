"""What torch's allocator has counted, with the peaks that the program reset in between.

torch sets its peak counters back to the current value when asked to, as a memory
tracker does at each of its stages. Every way to ask ends in one of few functions of
torch._C, so the value before a reset is kept there. Reading a counter waits for no
device, and nothing is read before the program itself has started CUDA.
"""

import os
import sys

PEAK_RESETS = ("_cuda_resetPeakMemoryStats", "_accelerator_resetPeakStats")
TOTAL_RESETS = ("_cuda_resetAccumulatedMemoryStats", "_accelerator_resetAccumulatedStats")
BYTES = {"allocated": "allocated_bytes", "reserved": "reserved_bytes"}
COUNTS = {"alloc_retries": "num_alloc_retries", "ooms": "num_ooms"}


class Memory:
    def __init__(self, native):
        self.native = native
        self.watchers = []  # functions told of a reset: device, counters before it
        self.forget()

    def forget(self):
        self.peaks = {}  # (device, kind) -> largest peak before a reset
        self.totals = {}  # (device, counter) -> sum of the values before resets
        self.resets = {}  # device -> how often the peaks were reset
        self.place = {}  # the rank while torch had one: it may have none at the exit

    def watch_resets(self):
        for name in PEAK_RESETS:
            before(self.native, name, self.keep_peaks)
        for name in TOTAL_RESETS:
            before(self.native, name, self.keep_totals)

    def watch_start(self, act):
        """Has act called when the program starts CUDA."""
        before(self.native, "_cuda_init", act)

    def keep_peaks(self, device):
        if not self.started():
            return
        counters = self.counters(device)
        for kind in BYTES:
            key = device, kind
            self.peaks[key] = max(self.peaks.get(key, 0), counters[kind + "_peak"])
        self.resets[device] = self.resets.get(device, 0) + 1
        for watcher in self.watchers:
            watcher(device, counters)

    def keep_totals(self, device):
        if not self.started():
            return
        stats = self.stats(device)
        for kind, value in totals(stats).items():
            key = device, kind
            self.totals[key] = self.totals.get(key, 0) + value

    def started(self):
        """Whether the program has started CUDA in this process."""
        # The module may still be on its way in.
        ask = getattr(sys.modules.get("torch.cuda"), "is_initialized", None)
        return bool(ask is not None and ask())

    def stats(self, device):
        return sys.modules["torch.cuda.memory"].memory_stats_as_nested_dict(device)

    def counters(self, device):
        """The counters of one device since their last reset, and the sums over all resets."""
        stats = self.stats(device)
        found = {}
        for kind, name in BYTES.items():
            found[kind] = stats[name]["all"]["current"]
            found[kind + "_peak"] = stats[name]["all"]["peak"]
        for kind, value in totals(stats).items():
            found[kind] = value + self.totals.get((device, kind), 0)
        return found

    def describe(self, data):
        torch = sys.modules["torch"]
        facts = {"version": str(getattr(torch, "__version__", "")), "cuda": [], "started": self.started()}
        version = getattr(torch, "version", None)
        facts["cuda_version"] = getattr(version, "cuda", None)
        data["torch"] = facts
        distributed(self.place)
        for key, value in self.place.items():
            data.setdefault("place", {}).setdefault(key, value)
        if self.started():
            facts["allocator"] = allocator(self.native)
            facts["driver"] = driver()
            facts["cuda"] = [self.device(i) for i in range(torch.cuda.device_count()) if self.used(i)]

    def used(self, device):
        """Whether this process holds, or held, something on the device."""
        has_context = getattr(self.native, "_cuda_hasPrimaryContext", None)
        if has_context is not None and has_context(device):
            return True
        try:
            return self.stats(device)["reserved_bytes"]["all"]["peak"] > 0
        except Exception:  # an allocator that does not count
            return device == sys.modules["torch.cuda"].current_device()

    def device(self, index):
        facts = {"index": index, "resets": self.resets.get(index, 0)}
        properties(index, facts)
        try:
            counters = self.counters(index)
        except Exception as err:
            gap = {"gap": "torch's allocator does not count: %s" % err}
            counters = dict.fromkeys([*BYTES, *(k + "_peak" for k in BYTES), *COUNTS], gap)
        else:
            for kind in BYTES:
                counters[kind + "_peak"] = max(counters[kind + "_peak"], self.peaks.get((index, kind), 0))
        counters.pop("turnover", None)
        facts.update(counters)
        return facts


def totals(stats):
    found = {kind: stats[name] for kind, name in COUNTS.items()}
    found["turnover"] = stats["allocated_bytes"]["all"]["allocated"]  # bytes ever handed out
    return found


def before(module, name, note):
    """Has note called ahead of each call of a function, with the call's own arguments."""
    original = getattr(module, name, None)
    if original is None:
        return

    def noted(*args, **kwargs):
        try:
            note(*args)
        except Exception:  # the training must not see it
            pass
        return original(*args, **kwargs)

    noted.__name__ = noted.__qualname__ = name
    noted.__module__ = getattr(original, "__module__", None) or module.__name__
    noted.__doc__ = original.__doc__
    setattr(module, name, noted)


def properties(index, facts):
    try:
        found = sys.modules["torch.cuda"].get_device_properties(index)
        facts.update(name=found.name, total=found.total_memory)
        uuid = str(getattr(found, "uuid", ""))
        if uuid and not uuid.startswith(("GPU-", "MIG-")):
            uuid = ("MIG-" if " MIG " in found.name else "GPU-") + uuid
        facts["uuid"] = uuid
    except Exception as err:
        facts["total"] = {"gap": "torch does not say: %s" % err}


def allocator(native):
    backend = getattr(native, "_cuda_getAllocatorBackend", None)
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    settings = [os.environ[name] for name in names if os.environ.get(name)]
    return {"backend": str(backend()) if backend is not None else "", "settings": settings[0] if settings else ""}


def driver():
    try:
        with open("/proc/driver/nvidia/version", encoding="ascii", errors="replace") as file:
            words = file.readline().split()
    except OSError:
        return ""
    return next((w for w in words if w[:1].isdigit() and "." in w), "")


def distributed(place):
    """The rank as torch has it, for programs that never set it in their environment."""
    module = sys.modules.get("torch.distributed")
    ask = getattr(module, "is_initialized", None)
    if ask is not None and ask():
        place["rank"], place["world_size"] = module.get_rank(), module.get_world_size()
