"""A process frees enqueued requests to itself while the thread of TEMPI ends their exchange."""

from ordinary_worker import DEVICE, HOST, Ring

from tempi.testing import FakeStream

for _ in range(100):
    ring, stream = Ring([HOST, DEVICE]), FakeStream()
    ring.step(stream)
    ring.step(stream)
    ring.free()
    stream.synchronize()
    ring.check()
print("right")
