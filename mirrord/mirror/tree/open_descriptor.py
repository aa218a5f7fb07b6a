"""A file descriptor that is closed with the block that uses it."""

import os


class OpenDescriptor:
    """A descriptor that is closed at the end of its `with`. A generator would be a dozen times slower."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
