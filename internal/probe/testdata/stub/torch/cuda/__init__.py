import torch._C

from .memory import *  # noqa: F403 - as torch does

_started = False


def start():
    global _started
    torch._C._cuda_init()
    _started = True


def is_initialized():
    return _started


def must_have_started():
    if not _started:
        raise SystemExit("CUDA was started from outside the program")


def device_count():
    return 2


def current_device():
    must_have_started()
    return 0


class Properties:
    def __init__(self, index):
        self.name, self.total_memory = "Stub 80GB", 80 << 30
        self.uuid = "00000000-0000-0000-0000-00000000000%d" % index


def get_device_properties(index):
    must_have_started()
    return Properties(index)
