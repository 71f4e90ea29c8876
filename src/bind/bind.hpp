// The parts of the Python module tempi._native.
#pragma once

#include <pybind11/pybind11.h>

namespace tempi::bind {

void bind_datatype(pybind11::module_& module);   // trees, rules, layouts
void bind_host(pybind11::module_& module);       // the host packer, with bounds checked
void bind_model(pybind11::module_& module);      // fits and predictions
void bind_placement(pybind11::module_& module);  // ranks on nodes
void bind_library(pybind11::module_& module);    // the C interface of libtempi.so

}  // namespace tempi::bind
