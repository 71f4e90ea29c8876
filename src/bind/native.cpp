// tempi._native: the pure stages, for tests and explain, and the C face of libtempi.so. Needs no MPI.
#include "bind/bind.hpp"

PYBIND11_MODULE(_native, module) {
  module.doc() = "The stages of TEMPI as functions over plain values, and the C face of libtempi.so.";
  tempi::bind::bind_datatype(module);
  tempi::bind::bind_host(module);
  tempi::bind::bind_model(module);
  tempi::bind::bind_placement(module);
  tempi::bind::bind_library(module);
}
