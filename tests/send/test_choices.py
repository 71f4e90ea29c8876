"""The strategy that the shim chooses for a message, the location that it takes a peer to have, and its report."""

import calls_worker as worker
import pytest
from choices_worker import rows_of_one_message

from support import needs
from support.messages import make_end
from support.ranks import Ranks

pytestmark = needs.fake_device("takes a library to be CUDA-aware that need not be")

# Device messages to the same node take no time, host messages 1 ms, device messages to another node 1 s.
PROFILE = """tempi-fit 1
host -
gpu fake
term pack.device 0 1e-6 0 0 0 0
term unpack.device 0 2e-6 0 0 0 0
term pack.oneshot 0 1e-6 0 0 0 0
term unpack.oneshot 0 1e-6 0 0 0 0
term message.device.same_gpu 0 1e-6 0 0 0 0
term message.device.other_gpu 0 1e-6 0 0 0 0
term message.device.other_node 0 1 0 0 0 0
term message.host.same_gpu 0 1e-3 0 0 0 0
term message.host.same_node 0 1e-3 0 0 0 0
term message.host.other_node 0 1e-3 0 0 0 0
end 13
"""

BY_DEVICE, BY_HOST = "taken: device (packed in device memory)", "taken: oneshot (packed in pinned host memory)"


def counted(count):
    """The launcher's number of ranks on the node. One that does not fit its list of ranks is not believed."""
    return {rank: {"OMPI_COMM_WORLD_LOCAL_SIZE": count, "MPI_LOCALNRANKS": count} for rank in (0, 1)}


# Several real nodes: tests/nodes.
NODES = {
    "as launched": ({}, BY_DEVICE),
    "two of one node": (counted("2"), BY_DEVICE),
    "no count, but the list": (counted(""), BY_DEVICE),
    "one of each node, against the list": (counted("1"), BY_HOST),
}


@pytest.mark.parametrize("nodes", NODES)
def test_the_launcher_tells_where_the_peer_is(nodes, tmp_path, drawn):
    special, expected = NODES[nodes]
    path = tmp_path / "machine.fit"
    path.write_text(PROFILE)
    sent, received = (make_end("device", "vector", "INT", 500, drawn) for _ in "01")
    case = worker.Case("Send", "Recv", sent, received, "INT")
    environment = {"TEMPI_DEVICE": "fake", "TEMPI_CUDA_AWARE": "1", "TEMPI_PROFILE": str(path), "TEMPI_REPORT": "1"}
    with Ranks(2, environment, special) as job:
        sender, receiver = job.call(rows_of_one_message, case)
    for rows, side, predicted_s in (
        (sender, "packing", 1e-6),
        (receiver, "unpacking", 2e-6 if expected == BY_DEVICE else 1e-6),
    ):
        (row,) = (row for row in rows if row.function == side)
        assert row.outcome == expected
        assert row.seconds > 0
        assert row.predicted_seconds == pytest.approx(row.calls * predicted_s)
