"""What sampling costs one training process: blocks of steps with a sampler on and off in turn.

usage: disturbance.py TUNEBENCH [--seconds N] [--layers N] [--steps N] [--width PERCENT] [--devices N]

For each sampler it trains in pairs of blocks, one with it and one without, their order
turned from pair to pair, until the 95 % interval of the difference in tokens/s lies
within the width of zero, or the time is used up. Beside it stands the
sampler's CPU time, per sample, from the kernel's own count.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import torch
from transformers import MistralConfig, MistralForCausalLM

from interval import mean_and_half_width

SEQUENCE, BATCH = 1024, 4
PAUSE = 0.5  # seconds before every block: longer than any sampler takes to start


class Nothing:
    name = "nothing (a control: both blocks without)"

    def start(self): pass

    def stop(self): return None


class Tunebench:
    """The sampling process of tunebench, as a run starts it."""

    def __init__(self, binary, milliseconds, devices):
        self.binary, self.milliseconds, self.devices = binary, milliseconds, devices
        self.name = f"tunebench, NVML at {milliseconds} ms, {devices} device(s)"

    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([self.binary, "sample-devices"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        request = {"interval_ns": self.milliseconds * 1_000_000, "dir": self.folder.name, "devices": [{"index": i} for i in range(self.devices)]}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        self.process.stdout.readline()  # the first sample was taken
        self.before = cpu_seconds(self.process.pid)

    def stop(self):
        cpu = cpu_seconds(self.process.pid) - self.before
        self.process.stdin.close()
        last = self.process.stdout.read().splitlines()[-1]
        self.process.wait()
        self.folder.cleanup()
        return cpu, json.loads(last)["final"]["samples"]


class NvidiaSMI:
    """nvidia-smi in a loop, as a run with --source nvidia-smi starts it."""

    def __init__(self, milliseconds):
        self.milliseconds = milliseconds
        self.name = f"nvidia-smi at {milliseconds} ms"

    def start(self):
        self.log = tempfile.NamedTemporaryFile("w+")
        self.process = subprocess.Popen(
            ["nvidia-smi", "--query-gpu=timestamp,name,index,memory.used", "--format=csv", "--id=0",
             f"--loop-ms={self.milliseconds}"], stdout=self.log)
        while len(open(self.log.name).readlines()) < 2:
            time.sleep(0.01)
        self.before, self.rows = cpu_seconds(self.process.pid), len(open(self.log.name).readlines())

    def stop(self):
        cpu = cpu_seconds(self.process.pid) - self.before
        rows = len(open(self.log.name).readlines()) - self.rows
        self.process.terminate()
        self.process.wait()
        return cpu, rows


def cpu_seconds(pid):
    """CPU time of a process from /proc/PID/schedstat of its threads, in nanoseconds there."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                total += int(f.read().split()[0])
        except FileNotFoundError:
            pass
    return total / 1e9


class Training:
    def __init__(self, layers, steps):
        torch.manual_seed(0)
        with torch.device("cuda"):
            torch.set_default_dtype(torch.bfloat16)
            config = MistralConfig(num_hidden_layers=layers, vocab_size=32000)
            self.model = MistralForCausalLM(config)
        self.steps = steps
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)
        self.tokens = torch.randint(0, 32000, (BATCH, SEQUENCE), device="cuda")

    def step(self):
        self.model(input_ids=self.tokens, labels=self.tokens).loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)

    def block(self, pause):
        """Trains one block and returns tokens per second. The pause before it, in which a
        sampler starts or nothing happens, is as long for every block, and two steps that do
        not count bring the clocks back: a device that has rested runs faster for a while."""
        time.sleep(pause)
        for _ in range(2):
            self.step()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(self.steps):
            self.step()
        torch.cuda.synchronize()
        return self.steps * BATCH * SEQUENCE / (time.perf_counter() - began)


def compare(training, sampler, seconds, width):
    differences, cpu, samples, began = [], 0.0, 0, time.monotonic()
    while time.monotonic() - began < seconds:
        with_first = len(differences) % 2 == 0
        speed = {}
        for on in (with_first, not with_first):
            began_block = time.monotonic()
            if on:
                sampler.start()
            speed[on] = training.block(max(0.0, PAUSE - (time.monotonic() - began_block)))
            if on and (used := sampler.stop()):
                cpu, samples = cpu + used[0], samples + used[1]
        differences.append(100 * (speed[True] / speed[False] - 1))
        mean, half = mean_and_half_width(differences)
        if len(differences) >= 10 and abs(mean) + half < width:
            break  # the whole interval lies within the width of zero
    mean, half = mean_and_half_width(differences)
    each = f"{1e6 * cpu / samples:7.0f} us of CPU a sample ({samples} samples)" if samples else ""
    print(f"{sampler.name:42s} {mean:+.3f} % tokens/s, 95 % interval ±{half:.3f}, {len(differences)} pairs of blocks  {each}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tunebench")
    parser.add_argument("--seconds", type=float, default=60, help="at most, for each sampler")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=16, help="in a block")
    parser.add_argument("--width", type=float, default=0.3, help="of zero, in %%, within which the interval must lie")
    parser.add_argument("--devices", type=int, default=1, help="how many the sampler watches; the training is on the first")
    parser.add_argument("--samplers", default="nvml-10,nvml-1,smi-10,nothing", help="which, in order")
    args = parser.parse_args()
    known = {"nvml-10": Tunebench(args.tunebench, 10, args.devices), "nvml-1": Tunebench(args.tunebench, 1, args.devices),
             "smi-10": NvidiaSMI(10), "nothing": Nothing()}
    samplers = [known[name] for name in args.samplers.split(",")]
    training = Training(args.layers, args.steps)
    for _ in range(5):
        training.block(PAUSE)  # warm up
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {args.layers} layers of the Mistral-7B shape, "
          f"{BATCH} x {SEQUENCE} tokens, blocks of {args.steps} steps, {training.block(PAUSE):.0f} tokens/s")
    for sampler in samplers:
        compare(training, sampler, args.seconds, args.width)


if __name__ == "__main__":
    sys.exit(main())
