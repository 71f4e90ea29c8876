-- Lmod. An administrator installs TEMPI as follows, and copies this file to MODULEPATH/tempi/0.1.0.lua:
--
--   python3 -m venv /opt/tempi/0.1.0/venv
--   /opt/tempi/0.1.0/venv/bin/pip install tempi_mpi-0.1.0-....whl
--   mkdir /opt/tempi/0.1.0/bin
--   ln -s ../venv/bin/tempi /opt/tempi/0.1.0/bin/tempi
--
-- Only the command is put into PATH: the user's Python stays the same. All nodes need the same path.
local prefix = pathJoin("/opt/tempi", myModuleVersion())

whatis("Name: TEMPI")
whatis("Version: " .. myModuleVersion())
whatis("Description: Makes MPI derived datatypes fast on GPU and host memory, without changing the program")
help([[
Run an MPI program with TEMPI:
    tempi run -- mpirun -n 2 ./program
    tempi run -- srun -n 2 ./program
tempi --help lists the other commands.
]])

prepend_path("PATH", pathJoin(prefix, "bin"))
