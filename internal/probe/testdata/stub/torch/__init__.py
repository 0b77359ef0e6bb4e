"""A stand-in for torch: an allocator that only counts, on two devices."""

__version__ = "2.11.0+stub"


class OutOfMemoryError(RuntimeError):
    pass


from . import _C, cuda, version  # noqa: E402
