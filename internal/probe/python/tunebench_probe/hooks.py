"""Calls a function once a module has been imported, and costs nothing else.

A finder in front of the others answers None for every name but the awaited ones. For
those it lets the others find, and steps in between the module's execution and its
first use. The loader stays the one that was found: whoever asks it for source gets it.
"""

import sys


def after(name, act):
    """Has act(module) called right after the module was executed, now if it was before."""
    module = sys.modules.get(name)
    if module is not None:
        act(module)
        return
    finder().awaited[name] = act


def finder():
    for found in sys.meta_path:
        if isinstance(found, Finder):
            return found
    made = Finder()
    sys.meta_path.insert(0, made)
    return made


class Finder:
    def __init__(self):
        self.awaited = {}

    def find_spec(self, name, path=None, target=None):
        if name not in self.awaited:
            return None
        act = self.awaited.pop(name)
        if not self.awaited and self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = next_spec(self, name, path, target)
        if spec is None:
            self.awaited[name] = act
            return None
        try:
            extend(spec.loader, name, act)
        except Exception:  # a loader that cannot be extended: the module goes unwatched
            pass
        return spec


def next_spec(own, name, path, target):
    for other in list(sys.meta_path):
        find = getattr(other, "find_spec", None)
        if other is own or find is None:
            continue
        spec = find(name, path, target)
        if spec is not None:
            return spec
    return None


def extend(loader, name, act):
    """Has act called after this loader's execution of the module of that name."""
    execute = loader.exec_module

    def exec_module(module):
        if module.__name__ != name:  # a loader that serves many modules
            return execute(module)
        del loader.exec_module
        execute(module)
        try:
            act(module)
        except Exception:  # the training must not see it
            pass

    loader.exec_module = exec_module
