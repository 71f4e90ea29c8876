#include "collective/own_comm.hpp"

#include "mpi/real.hpp"
#include "mpi/untold.hpp"
#include "peer/ids.hpp"

namespace tempi::collective {

OwnComm::~OwnComm() {
  if (is_freed) real_pmpi().MPI_Comm_free(&handle);
}

std::shared_ptr<OwnComm> make_own_comm(Handle parent, int color, int key) {
  peer::Creation creation(parent);
  Handle made = comm_null();
  int code = MPI_SUCCESS;
  {
    const Untold untold(parent);
    code = real_pmpi().MPI_Comm_split(parent, color, key, &made);
  }
  if (code != MPI_SUCCESS || key_of(made) == key_of(comm_null())) {
    if (color != MPI_UNDEFINED) creation.failed();
    return nullptr;
  }
  real_pmpi().MPI_Comm_set_errhandler(made, errors_return());
  creation.made(made);
  return std::make_shared<OwnComm>(made);
}

}  // namespace tempi::collective
