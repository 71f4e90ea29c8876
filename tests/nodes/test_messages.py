"""Messages and halo exchanges between hosts: every kind of memory, by every strategy, against the oracle."""

from itertools import permutations, product

import calls_worker
import cluster
import halo_worker
import pytest
from halo_strategies import halos
from hypothesis import given
from hypothesis import strategies as st

from support.effort import IS_QUICK, examples
from support.messages import KINDS, make_end

FAKE = {"TEMPI_DEVICE": "fake"}
COUNTS = (3, 500, 60_000)  # 12 bytes to 240 kB: sent at once, and by rendezvous
PAIRS = [(kind, kind) for kind in KINDS] if IS_QUICK else list(permutations(KINDS, 2))


@pytest.fixture(scope="module")
def pair(two_hosts):
    jobs = {}

    def find(**options):
        key = tuple(sorted(options.items()))
        if key not in jobs or not jobs[key].alive:
            jobs[key] = cluster.job(two_hosts, 1, FAKE | options)
        return jobs[key]

    yield find
    for job in jobs.values():
        job.close()


@pytest.mark.parametrize("strategy", ["auto", "oneshot", "staged"])
@pytest.mark.parametrize("count", COUNTS)
def test_derived_datatypes_between_hosts(pair, strategy, count, drawn):
    cases = []
    for kinds, maker in product(PAIRS, ("vector", "indexed")):
        sent, received = (make_end(kind, maker, "INT", count, drawn) for kind in kinds)
        cases.append(calls_worker.Case("Isend", "Irecv", sent, received, "INT"))
    calls_worker.check_all(pair(TEMPI_STRATEGY=strategy), calls_worker.transfer, cases)


@examples(10, shrinks=False)
@given(data=st.data())
def test_halo_exchange_on_four_ranks_of_two_hosts(four, data):
    four.call(halo_worker.exchange, data.draw(halos(4, kinds=KINDS)))


@pytest.fixture(scope="module", params=[False, True], ids=["block", "cyclic"])
def four(request, two_hosts):
    with cluster.job(two_hosts, 2, FAKE | {"TEMPI_NO_DIRECT": "0"}, cyclic=request.param) as job:
        yield job
