"""The peer of a message is the process that its rank stands for in its communicator, and in no other.

By the profile of these tests our packer takes messages to the sending process itself, and the library all others: the
outcome tells which process the sender took its peer for.
"""

import peers_worker as worker
import pytest
from test_host_choices import LIBRARYS, OURS, job, profile

from support import needs

pytestmark = needs.fake_device("there is no GPU in these programs")

TO_ITSELF, TO_ANOTHER = OURS, LIBRARYS


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    path = profile(tmp_path_factory.mktemp("profile"), "ours", peers=("self",))
    with job(path, path) as ranks:
        yield ranks


def test_peers_of_the_world(two):
    assert two.call(worker.in_world) == [(TO_ITSELF, TO_ANOTHER)] * 2


def test_a_communicator_under_a_used_handle_is_resolved_anew(two):
    """The first one is freed, with the cached peers of its ranks."""
    assert two.call(worker.same_handle_and_rank) == [(TO_ANOTHER, TO_ITSELF)] * 2


def test_a_copy_of_a_communicator_is_resolved_for_itself(two):
    assert two.call(worker.of_a_copy) == [(TO_ITSELF, TO_ITSELF)] * 2


def test_a_rank_of_an_intercommunicator_is_of_the_remote_group(two):
    assert two.call(worker.of_remote_group) == [TO_ANOTHER] * 2
