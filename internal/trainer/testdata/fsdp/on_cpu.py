"""Runs a script of the Trainer with FSDP on processors alone.

accelerate turns FSDP on for several GPUs only, though torch shards over gloo as well. This
makes it take several processors for several GPUs, and says what part of the weights
each process holds: that is all that stands in for GPUs which are not there.
"""

import runpy
import sys

from accelerate.state import DistributedType, PartialState
from transformers import Trainer

meet, train = PartialState.__init__, Trainer.train


def meet_as_gpus(self, *args, **kwargs):
    meet(self, *args, **kwargs)
    if self.distributed_type == DistributedType.MULTI_CPU:
        self.distributed_type = DistributedType.MULTI_GPU


def train_and_tell(self, *args, **kwargs):
    result = train(self, *args, **kwargs)
    weights = list(self.model_wrapped.parameters())
    held = sum(w.to_local().numel() for w in weights)
    print(f"rank {self.args.process_index} holds {held} of {sum(w.numel() for w in weights)} weights", file=sys.stderr, flush=True)
    return result


PartialState.__init__, Trainer.train = meet_as_gpus, train_and_tell
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
