"""Each program of examples/ that the documentation shows, as its reader runs it. heat.py: halo/test_heat_example.py."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support import gpu_memory, needs, shim
from support.outcomes import rows_of_report
from support.programs import compiled, mpicc, mpirun, run, succeed

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("examples")


def run_python(n_ranks, name, environment, *arguments):
    return mpirun(n_ranks, sys.executable, environment, EXAMPLES / name, *arguments)


# GCC takes MPI_STATUSES_IGNORE for a short array in calls that mpi.h of MPICH 4.0 declares with arrays.
OF_ARRAYS = "-Wno-stringop-overflow"


def outcomes(errors, function):
    return {outcome for (name, outcome), _ in rows_of_report(errors).items() if name == function}


@pytest.mark.parametrize("n_ranks", [1, 4])
@pytest.mark.parametrize("environment", [shim.clean_environment, shim.preloaded], ids=["library", "tempi"])
def test_the_c_halo_is_right(folder, n_ranks, environment):
    program = compiled(mpicc(), EXAMPLES / "halo.c", folder, "-std=c99", "-Wall", "-Werror", OF_ARRAYS)
    assert "0 wrong cells" in mpirun(n_ranks, program, environment()).out


def cuda_halo(folder):
    toolkit = needs.cuda_headers().parent
    options = ["-DWITH_CUDA", f"-I{toolkit}/include", f"-L{toolkit}/lib64", "-lcudart", f"-Wl,-rpath,{toolkit}/lib64"]
    (folder / "cuda").mkdir(exist_ok=True)
    return compiled(mpicc(), EXAMPLES / "halo.c", folder / "cuda", *options)


def test_the_c_halo_compiles_for_gpus(folder):
    cuda_halo(folder)


@pytest.mark.gpu
@needs.gpus(1)
def test_the_c_halo_is_right_in_gpu_memory(folder):
    done = mpirun(2, cuda_halo(folder), shim.preloaded(TEMPI_NO_DIRECT="0", TEMPI_REPORT="1"))
    assert "0 wrong cells" in done.out
    assert any(outcome.startswith("taken") for outcome in outcomes(done.err, "MPI_Isend"))


def stream_example(folder, name="stream.c"):
    toolkit = needs.cuda_headers().parent
    options = [f"-I{toolkit}/include", f"-L{toolkit}/lib64", "-lcudart", f"-Wl,-rpath,{toolkit}/lib64"]
    return compiled(mpicc(), EXAMPLES / name, folder, f"-I{EXAMPLES.parent}/include", "-ldl", *options)


@pytest.mark.parametrize("name", ["stream.c", "enqueue.c"])
def test_the_stream_examples_compile(folder, name):
    stream_example(folder, name)


@pytest.mark.gpu
@needs.gpus(1)
def test_the_enqueue_example_is_right(folder):
    done = mpirun(2, stream_example(folder, "enqueue.c"), shim.preloaded(TEMPI_NO_DIRECT="0"))
    assert "2 ranks, 1000 rounds" in done.out
    assert "0 wrong bytes" in done.out


@pytest.mark.gpu
@needs.gpus(1)
def test_the_stream_example_is_right(folder):
    done = mpirun(2, stream_example(folder), shim.preloaded(TEMPI_NO_DIRECT="0", TEMPI_REPORT="1"))
    assert "2 ranks, 50 rounds, 0 wrong bytes" in done.out


@pytest.mark.parametrize("n_ranks", [1, 4])
@pytest.mark.parametrize("environment", [shim.clean_environment, shim.preloaded], ids=["library", "tempi"])
def test_the_fortran_halo_is_right(folder, n_ranks, environment):
    program = compiled(needs.fortran_compiler(), EXAMPLES / "halo.f90", folder)
    assert "0 wrong cells" in mpirun(n_ranks, program, environment()).out


def test_heat_with_numpy():
    assert "the same temperatures" in run_python(4, "heat_numpy.py", shim.clean_environment()).out


@pytest.mark.parametrize("environment", [shim.clean_environment, shim.preloaded], ids=["library", "tempi"])
def test_staggered_grid(environment):
    assert "the same waves as one rank; the adjoint is exact" in run_python(4, "staggered.py", environment()).out


def test_life_with_cupy():
    """Without a GPU or CuPy on the fake device, with a stand-in for CuPy."""
    environment = shim.preloaded(TEMPI_REPORT="1")
    if gpu_memory.gpu_count() == 0 or not find_spec("cupy"):
        environment |= {"TEMPI_DEVICE": "fake", "PYTHONPATH": str(HERE / "stand_in")}
    done = run_python(2, "life_cupy.py", environment)
    assert "play the same game" in done.out
    assert any(outcome.startswith("taken") for outcome in outcomes(done.err, "MPI_Sendrecv"))


@needs.torch()
def test_convolution_with_torch():
    assert "the same images" in run_python(2, "convolution_torch.py", shim.preloaded()).out


@pytest.mark.parametrize(
    ("name", "module", "words"),
    [
        ("gradients.py", "cupy", "this example needs CuPy: pip install cupy-cuda12x, or use --numpy"),
        ("life_cupy.py", "cupy", "this example needs CuPy and a GPU: pip install cupy-cuda12x"),
        ("convolution_torch.py", "torch", "this example needs PyTorch: pip install torch"),
    ],
)
def test_a_missing_package_is_told_in_one_sentence(name, module, words):
    without = "import runpy, sys; sys.modules[sys.argv[1]] = None; runpy.run_path(sys.argv[2], run_name='__main__')"
    done = run([sys.executable, "-c", without, module, str(EXAMPLES / name)], shim.clean_environment())
    assert (done.code, done.err.strip()) == (1, words)


@pytest.mark.parametrize("n_ranks", [1, 3])
def test_gradients_are_added(n_ranks):
    on_gpu = gpu_memory.gpu_count() > 0 and find_spec("cupy")
    environment = shim.preloaded(TEMPI_REPORT="1")
    done = run_python(n_ranks, "gradients.py", environment, *([] if on_gpu else ["--numpy"]))
    assert "train the same model" in done.out
    if on_gpu:
        assert "taken: GPU kernel" in outcomes(done.err, "MPI_Iallreduce")


def test_fourier_transform():
    done = run_python(3, "fft.py", shim.preloaded(), "--numpy", "--cells", "24")
    assert "tempi on" in done.out


def test_the_cells_of_the_notebook():
    command = [sys.executable, str(HERE / "notebook_cells.py"), str(EXAMPLES / "halo.ipynb")]
    shown = succeed(command, shim.clean_environment()).out
    assert shown.startswith("True\n")
    for text in ("canonical", "HaloExchange", "MPI_Type_commit"):
        assert text in shown
