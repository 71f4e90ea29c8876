"""Convolutions of images that are spread over ranks, with PyTorch: each rank holds a tile of every image.

    tempi run -- mpirun -n 4 python examples/convolution_torch.py

A 3 x 3 convolution needs one pixel of each neighbouring tile. tempi.HaloExchange brings them, from tensor to
tensor, in GPU memory if PyTorch finds a GPU.
"""

import tempi  # before mpi4py: this switches TEMPI on
from mpi4py import MPI

try:
    import torch
except ImportError as error:
    raise SystemExit("this example needs PyTorch: pip install torch") from error

IMAGES, CHANNELS, HEIGHT, WIDTH, LAYERS = 2, 8, 64, 96, 3


def device_of_rank(comm: MPI.Intracomm) -> torch.device:
    """The ranks of a node take its GPUs in turn."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    number = node.rank % torch.cuda.device_count()
    node.Free()
    return torch.device("cuda", number)


def convolved(comm: MPI.Intracomm, tile: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    """All layers. At the rim of the images the ghost pixels stay 0, as padding of a convolution does."""
    dims = MPI.Compute_dims(comm.size, 2)
    padded = torch.nn.functional.pad(tile, (1, 1, 1, 1))
    with tempi.HaloExchange(comm, padded, width=1, dims=dims, axes=(2, 3)) as exchange:
        for weight in weights:
            exchange.start()  # waits for the tensor's stream
            exchange.finish()
            padded[:, :, 1:-1, 1:-1] = torch.relu(torch.nn.functional.conv2d(padded, weight))
    return padded[:, :, 1:-1, 1:-1]


def main() -> None:
    torch.set_grad_enabled(False)
    comm = MPI.COMM_WORLD
    device = device_of_rank(comm)
    torch.manual_seed(1)  # the same numbers on all ranks
    images = torch.randn(IMAGES, CHANNELS, HEIGHT, WIDTH, dtype=torch.float64).to(device)
    weights = [
        torch.randn(CHANNELS, CHANNELS, 3, 3, dtype=torch.float64).to(device) / 6 for _ in range(LAYERS)
    ]
    rows, columns = tempi.Decomposition((HEIGHT, WIDTH), MPI.Compute_dims(comm.size, 2)).block(comm.rank)
    found = convolved(comm, images[:, :, rows, columns], weights)

    expected = images
    for weight in weights:
        expected = torch.relu(torch.nn.functional.conv2d(expected, weight, padding=1))
    torch.testing.assert_close(found, expected[:, :, rows, columns])
    comm.Barrier()
    if comm.rank == 0:
        print(f"{comm.size} ranks on {device.type} compute the same images as one rank")


if __name__ == "__main__":
    main()
