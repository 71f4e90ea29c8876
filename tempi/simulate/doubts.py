"""The limits of a simulation of recorded messages, as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from tempi._words import counted
from tempi.simulate.timelines import Recorded


def doubts_of(found: Recorded) -> Iterator[str]:
    """The limits of a simulation of these timelines, each as a sentence."""
    if found.n_left_out:
        left_out = counted(found.n_left_out, "message")
        yield (
            f"Not simulated: {left_out} of host memory. --memory host simulates all messages, as "
            "messages of host memory"
        )
    if found.without_timeline:
        first = found.without_timeline[0]
        yield (
            f"Not simulated: the messages that {counted(len(found.without_timeline), 'rank')} "
            f"(rank {first}{', ...' if len(found.without_timeline) > 1 else ''}) sent. Their timelines are "
            "missing: name all timelines of the job"
        )
    if found.n_of_library:
        sends = counted(found.n_of_library, "recorded send")
        yield (
            f"The MPI library carried out {sends}. Most later messages with the same datatype are not in the "
            "timelines, and are not simulated"
        )
    if found.n_without_send:
        receives = counted(found.n_without_send, "recorded receive")
        yield (
            f"Not simulated: the messages of {receives} whose sends are not in the timelines. TEMPI does not "
            "record all sends that the MPI library carries out, such as sends of contiguous memory"
        )
    if found.n_without_receive:
        sends = counted(found.n_without_receive, "recorded send")
        yield (
            f"Without a receive in the timelines: {sends}. The simulated receiver has the datatype of the "
            "sender"
        )
    if not found.has_waits:
        yield (
            "The timelines have no waits. All messages of a rank start at the same time in this simulation, "
            "also those of blocking calls that the MPI library carried out"
        )
