"""Made-up clusters and profiles whose times are known by hand."""

import numpy as np

from tempi import _native
from tempi.model.machine import Machine
from tempi.model.profile import fit_text
from tempi.model.terms import Segment, Term
from tempi.simulate.messages import Messages
from tempi.simulate.network import network_of

LATENCY_US, RAIL_GB_PER_S = 5.0, 10.0
LAUNCH_S, PACK_PER_BYTE, NEAR_PER_BYTE, NEAR_LATENCY_S = 7e-6, 1e-12, 2e-12, 3e-6


def network(**changes):
    """One rank and one rail a node, no switches."""
    one = {
        "name": "made up", "about": "", "ranks_per_node": 1, "gpus_per_node": 1, "rails": 1,
        "rail_gb_per_s": RAIL_GB_PER_S, "latency_us": LATENCY_US, "topology": {"kind": "crossbar"}, "profile": "-",
    }  # fmt: skip
    return network_of(one | changes, "a test")


def line(latency, per_byte=0.0, per_block=0.0):
    return Term((Segment(0, latency, per_byte, per_block, 0.0, 0.0),))


TERMS = {
    "launch": line(LAUNCH_S),
    "pack.device": line(LAUNCH_S, PACK_PER_BYTE),
    "unpack.device": line(LAUNCH_S, PACK_PER_BYTE),
    "pack.oneshot": line(LAUNCH_S, 20 * PACK_PER_BYTE),
    "unpack.oneshot": line(LAUNCH_S, 20 * PACK_PER_BYTE),
    "message.host.same_node": line(1e-6, 1e-10),
    "message.device.other_gpu": line(NEAR_LATENCY_S, NEAR_PER_BYTE),
    "message.device.same_gpu": line(NEAR_LATENCY_S, NEAR_PER_BYTE),
}


def fit(cuda_aware=True, gpu="Imagined GPU", terms=TERMS):
    machine = Machine("nowhere", gpu, 2, "1.2", "An MPI 3.4", cuda_aware)
    return _native.read_fit(fit_text(machine, terms, {}))


def messages(*rows, blocks=1, contiguous=True):
    """Messages from (source, target, bytes)."""
    source, target, n_bytes = np.array(rows, np.int64).reshape(-1, 3).T
    ones = np.ones_like(source)
    return Messages(source, target, n_bytes, blocks * ones, n_bytes, ones, (ones == 1) == contiguous, ones == 0)
