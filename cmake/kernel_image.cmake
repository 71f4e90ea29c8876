# src/pack/kernels.cu -> kernels.fatbin -> symbols tempi_kernel_image ... tempi_kernel_image_end in libtempi.so.
enable_language(ASM)

# Compute capabilities of this machine's GPUs as 90;100, empty without a GPU.
function(tempi_local_architectures result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE status)
  set(found "")
  if(status EQUAL 0)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${capabilities}")
    string(REPLACE "." "" found "${found}")
    list(REMOVE_DUPLICATES found)
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Machine code for each architecture that nvcc knows, and PTX of the newest for GPUs to come.
function(tempi_architecture_flags architectures result)
  execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  set(flags "")
  foreach(arch IN LISTS architectures)
    if(known MATCHES "compute_${arch}\n")
      list(APPEND flags -gencode arch=compute_${arch},code=sm_${arch})
      set(newest ${arch})
    else()
      message(WARNING "tempi: this nvcc does not know sm_${arch}")
    endif()
  endforeach()
  if(flags STREQUAL "")
    message(FATAL_ERROR "tempi: none of the GPU architectures ${architectures} is known to this nvcc")
  endif()
  set(${result} ${flags} -gencode arch=compute_${newest},code=compute_${newest} PARENT_SCOPE)
endfunction()

set(architectures ${TEMPI_CUDA_ARCHITECTURES})
if(NOT architectures)
  tempi_local_architectures(architectures)
endif()
if(NOT architectures)
  set(architectures 80 90 100)
endif()
list(SORT architectures COMPARE NATURAL)
tempi_architecture_flags("${architectures}" gencode)
message(STATUS "tempi: GPU engine with CUDA ${CUDAToolkit_VERSION} for sm_${architectures}")

set(kernel_source ${CMAKE_CURRENT_SOURCE_DIR}/src/pack/kernels.cu)
set(KERNEL_IMAGE ${CMAKE_CURRENT_BINARY_DIR}/generated/kernels.fatbin)
add_custom_command(
  OUTPUT ${KERNEL_IMAGE}
  COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -O3 -std=c++17 -I ${CMAKE_CURRENT_SOURCE_DIR}/src ${gencode} -MD -MF
          ${KERNEL_IMAGE}.d -MT ${KERNEL_IMAGE} -o ${KERNEL_IMAGE} ${kernel_source}
  DEPENDS ${kernel_source}
  DEPFILE ${KERNEL_IMAGE}.d
  COMMENT "Compiling GPU kernels"
  VERBATIM)

configure_file(cmake/kernel_image.S.in generated/kernel_image.S @ONLY)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/generated/kernel_image.S PROPERTIES OBJECT_DEPENDS
                                                                                            ${KERNEL_IMAGE})
target_sources(tempi_gpu INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/generated/kernel_image.S)
