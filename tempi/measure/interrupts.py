"""Ctrl-C ends a command as shells expect it."""

from __future__ import annotations

import signal
from typing import Any

import click

INTERRUPTED = 128 + signal.SIGINT


class Interruptible(click.Command):
    """A command that has tidied up when Ctrl-C ends it, and then says so by its exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """As in `click.Command`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
