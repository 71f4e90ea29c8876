# tempi._native: the pure stages for tests and explain, and the C face of libtempi.so.
set(PYBIND11_FINDPYTHON ON)
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 CONFIG REQUIRED)
file(GLOB bind_sources CONFIGURE_DEPENDS src/bind/*.cpp)
pybind11_add_module(_native ${bind_sources})
target_link_libraries(_native PRIVATE tempi_stages ${CMAKE_DL_LIBS})
