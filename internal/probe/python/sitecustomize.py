"""Starts tunebench's probe in this process, then the sitecustomize that this one hides.

Python imports the first sitecustomize on its path at every start. This file is kept to
what every Python can read, whatever its version, and leaves the process as it would be
without it: its folder leaves sys.path, and the next sitecustomize is imported in its
place, with the errors that it would have raised, or with the ImportError that says that
there is none, which Python expects.
"""

import os
import sys


def begin():
    folder = os.environ.get("TUNEBENCH_PROBE_DIR")
    if not folder or sys.version_info < (3, 8):
        return
    # Compiled copies go beside the probe's own files even where the user wants none:
    # to compile them anew at each start would cost more than all that they do.
    wanted, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        import tunebench_probe

        tunebench_probe.start(folder)
    except Exception:  # whatever it is, the training must not see it
        pass
    finally:
        sys.dont_write_bytecode = wanted


def step_aside(here):
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    sys.modules.pop("sitecustomize", None)


_here = os.path.dirname(os.path.abspath(__file__))
begin()
step_aside(_here)

import sitecustomize  # noqa: E402 - the next one
