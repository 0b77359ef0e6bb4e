"""Writes JSON files whole, without the json module, which costs more to load than all else here."""

import os

SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def replace(folder, name, text):
    """Puts the file in its place in one step: a reader sees the old one or the new one."""
    draft = os.path.join(folder, "." + name + ".draft")
    with open(draft, "wb", 0) as file:
        file.write(text.encode("ascii"))
    os.replace(draft, os.path.join(folder, name))


def encode(value):
    """JSON of what records are made of. A number that is not finite becomes a string."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, dict):
        return "{" + ", ".join(string(str(k)) + ": " + encode(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(encode(v) for v in value) + "]"
    # A tensor's value is not asked for: that would wait for the device.
    return string("<" + type(value).__name__ + ">")


def number(value):
    finite = value - value == 0
    return float.__repr__(value) if finite else string(float.__repr__(value))


def string(text):
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return '"' + text + '"'
    return '"' + "".join(character(c) for c in text) + '"'


def character(c):
    code = ord(c)
    if c in SHORT:
        return SHORT[c]
    if 0x20 <= code < 0x7F:
        return c
    if code > 0xFFFF:
        code -= 0x10000
        return "\\u%04x\\u%04x" % (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
    return "\\u%04x" % code
