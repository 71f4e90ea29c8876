#include "measure/meter.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <stdexcept>

#include "base/launcher.hpp"
#include "base/log.hpp"
#include "datatype/canonical.hpp"
#include "device/host_pages.hpp"
#include "mpi/handle.hpp"
#include "mpi/real.hpp"
#include "types/reader.hpp"

namespace tempi::measure {
std::vector<double> repeat(SampleLimit limit, const std::function<double()>& once) {
  std::vector<double> samples;
  for (int i = 0; i < kNotCounted; ++i) once();
  const auto begin = Clock::now();
  do samples.push_back(once());
  while (samples.size() < limit.max_samples && seconds_since(begin) < limit.max_seconds);
  return samples;
}

std::vector<double> repeat_timed(SampleLimit limit, const std::function<void()>& call) {
  return repeat(limit, [&] {
    const auto begin = Clock::now();
    call();
    return seconds_since(begin);
  });
}

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw std::runtime_error(std::string(call) + " failed");
}

device::Device& gpu() {
  if (device::current() == nullptr) dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
  device::Device* const device = device::current();
  if (device == nullptr) throw std::runtime_error("there is no GPU, or no driver for it (libcuda.so.1)");
  return *device;
}

int world_rank() {
  int rank = 0;
  real_pmpi().MPI_Comm_rank(comm_world(), &rank);
  return rank;
}

device::Context my_context() {
  const int told = local_rank(), rank = told >= 0 ? told : world_rank();
  return gpu().primary(rank % std::max(1, gpu().facts().count));
}

void* allocate_pinned(const device::Scope& here, std::size_t bytes) {
  void* const pages = device::allocate_host_pages(bytes);
  try {
    here.pin(pages, bytes);
  } catch (...) {
    device::deallocate_host_pages(pages, bytes);
    throw;
  }
  return pages;
}

void deallocate_pinned(const device::Scope& here, void* pages, std::size_t bytes) noexcept {
  here.unpin(pages);
  device::deallocate_host_pages(pages, bytes);
}

Memory::Memory(device::MemoryKind kind, std::int64_t bytes) : kind_(kind), bytes_(static_cast<std::size_t>(bytes)) {
  if (kind_ == device::MemoryKind::host) {
    host_.resize(bytes_, 1);
  } else {
    const device::Scope here(gpu(), context_ = my_context());
    data_ = kind_ == device::MemoryKind::device ? here.allocate(bytes_) : allocate_pinned(here, bytes_);
  }
}

Memory::~Memory() {
  if (kind_ == device::MemoryKind::host) return;
  try {
    const device::Scope here(gpu(), context_);
    if (kind_ == device::MemoryKind::device) here.deallocate(data_);
    else deallocate_pinned(here, data_, bytes_);
  } catch (const std::exception& error) {  // the driver has shut down, and has taken the memory
    log(LogLevel::info, std::string("memory of a measurement is not freed: ") + error.what());
  }
}

datatype::Type decoded(std::uint64_t datatype) {
  MpiTypeReader reader;
  datatype::Type type = datatype::decode(static_cast<datatype::TypeHandle>(datatype), reader);
  type.tree = datatype::canonicalise(type.tree);
  return type;
}

}  // namespace tempi::measure
