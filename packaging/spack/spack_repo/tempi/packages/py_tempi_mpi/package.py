import os

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyTempiMpi(PythonPackage):
    """TEMPI makes MPI derived datatypes fast on GPU and host memory, without changing the program.

    A library is preloaded under the program; `tempi run -- mpirun ./program` does that.

    Spack looks for the source archive, which `make sdist` writes, in the current directory or in a
    mirror. The archive is built from the user's own sources, hence has no known checksum:

        spack repo add packaging/spack/spack_repo/tempi
        make sdist
        cd dist && spack install --no-checksum py-tempi-mpi ^openmpi
    """

    homepage = "https://doi.org/10.1145/3431379.3460645"
    url = f"file://{os.getcwd()}/tempi_mpi-0.1.0.tar.gz"
    manual_download = True

    license("BSD-3-Clause")

    version("0.1.0")

    variant("cuda", default=True, description="Build the GPU engine")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-pybind11@2.12:", type="build")
    # The GPU engine loads the CUDA driver by name: nothing of the toolkit is needed at run time.
    depends_on("cuda@12.0:", type="build", when="+cuda")

    depends_on("mpi@3.1:")
    depends_on("python@3.10:", type=("build", "link", "run"))
    depends_on("py-numpy", type="run")
    depends_on("py-rich", type="run")
    depends_on("py-click", type="run")
    depends_on("py-pyelftools", type="run")

    def config_settings(self, spec, prefix):
        return {
            "cmake.define.MPI_C_COMPILER": spec["mpi"].mpicc,
            "cmake.define.TEMPI_CUDA": "ON" if spec.satisfies("+cuda") else "OFF",
        }
