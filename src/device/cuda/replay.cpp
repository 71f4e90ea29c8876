#include "device/cuda/replay.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/cuda/check.hpp"

namespace tempi::device {
namespace {

CUgraphExec graph_of(const CudaDriver& driver, const KernelCall& call, Done done) {
  void* arguments[] = {const_cast<void*>(call.params), &done};
  CUDA_KERNEL_NODE_PARAMS_v2 node{};
  node.func = call.function;
  node.gridDimX = call.grid.tiles;
  node.blockDimX = call.grid.threads;
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = arguments;

  CUgraph graph = nullptr;
  CUgraphNode added = nullptr;
  CUgraphExec executable = nullptr;
  check(driver, driver.cuGraphCreate(&graph, 0), "cuGraphCreate");
  CUresult result = driver.cuGraphAddKernelNode_v2(&added, graph, nullptr, 0, &node);
  if (result == CUDA_SUCCESS) result = driver.cuGraphInstantiateWithFlags(&executable, graph, 0);
  driver.cuGraphDestroy(graph);
  check(driver, result, "cuGraphInstantiate");
  return executable;
}

Told launch_untold(const CudaDriver& driver, const KernelCall& call, CUstream stream) {
  launch_once(driver, call, stream);
  return {};
}

}  // namespace

// A kernel that takes no Done does not look at the second argument.
void launch_once(const CudaDriver& driver, const KernelCall& call, CUstream stream) {
  Done nobody;
  void* arguments[] = {const_cast<void*>(call.params), &nobody};
  check(driver,
        driver.cuLaunchKernel(call.function, call.grid.tiles, 1, 1, call.grid.threads, 1, 1, 0, stream, arguments,
                              nullptr),
        "cuLaunchKernel");
}

bool Replays::Replay::is_for(const KernelCall& call) const {
  return function == call.function && grid == call.grid && params.size() == call.param_bytes &&
         std::memcmp(params.data(), call.params, call.param_bytes) == 0;
}

Replays::Replay* Replays::find(const KernelCall& call) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Replay& kept) { return kept.is_for(call); });
  return found == kept_.end() ? nullptr : &*found;
}

void Replays::remember(const CudaDriver& driver, const KernelCall& call) {
  Replay& place = kept_.at(oldest_);
  oldest_ = (oldest_ + 1) % kKept;
  if (const CUgraphExec graph = std::exchange(place.graph, nullptr)) driver.cuGraphExecDestroy(graph);
  const auto* params = static_cast<const std::byte*>(call.params);
  place = {call.function, call.grid, {params, params + call.param_bytes}, nullptr, false};
}

bool Replays::may_tell(const CudaDriver& driver, const KernelCall& call, CUstream stream) noexcept {
  if (!call.tells_its_end || call.grid.tiles > kMostTilesThatTell || has_no_flags_) return false;
  if (flags_ == nullptr) flags_ = Flags::make(driver, call.life, stream);
  has_no_flags_ = flags_ == nullptr;
  return !has_no_flags_;
}

Told Replays::launch(const CudaDriver& driver, const KernelCall& call, CUstream stream) {
  Replay* known = find(call);
  if (known == nullptr) {
    remember(driver, call);
    return launch_untold(driver, call, stream);
  }
  const auto i = static_cast<std::size_t>(known - kept_.data());
  if (known->graph == nullptr) {  // the second time: worth a graph
    known->tells = may_tell(driver, call, stream);
    known->graph = graph_of(driver, call, known->tells ? flags_->done(i) : Done());
    return launch_untold(driver, call, stream);
  }
  if (known->tells && !flags_->is_free(i)) return launch_untold(driver, call, stream);
  const Told told = known->tells ? Told{flags_, i, flags_->arm(i)} : Told();
  check(driver, driver.cuGraphLaunch(known->graph, stream), "cuGraphLaunch");
  return told;
}

}  // namespace tempi::device
