#include "machine/cuda_aware.hpp"

#include <link.h>
#include <string_view>
#include <utility>

#include "base/options.hpp"
#include "mpi/real.hpp"

namespace tempi::machine {
namespace {

bool is_loaded(std::string_view library) {
  struct Search {
    std::string_view name;
    bool found = false;
  } search{library};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto* const wanted = static_cast<Search*>(data);
        wanted->found = wanted->found || std::string_view(info->dlpi_name).find(wanted->name) != std::string_view::npos;
        return 0;
      },
      &search);
  return search.found;
}

// An Open MPI built without CUDA still moves GPU memory if it sends through UCX and UCX has found CUDA.
bool ucx_has_cuda() { return is_loaded("/libuct_cuda.so"); }

// Open MPI unloads the messaging layers that it has not chosen. Built-in layers cannot be detected: see `ucx`.
bool messages_go_through_ucx() { return is_loaded("/mca_pml_ucx.so") && !is_loaded("/mca_pml_ob1.so"); }

bool is_initialized() {
  int flag = 0;
  return real_pmpi().MPI_Initialized(&flag) == MPI_SUCCESS && flag != 0;
}

}  // namespace

bool is_built_with_cuda() {
  const auto query = reinterpret_cast<int (*)()>(real_symbol("MPIX_Query_cuda_support"));
  return query != nullptr && query() == 1;
}

CudaAwareness find_cuda_awareness() {
  const std::string& wanted = text(Option::CUDA_AWARE);
  if (wanted == "ucx") return {ucx_has_cuda(), "TEMPI_CUDA_AWARE=ucx: by whether UCX has loaded its CUDA module"};
  if (wanted != "auto") return {wanted == "1", "TEMPI_CUDA_AWARE=" + wanted};
  if (is_built_with_cuda()) return {true, "MPIX_Query_cuda_support says yes"};
  if (ucx_has_cuda() && messages_go_through_ucx())
    return {true, "Open MPI sends through UCX, which has loaded its CUDA module"};
  const bool is_asked = real_symbol("MPIX_Query_cuda_support") != nullptr;
  std::string reason = is_asked ? "MPIX_Query_cuda_support says no" : "the library does not say";
  if (!is_initialized()) reason += "; if Open MPI sends through UCX with CUDA support, TEMPI detects it after MPI_Init";
  return {false, std::move(reason)};
}

const CudaAwareness& cuda_awareness() {
  static const CudaAwareness& found = *new CudaAwareness(find_cuda_awareness());
  return found;
}

}  // namespace tempi::machine
