// TEMPI_REPORT: what became of the calls of all ranks.
#pragma once

namespace tempi::interpose {

// Collective over MPI_COMM_WORLD; rank 0 prints one table on standard error.
void print_report() noexcept;

}  // namespace tempi::interpose
