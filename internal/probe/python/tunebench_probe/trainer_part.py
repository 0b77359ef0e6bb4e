"""What the Hugging Face Trainer knows: its stages, its exact metrics, its log.

The Trainer asks a memory tracker at the start and the end of each stage. Where the
program switched that tracker off, it is given the calls and reads torch's counters,
without the collection of garbage, the emptied cache and the reset that make the real
one slow; where it is on, its own figures are read at the end.
"""

import functools
import sys
import time

from . import stage

KEPT = 16  # states and trackers of that many trainers are kept


class Watch:
    def __init__(self, process):
        self.process = process
        self.trackers = []
        self.states = []
        self.training = {}  # when the last training began, and when it ended

    def watch_trackers(self, kind):
        quiet = quiet_tracker(kind, self)

        def made(tracker):
            if getattr(tracker, "skip_memory_metrics", False) and type(tracker) is kind:
                tracker.__class__ = quiet
                tracker.probe_open, tracker.probe_stages = {}, {}
            keep(self.trackers, tracker)

        after_init(kind, made)

    def watch_states(self, kind):
        after_init(kind, lambda state: keep(self.states, state))

    def watch_training(self, kind):
        ahead(kind, "on_train_begin", self.training_begins)
        ahead(kind, "on_train_end", self.training_ends)

    def training_begins(self):
        self.training = {"train_begin_ns": time.time_ns()}
        self.process.write()

    def training_ends(self):
        self.training = {**self.training, "train_end_ns": time.time_ns()}

    def begin(self, tracker, name):
        """A stage begins; one within another is none, as for the real tracker."""
        if tracker.probe_open and name not in tracker.probe_open:
            return
        memory = self.process.memory
        if memory is None:
            return
        device, counters = reading(memory)
        opened = stage.Stage(device, counters)
        tracker.probe_open = {name: opened}
        memory.watchers[:] = [opened.reset]
        self.process.write()

    def end(self, tracker, name):
        opened = tracker.probe_open.pop(name, None)
        if opened is None:
            return
        memory = self.process.memory
        memory.watchers.clear()
        device, counters = reading(memory, opened.device)
        tracker.probe_stages[name] = opened.end(counters) if counters else None
        self.process.write()

    def describe(self, data):
        if not self.trackers and not self.states:
            return
        facts = {"trainers": len(self.trackers), "log_history": self.history(), **self.training}
        facts["final"] = final(facts["log_history"])
        data["trainer"] = facts
        tracker = self.tracker()
        if tracker is None or self.process.memory is None or not self.process.memory.started():
            return
        own = hasattr(tracker, "probe_stages")
        facts["source"] = "probe" if own else "tracker"
        stages = tracker.probe_stages if own else getattr(tracker, "gpu", {})
        facts["stages"] = named(stages, tracker.probe_open if own else {})

    def tracker(self):
        """The tracker of the last Trainer that trained, else of the last that was made."""
        for tracker in reversed(self.trackers):
            found = getattr(tracker, "probe_stages", None) or getattr(tracker, "gpu", {})
            if "train" in found or "train" in getattr(tracker, "probe_open", {}):
                return tracker
        return self.trackers[-1] if self.trackers else None

    def history(self):
        for state in reversed(self.states):
            history = getattr(state, "log_history", None)
            if history:
                return [entry for entry in history if isinstance(entry, dict)]
        return []


def quiet_tracker(kind, watch):
    """The tracker of a program that wants none: same calls, nothing done but reading."""

    class QuietTracker(kind):
        def start(self):
            note(watch.begin, self, sys._getframe(1).f_code.co_name)

        def stop_and_update_metrics(self, metrics=None):
            note(watch.end, self, sys._getframe(1).f_code.co_name)

    return QuietTracker


def note(act, tracker, caller):
    try:
        if caller in tracker.stages:
            act(tracker, tracker.stages[caller])
    except Exception:  # the training must not see it
        pass


def after_init(kind, act):
    original = kind.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        try:
            act(self)
        except Exception:  # the training must not see it
            pass

    kind.__init__ = __init__


def ahead(kind, name, act):
    """Has act called ahead of each call of a method."""
    original = getattr(kind, name)

    @functools.wraps(original)
    def noted(*args, **kwargs):
        try:
            act()
        except Exception:  # the training must not see it
            pass
        return original(*args, **kwargs)

    setattr(kind, name, noted)


def keep(items, item):
    items.append(item)
    del items[:-KEPT]


def reading(memory, device=None):
    """The device that the program uses now, and its counters; neither before CUDA has started."""
    if not memory.started():
        return device, None
    if device is None:
        device = sys.modules["torch.cuda"].current_device()
    return device, memory.counters(device)


def named(stages, unfinished):
    """The stages' figures under the keys that the Trainer's tracker reports them with."""
    figures = {}
    for name, found in stages.items():
        # CUDA that had not started by the end of a stage held nothing in it.
        found = found or {"begin": 0, "alloc": 0, "peaked": 0}
        if name == "init":
            figures["before_init_mem_gpu"] = found["begin"]
        figures[name + "_mem_gpu_alloc_delta"] = found["alloc"]
        figures[name + "_mem_gpu_peaked_delta"] = found["peaked"]
    for name in unfinished:
        gap = {"gap": "the stage %s did not end" % name}
        figures.setdefault(name + "_mem_gpu_alloc_delta", gap)
        figures.setdefault(name + "_mem_gpu_peaked_delta", gap)
    if "init" in unfinished:
        figures["before_init_mem_gpu"] = unfinished["init"].start
    return figures


def final(history):
    """The metrics with which training ended: the last entry that has the mean loss."""
    for entry in reversed(history):
        if "train_loss" in entry:
            return {key: value for key, value in entry.items() if key != "step"}
    return {}
