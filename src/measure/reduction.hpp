// Reductions of doubles. The functions return samples in seconds, and throw std::runtime_error.
#pragma once

#include <vector>

#include "measure/measurement.hpp"

namespace tempi::measure {

// MPI_Allreduce of two processes in GPU memory, by kernels. Both processes call it.
std::vector<double> measure_reduction_of_pair(const Measurement& what);

// MPI_Reduce_local in host memory: the arithmetic of the MPI library.
std::vector<double> measure_local_reduction(const Measurement& what);

}  // namespace tempi::measure
