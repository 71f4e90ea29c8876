// TEMPI_REPORT: the outcomes of the calls of the ranks of a node. The report sends no message. Therefore, it does not
// affect ranks without the shim or the option, and no rank waits for another. The last rank of a node prints one table
// on standard error.
#pragma once

namespace tempi::process {

// Call begin_report() after MPI_Init or MPI_Session_init, and end_report() after MPI_Finalize or
// MPI_Session_finalize. A rank reports at its last end_report(). The ranks wait for each other in
// MPI_Finalize. Therefore, all ranks have called begin_report() before the first rank calls
// end_report(). In a program that has only sessions, a rank may end its last session before
// another rank begins its first one. Then the node prints several tables.
void begin_report() noexcept;
void end_report() noexcept;

}  // namespace tempi::process
