"""Notes what a Python process knows about itself, for tunebench.

At the start it leaves a small file, which is refreshed while CUDA runs, so that a process
which is killed leaves what was known; at the exit the whole. It imports nothing that Python has not loaded by then,
prints nothing, touches no signal, and never starts CUDA: what it knows about torch and
the Trainer it reads once they are there (parts torch_part and trainer_part).
"""

import sys


def start(folder):
    """Begins the record of this process in that folder."""
    from . import hooks, record

    process = record.Record(folder)
    process.watch()
    hooks.after("torch.cuda.memory", lambda module: torch_loaded(process))
    hooks.after("transformers.trainer_utils", lambda module: tracker_loaded(process, module))
    hooks.after("transformers.trainer_callback", lambda module: state_loaded(process, module))
    process.write()


def torch_loaded(process):
    from . import torch_part

    process.memory = torch_part.Memory(sys.modules["torch._C"])
    process.memory.watch_resets()
    process.memory.watch_start(process.keep_fresh)
    process.parts.append(process.memory.describe)
    process.write()


def tracker_loaded(process, module):
    trainer(process).watch_trackers(module.TrainerMemoryTracker)


def state_loaded(process, module):
    trainer(process).watch_states(module.TrainerState)
    trainer(process).watch_training(module.CallbackHandler)


def trainer(process):
    """The part that watches the Trainer, made when first asked for."""
    from . import trainer_part

    if process.trainer is None:
        process.trainer = trainer_part.Watch(process)
        process.parts.append(process.trainer.describe)
    return process.trainer
