"""What a runtime opened, kept usable where processes fork and where a signal handler asks for a score.

A forked child has its parent's memory but only the thread that forked: locks that another thread held stay
locked, and a runtime's own threads are gone, so that it waits for them forever. Here the child lets go of
what its parent had opened and opens it again from the same bytes when it first needs it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mobilebert_runtime.errors import ToolError

_ENGINES: weakref.WeakSet[Engine] = weakref.WeakSet()


class Engine:
    """An interpreter or session, opened by a function that can open it again."""

    def __init__(self, open_it: Callable[[], Any]) -> None:
        self._open = open_it
        self._opened = open_it()
        self._lock = threading.RLock()
        _ENGINES.add(self)

    def get(self) -> Any:
        """What was opened, for callers from several threads at once."""
        opened = self._opened
        if opened is None:
            with self._lock:
                opened = self._opened = self._opened or self._open()
        return opened

    @contextmanager
    def alone(self) -> Iterator[Any]:
        """What was opened, for one caller at a time.

        Raises:
            ToolError: a signal handler interrupted a call of its own thread, which can't go on before it.
        """
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise ToolError(
                "a signal handler asks for a score while its thread computes one; note the signal in the "
                "handler and score after it"
            )
        with self._lock:
            yield self.get()

    def _leave_to_parent(self) -> None:
        if self._opened is not None:
            # Never freed: to free it is to wait for threads that the child does not have.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._opened))
        self._opened = None
        self._lock = threading.RLock()


def _after_fork() -> None:
    for engine in list(_ENGINES):
        engine._leave_to_parent()
    if "onnxruntime" in sys.modules:
        # Its exit handler waits for threads of the parent, so that the child would never end. What is
        # registered last runs first: Python has ended by then, and the child leaves with the status it has.
        # Only glibc has `on_exit`; elsewhere the child has to call `os._exit`.
        libc = ctypes.CDLL(None)
        if hasattr(libc, "on_exit"):
            libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
