"""Every call that completes requests, over random sets of them, against the same program in plain host memory.

A request's error, status and data are what the standard says, or what the library says of it in host memory.
"""

import completion_cases_worker as cases
import completion_worker as worker
import pytest
import ways
from completion_plan import OF_ARRAYS, QUERIES, Item, Plan, Round, plan
from completion_worker import Told
from mpi4py import MPI
from test_direct import DIRECT

from support import effort
from support.defects import fails_of_completed_files, frees_pending_file_requests, library_name
from support.ranks import RanksFailed

N_PLANS = effort.scaled(400)
SHIMS = {
    "packed": {"TEMPI_DEVICE": "fake"},
    "direct": DIRECT,
    "bounce buffers": DIRECT | {"TEMPI_MATCH_TIMEOUT": "50000", "TEMPI_BOUNCE_SPAN": "1"},
}


def standard(the_plan, n, i):
    """What a completing call says of a request; None: the standard leaves it open."""
    item = the_plan.items[i]
    if item.is_too_long(n):
        return Told(MPI.ERR_TRUNCATE, None, None, None, False)
    if item.what == "recv":
        return Told(MPI.SUCCESS, 0, i, item.sent[n], False)
    if item.is_file:
        return Told(MPI.SUCCESS, None, None, item.room, None)
    return Told(MPI.SUCCESS, None, None, None, False)


EMPTY = Told(MPI.SUCCESS, MPI.ANY_SOURCE, MPI.ANY_TAG, 0, False)
UNTOLD = Told(MPI.SUCCESS, None, None, None, False)


def defects(the_plan, n, i):
    """What else MPICH says of a persistent request: a query ends it, and MPI_Waitsome sets no error of it.

    Whether it says so depends on when a message arrives.
    """
    item, the_round = the_plan.items[i], the_plan.rounds[n]
    names = {*the_round.before, the_round.query, the_round.completion}
    if library_name() != "mpich" or not item.persistent:
        return []
    ended = [EMPTY] if names & {*QUERIES} else []
    return ended + ([UNTOLD] if names & {"Waitsome", "Testsome"} and item.is_too_long(n) else [])


def may_be_untold(the_plan, n, i):
    """MPICH's queries tell of an error. Open MPI's Waitany and Testany free all receives in error, and tell of one."""
    item, the_round = the_plan.items[i], the_plan.rounds[n]
    is_beside = any(k != i and one.lives_in(n) and one.is_too_long(n) for k, one in enumerate(the_plan.items))
    frees = library_name() == "openmpi" and {*the_round.before, the_round.completion} & {"Waitany", "Testany"}
    return EMPTY in defects(the_plan, n, i) or (frees and is_beside and item.is_too_long(n) and not item.persistent)


def agrees(told, wanted, of_error):
    fields = ("error",) if of_error else Told._fields
    return all(getattr(wanted, name) in (None, getattr(told, name)) for name in fields)


def differences(the_plan, ours, plain):
    """Of the outcome with the shim, one line each. After an error a status tells only that."""
    found = [f"the data of {key} have not arrived" for key, has in ours.moved.items() if not has]
    for key, tellings in ours.told.items():
        wanted, by_library = standard(the_plan, *key), plain.told.get(key, [])
        of_error = wanted.error != MPI.SUCCESS
        found += [
            f"round {key[0]}, item {key[1]}: {told}, not {wanted}, nor {by_library}"
            for told in tellings
            if not any(agrees(told, one, of_error) for one in (wanted, *by_library, *defects(the_plan, *key)))
        ]
    untold = [key for key in plain.told if key not in ours.told and not may_be_untold(the_plan, *key)]
    return found + [f"{key} is never told complete" for key in untold]


def in_host_memory(ranks, the_plan):
    """The outcome without the shim; None: the library dies (Open MPI writes what is too long behind the buffer)."""
    try:
        return ranks(2, preload=False).call(worker.run, the_plan, True)
    except RanksFailed:
        return None


def has_files_beside_errors(the_plan):
    is_too_long = any(item.is_too_long(n) for n in range(len(the_plan.rounds)) for item in the_plan.items)
    return is_too_long and any(item.is_file for item in the_plan.items)


def check(ranks, options, seeds):
    with_shim = ranks(2, **options)
    handlers, known = {}, set()
    for seed in seeds:
        the_plan = seed if isinstance(seed, Plan) else plan(seed)
        if frees_pending_file_requests() and has_files_beside_errors(the_plan):
            continue
        plain = in_host_memory(ranks, the_plan)
        if plain is None:
            continue
        ours = with_shim.call(worker.run, the_plan, False)
        found = [line for rank in (0, 1) for line in differences(the_plan, ours[rank], plain[rank])]
        assert not found, "\n".join([*found, repr(the_plan)])
        known.update(plain[1].handlers)
        handlers |= dict.fromkeys(ours[1].handlers, the_plan)
    functions = {function for function, _, _ in known}
    for called, the_plan in handlers.items():
        is_known = called in known or is_standard(*called) or called[0] not in functions
        assert is_known, f"{called} with the shim, {known} without\n{the_plan}"


def is_standard(function, whose, error_class):
    """A communicator of the requests is told of their errors. (Queries ask about each of our requests by itself.)"""
    is_of_array = function in OF_ARRAYS
    is_told_so = whose in ("own", "of the set") and (error_class == MPI.ERR_IN_STATUS) == is_of_array
    return is_told_so or function in QUERIES


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", SHIMS)
def test_random_sets_of_requests(ranks, drawn, options):
    check(ranks, SHIMS[options], [drawn.getrandbits(32) for _ in range(N_PLANS)])


# ---- by name


def a_receive(room, sent, is_early):
    return Item("recv", False, "device", "device 1", "a", room, True, (sent,), (is_early,), -1)


@pytest.mark.parametrize("has_handler", [False, True], ids=["MPI_ERRORS_RETURN", "a handler that returns"])
@pytest.mark.parametrize("options", SHIMS)
def test_a_receive_that_testall_leaves_beside_one_in_error(ranks, options, has_handler):
    """MPICH's MPI_Testall tells that the second is complete, and leaves its request: the third is not sent yet."""
    items = (a_receive(1000, 2000, True), a_receive(1000, 1000, True), a_receive(1000, 1000, False))
    the_round = Round(posts_first=True, starts_together=False, before=("Testall",) * 3, query="", completion="Waitall")
    check(ranks, SHIMS[options], [Plan(0, has_handler, items, (the_round,))] * 10)


FAKE = {"TEMPI_DEVICE": "fake"}
BOUNCED = SHIMS["bounce buffers"]
WAYS = [way for way in ways.COMPLETIONS if not way.startswith("Request_get_status")]


@pytest.mark.parametrize("kind", ["device", "managed"])
@pytest.mark.parametrize("way", WAYS)
def test_file_requests_are_completed_by_every_call(ranks, way, kind):
    if way in fails_of_completed_files():
        pytest.skip(f"MPI_{way} of file requests fails now and then in host memory, too, with this library")
    ranks(2, **FAKE).call(cases.files, kind, way, False)


@pytest.mark.parametrize("way", ["Wait", "Test", "Waitall", "Waitany", "Testany", "Waitsome", "Testsome"])
def test_file_requests_are_completed_after_a_query(ranks, way):
    ranks(2, **FAKE).call(cases.files, "device", way, True)


@pytest.mark.parametrize("way", ["Waitsome", "Testsome"])
def test_a_persistent_receive_beside_a_file_request(ranks, way):
    ranks(2, **FAKE).call(cases.file_beside_receive, "device", way)


@pytest.mark.parametrize("returns", [True, False], ids=["MPI_ERRORS_RETURN", "a handler that returns"])
@pytest.mark.parametrize("way", ["Waitall", "Testall"])
def test_persistent_receives_beside_one_in_error(ranks, way, returns):
    for kind in ("device", "managed", "host"):
        for bad in range(3):
            ranks(2, **FAKE).call(cases.one_too_long, kind, way, bad, returns)


@pytest.mark.parametrize("n_ints", [1000, 80_000])
@pytest.mark.parametrize("recv", ["Irecv", "Recv_init"])
@pytest.mark.parametrize("way", ["Wait", "Test", "Waitany", "Waitall", "Waitsome"])
def test_the_handler_of_a_message_that_is_too_long(ranks, recv, way, n_ints):
    """For bounce buffers and managed memory the one that host memory has, with its code."""
    [_, expected] = ranks(2, preload=False).call(cases.too_long, "host", "host", recv, way, n_ints)
    for kind in ("device", "managed"):
        for sender in ("host", "device 1"):
            [_, found] = ranks(2, **BOUNCED).call(cases.too_long, kind, sender, recv, way, n_ints)
            assert found == expected, (kind, sender)


@pytest.mark.parametrize("options", [FAKE, DIRECT], ids=["packed", "direct"])
@pytest.mark.parametrize("way", ["Waitany", "Testany"])
def test_requests_that_the_library_frees_untold(ranks, way, options):
    """Open MPI gives their handles to later receives, here of host memory, which are not ours."""
    for _ in range(3):
        ranks(2, **options).call(cases.two_too_long, "device", way)


@pytest.mark.parametrize("options", [FAKE, DIRECT], ids=["packed", "direct"])
@pytest.mark.parametrize("way", ["Waitsome", "Testsome"])
def test_a_receive_arrives_beside_a_send_that_is_always_complete(ranks, way, options):
    ranks(2, **options).call(cases.arrived_beside_a_complete_send, "device", way)
