"""What one device's allocator did between two points in time, from counters that were not reset for it."""


class Stage:
    """Begins with the counters of a device, or with None where CUDA had not started: all was 0 then."""

    def __init__(self, device, counters):
        self.device = device
        self.start = counters["allocated"] if counters else 0
        self.turnover = counters["turnover"] if counters else 0
        # A peak counter that is no higher than this says nothing about the stage.
        self.blind = counters["allocated_peak"] if counters else 0
        self.hidden = 0  # what the stage may have reached unseen
        self.top = self.start

    def reset(self, device, counters):
        """The program is about to reset the peak counter."""
        if self.device is None:
            self.device = device
        if device == self.device:
            self.see(counters)
            self.blind = 0  # from here on the counter is the stage's own

    def see(self, counters):
        peak = counters["allocated_peak"]
        if peak > self.blind:
            self.top = max(self.top, peak)
        else:
            self.hidden = max(self.hidden, peak)
        self.top = max(self.top, counters["allocated"])
        # Nothing can be higher than what was there and all that was handed out since.
        self.ceiling = self.start + counters["turnover"] - self.turnover

    def end(self, counters):
        """The figures that a memory tracker reports for a stage: alloc and peaked deltas, in bytes."""
        self.see(counters)
        now = counters["allocated"]
        figures = {"begin": self.start, "alloc": now - self.start}
        unseen = min(self.hidden, self.ceiling)
        if unseen <= self.top:
            figures["peaked"] = self.top - now
        else:
            figures["peaked"] = {
                "gap": "torch's peak counter stood higher before this stage: "
                "the stage's peak is between %d and %d bytes" % (self.top, unseen)
            }
        return figures
