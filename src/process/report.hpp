// TEMPI_REPORT: the outcomes of the calls of the ranks of a node. The report sends no message. Therefore, it does not
// affect ranks without the shim or the option, and no rank waits for another. The last rank of a node prints one table
// on standard error.
#pragma once

namespace tempi::process {

// MPI is up, through MPI_Init or a session, and down: after MPI_Finalize, in which ranks wait for each other, so that
// all have begun before the first one ends.
void begin_report() noexcept;
void end_report() noexcept;

}  // namespace tempi::process
