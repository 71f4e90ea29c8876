"""Ctrl-C and SIGTERM end a command as shells expect it."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import click

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class _Terminated(BaseException):
    """SIGTERM has come."""


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated


class Interruptible(click.Command):
    """A command that tidies up, and ends its ranks, when a signal ends it; its exit code says so."""

    def invoke(self, ctx: click.Context) -> Any:
        """As in `click.Command`."""
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _terminate)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except _Terminated:
            ctx.exit(TERMINATED)
