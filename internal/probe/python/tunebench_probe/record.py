"""The record of one process: who it is, how it ended, and what its parts add."""

import _thread
import atexit
import os
import sys
import time

from . import files

FORMAT = 1
PACE = 2.0  # seconds between two refreshed records
SHARE = 500  # of so many seconds a refresh works for one at most
PLACES = {"rank": "RANK", "local_rank": "LOCAL_RANK", "world_size": "WORLD_SIZE"}
SEEN = (
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
)
PACKAGES = (
    "torch", "transformers", "peft", "accelerate", "trl", "datasets", "tokenizers", "bitsandbytes",
    "deepspeed", "flash_attn", "xformers", "triton", "unsloth", "numpy",
)


class Record:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.parts = []  # functions that add what they know to the record
        self.memory = None
        self.trainer = None
        self.thread = _thread.get_ident()
        self.place = {}
        self.begin(forked=False)

    def begin(self, forked):
        self.pid = os.getpid()
        self.forked = forked
        self.started = time.time_ns()
        self.name = "process_%d_%d.json" % (self.pid, self.started)
        self.exit = None
        self.done = False  # the last record is written
        self.fresh = False  # a thread refreshes the record
        self.lock = _thread.RLock()  # a signal's handler may come in while its own thread writes

    def watch(self):
        atexit.register(self.write, True)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forked_off)
        self.watch_exit()
        self.watch_hard_exit()

    def forked_off(self):
        # A fork has its parent's counters but none of its memory on a device.
        self.begin(forked=True)
        if self.memory is not None:
            self.memory.forget()

    def watch_exit(self):
        """Notes what sys.exit is called with: no hook of Python's is told."""
        original = sys.exit

        def exit(status=None):
            if _thread.get_ident() == self.thread:
                self.exit = status if isinstance(status, int) else None if status is None else str(status)
                self.exit = 0 if status is None else self.exit
            original(status)

        exit.__doc__ = original.__doc__
        sys.exit = exit

    def watch_hard_exit(self):
        """Leaves the record ahead of os._exit, which ends the process without atexit."""
        original = os._exit

        def _exit(status):
            # A fork that has nothing of its own on a device is a helper, of which there are many.
            if not self.forked or self.memory is not None and self.memory.started():
                self.exit = status
                self.write(True)
            original(status)

        _exit.__doc__ = original.__doc__
        os._exit = _exit

    def keep_fresh(self):
        """Has a thread leave the record now and then: a process that is killed leaves its last one.

        It reads what the program's own threads have counted, and waits for no device. It is
        started with CUDA, which makes threads of its own, so no other process gets a first one.
        """
        if not self.fresh:
            self.fresh = True
            _thread.start_new_thread(self.refresh, ())

    def refresh(self):
        # Work counts, not the time that passes: on a busy machine that is mostly waiting.
        clock = getattr(time, "thread_time", time.perf_counter)
        pause = PACE
        while not self.done:
            time.sleep(pause)
            began = clock()
            self.write()
            pause = max(PACE, SHARE * (clock() - began))

    def write(self, complete=False):
        """Leaves the record as known now; none comes after the complete one. It never raises."""
        try:
            with self.lock:
                if complete or not self.done:
                    self.done = self.done or complete
                    files.replace(self.folder, self.name, files.encode(self.describe(complete)))
        except Exception:
            pass

    def describe(self, complete):
        data = {"format": FORMAT, "complete": complete, "errors": []}
        own = [identity, surroundings, versions, host] if complete or self.parts else [identity, surroundings]
        if complete:
            own.append(ending)
        for part in own:
            attempt(data, part, self, data)
        for part in self.parts:
            attempt(data, part, data)
        return data


def attempt(data, part, *args):
    """One part that fails costs that part."""
    try:
        part(*args)
    except Exception as err:
        data["errors"].append("%s: %s: %s" % (part.__name__, type(err).__name__, err))


def identity(record, data):
    data.update(
        pid=record.pid, ppid=os.getppid(), forked=record.forked, started_ns=record.started, written_ns=time.time_ns(),
        argv=arguments(), script=(getattr(sys, "argv", None) or [""])[0], exe=sys.executable or "",
        python=sys.version.split()[0], implementation=sys.implementation.name,
    )


def arguments():
    original = getattr(sys, "orig_argv", None)
    if original is not None:
        return list(original)
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(a) for a in file.read().split(b"\0")[:-1]]
    except OSError:
        return list(getattr(sys, "argv", []))


def surroundings(record, data):
    # Some programs set their rank themselves, and some take it back before the end.
    for key, name in PLACES.items():
        text = os.environ.get(name, "")
        if text.isdecimal():
            record.place[key] = int(text)
    data["place"] = dict(record.place)
    data["environment"] = {name: os.environ[name] for name in SEEN if name in os.environ}


def versions(record, data):
    found = {}
    for name in PACKAGES:
        # A lazy module is not asked by attribute: that may import what nobody needed.
        known = getattr(sys.modules.get(name), "__dict__", {})
        version = known.get("__version__") or (known.get("_objects") or {}).get("__version__")
        if version is not None:
            found[name] = str(version)
    data["versions"] = found


def host(record, data):
    """What the kernel says: the pid as each namespace has it, and the peak of host memory."""
    try:
        with open("/proc/self/status", "rb") as file:
            lines = dict(line.partition(b":")[::2] for line in file)
    except OSError:
        return
    data["namespace_pids"] = [int(n) for n in lines.get(b"NSpid", b"").split()]
    peak = lines.get(b"VmHWM", b"").split()
    if peak:
        data["host_peak_bytes"] = int(peak[0]) * 1024


def ending(record, data):
    """The exception that nobody caught; Python keeps it for debuggers, whatever hook printed it."""
    data["exit"] = record.exit
    err = getattr(sys, "last_value", None)
    if err is None:
        return
    kind = type(err)
    trace = getattr(sys, "last_traceback", None)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else "%s:%d" % (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    name = kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__
    data["exception"] = {"type": name, "message": str(err), "where": where}
