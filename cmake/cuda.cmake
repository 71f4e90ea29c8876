# The GPU engine: kernels compiled by nvcc into an image that is embedded in libtempi.so. CUDA's driver API is loaded by
# name at run time, so that only the header cuda.h is needed here; CMake's CUDA language is not used.
set(TEMPI_CUDA_MINIMUM 12.0)
set(TEMPI_HAVE_CUDA 0)
set(TEMPI_CUDA_VERSION "none")
add_library(tempi_gpu INTERFACE)

if(NOT TEMPI_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
endif()
if(CUDAToolkit_NVCC_EXECUTABLE AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL TEMPI_CUDA_MINIMUM)
  set(TEMPI_HAVE_CUDA 1)
  set(TEMPI_CUDA_VERSION ${CUDAToolkit_VERSION})
  target_include_directories(tempi_gpu SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  include(kernel_image)
  # NVTX is a header too. Its ranges go to the tool's library, which is loaded if a tool asks for it.
  find_path(TEMPI_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
  if(TEMPI_NVTX_INCLUDE_DIR)
    set_source_files_properties(src/base/nvtx.cpp PROPERTIES COMPILE_DEFINITIONS TEMPI_HAVE_NVTX
                                COMPILE_OPTIONS "-isystem;${TEMPI_NVTX_INCLUDE_DIR}")
  endif()
elseif(TEMPI_CUDA STREQUAL "ON")
  message(FATAL_ERROR "TEMPI_CUDA=ON, but no nvcc of CUDA ${TEMPI_CUDA_MINIMUM} or newer was found")
elseif(TEMPI_CUDA STREQUAL "OFF")
  message(STATUS "tempi: TEMPI_CUDA=OFF, the GPU engine is left out")
else()
  message(WARNING "
  ********************************************************************
  *  tempi: no nvcc of CUDA ${TEMPI_CUDA_MINIMUM} or newer. The GPU engine is LEFT OUT:  *
  *  GPU buffers go to the MPI library; host buffers are handled.    *
  ********************************************************************")
endif()
