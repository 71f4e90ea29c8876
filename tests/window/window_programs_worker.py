"""Random programs of a window against a serial model."""

from __future__ import annotations

from typing import Any

import numpy as np
import windows_plan as plans
from mpi4py import MPI
from window_calls import COMM, Attached, Memory, rma

from support import equal
from support.building import Builder
from support.messages import End, Side
from support.p2p import FORMS, PLAIN, Form, Requests
from support.typemap import Bytes, message_map


class Model:
    def __init__(self, plan: plans.Plan) -> None:
        self.windows = [np.arange(plan.n_ints, dtype=np.int32) * (3 + rank) - 50 for rank in range(len(plan.kinds))]
        self.plan = plan

    def places(self, of: plans.Operation, builder: Builder) -> np.ndarray[Any, Any]:
        runs = message_map(*of.at_target, builder.bounds)
        return (runs.byte_offsets()[::4] + of.displacement * self.plan.units[of.target]) // 4

    def apply(self, of: plans.Operation, payload: Bytes, builder: Builder) -> None:
        window, at, values = self.windows[of.target], self.places(of, builder), payload.view(np.int32)
        combine = {"SUM": np.add, "BXOR": np.bitwise_xor, "MAX": np.maximum, "MIN": np.minimum}
        window[at] = combine[of.op](window[at], values) if of.op in combine else values


class Run:
    """One rank's part of a program."""

    def __init__(self, plan: plans.Plan) -> None:
        self.plan, self.model = plan, Model(plan)
        self.me = COMM.Get_rank()

    def run(self) -> int:
        contents = self.model.windows[self.me].view(np.uint8)
        own: Memory | Attached
        if self.plan.is_dynamic:
            own = Attached(self.plan.kinds[self.me], contents, 4 * plans.STRIPE)
            win = own.window()
            self.ranges = COMM.allgather(own.ranges)
        else:
            own = Memory(self.plan.kinds[self.me], contents)
            win = own.window(self.plan.units[self.me])
        n = 0
        COMM.Barrier()
        win.Fence(MPI.MODE_NOPRECEDE | MPI.MODE_NOSUCCEED)
        for epoch in self.plan.epochs:
            with Builder() as builder:
                n += self._epoch(epoch, win, own, builder)
        if isinstance(own, Attached):
            own.detach(win)
        win.Free()
        return n

    def _epoch(self, epoch: plans.Epoch, win: MPI.Win, own: Memory | Attached, builder: Builder) -> int:
        sides: list[tuple[plans.Operation, Side, Side | None]] = []
        form = FORMS[len(epoch.operations[self.me]) % len(FORMS)]
        for of in epoch.operations[self.me]:
            sides.append((of, *self._sides(of, builder)))
        self._synchronised(epoch, win, lambda mine: self._access(mine, win, form, builder), sides)
        self._check_origins(epoch, sides, builder)
        if epoch.writes:
            for origin in range(COMM.Get_size()):
                for of in epoch.operations[origin]:
                    self.model.apply(of, self._sides(of, builder)[0].payload(), builder)
        COMM.Barrier()
        expected = self.model.windows[self.me]
        equal.check(own.read().view(np.int32), expected, str(epoch.synchronisation))
        COMM.Barrier()
        return len(sides)

    def _sides(self, of: plans.Operation, builder: Builder) -> tuple[Side, Side | None]:
        origin = Side(End(of.kind, *of.at_origin, of.seed), builder)
        fetches = "et_accumulate" in of.name and of.result is not None
        return origin, Side(End(of.kind, *of.result, of.seed + 1), builder) if fetches else None

    def _displacement(self, of: plans.Operation) -> int:
        """In a dynamic window, it is the address."""
        if not self.plan.is_dynamic:
            return of.displacement
        (first, n_bytes), (second, _) = self.ranges[of.target]
        return first + of.displacement if of.displacement < n_bytes else second + of.displacement - n_bytes

    def _access(self, mine: Any, win: MPI.Win, form: Form, builder: Builder) -> Requests | None:
        of, origin, result = mine
        op = getattr(MPI, of.op) if of.op else None
        spec, n = of.at_target
        there = (n, builder.build(spec).Commit())
        name = of.name
        if name.startswith("R") and not self.may_have_requests:
            name = name[1:].capitalize()
        fetched = result.piece if result else None
        return rma(form, name, win, origin.piece, of.target, self._displacement(of), there, op, fetched)

    def _check_origins(self, epoch: plans.Epoch, sides: Any, builder: Builder) -> None:
        for of, origin, result in sides:
            before = self.model.windows[of.target][self.model.places(of, builder)].view(np.uint8)
            if result is not None:
                result.check_received(before)
                origin.check_untouched()
            elif "et" in of.name:
                origin.check_received(before)
            else:
                origin.check_untouched()

    def _synchronised(self, epoch: plans.Epoch, win: MPI.Win, access: Any, sides: Any) -> None:
        how = epoch.synchronisation
        self.may_have_requests = how not in ("fence", "post and start")
        if how == "fence":
            win.Fence(0)
            for mine in sides:
                access(mine)
            win.Fence(MPI.MODE_NOSUCCEED)
        elif how == "post and start":
            self._posted(epoch, win, access, sides)
        elif how.startswith("lock") and how != "lock all":
            for mine in sides:
                win.Lock(mine[0].target, MPI.LOCK_EXCLUSIVE if "exclusive" in how else MPI.LOCK_SHARED)
                self._wait(access(mine))
                win.Unlock(mine[0].target)
        else:
            win.Lock_all()
            requests = [(mine, access(mine)) for mine in sides]
            for mine, request in requests:
                if how == "flush":
                    win.Flush(mine[0].target)
                self._wait(request)
            if how == "flush local and all":
                win.Flush_local_all()
                win.Flush_all()
            win.Unlock_all()

    def _wait(self, request: Requests | None) -> None:
        if request is not None:
            PLAIN("Wait", request.at(0), MPI.Status())
            assert request.is_null()

    def _posted(self, epoch: plans.Epoch, win: MPI.Win, access: Any, sides: Any) -> None:
        """Each rank exposes its window to those that access it."""
        group = COMM.Get_group()
        targets = sorted({mine[0].target for mine in sides})
        origins = [rank for rank, ops in enumerate(epoch.operations) if any(of.target == self.me for of in ops)]
        exposed, accessed = group.Incl(origins), group.Incl(targets)
        win.Post(exposed)
        win.Start(accessed)
        for mine in sides:
            access(mine)
        win.Complete()
        win.Wait()
        for made in (group, exposed, accessed):
            made.Free()


def run_dynamic(seeds: list[int], kinds: tuple[str, ...], own_kinds: tuple[str, ...]) -> int:
    return sum(Run(plans.draw_dynamic(seed, COMM.Get_size(), kinds, own_kinds)).run() for seed in seeds)


def run_programs(seeds: list[int], window_kinds: tuple[str, ...], own_kinds: tuple[str, ...]) -> int:
    return sum(Run(plans.draw(seed, COMM.Get_size(), window_kinds, own_kinds)).run() for seed in seeds)
