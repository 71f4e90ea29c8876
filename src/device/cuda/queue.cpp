#include "device/cuda/queue.hpp"

#include <algorithm>
#include <atomic>

#include "device/cuda/check.hpp"
#include "device/stream_order.hpp"

extern "C" const unsigned char tempi_kernel_image[];  // the fat binary of src/pack/kernels.cu

namespace tempi::device {
namespace {

constinit std::atomic<bool> forked{false};

// Without destructors: a thread may use them after its other objects are gone.
constinit thread_local Queue* own_queues = nullptr;
constinit thread_local bool thread_ended = false;

void give_back(Queue& queue) noexcept {
  const std::lock_guard lock(queue.life.mutex);
  queue.next = queue.life.unused_queues;
  queue.life.unused_queues = &queue;
}

struct GiveBackAtThreadEnd {
  ~GiveBackAtThreadEnd() {
    thread_ended = true;
    if (forked.load()) return;  // another thread may have held a lock
    while (own_queues != nullptr) give_back(*std::exchange(own_queues, own_queues->next));
  }
};

// A thread that uses the GPU in a destructor after its queues went back takes others for good.
void keep(Queue& queue) {
  queue.next = std::exchange(own_queues, &queue);
  if (thread_ended) return;
  thread_local GiveBackAtThreadEnd give_back;
  static_cast<void>(&give_back);
}

Queue* take_unused(Life& life, Lane lane) {
  const std::lock_guard lock(life.mutex);
  for (Queue** at = &life.unused_queues; *at != nullptr; at = &(*at)->next) {
    if ((*at)->lane == lane) return std::exchange(*at, (*at)->next);
  }
  return nullptr;
}

CUmodule module_of(const CudaDriver& driver, Life& life) {
  const std::lock_guard lock(life.mutex);
  if (life.module == nullptr)
    check(driver, driver.cuModuleLoadData(&life.module, tempi_kernel_image), "cuModuleLoadData");
  return life.module;
}

Queue* make_queue(const CudaDriver& driver, Life& life, Lane lane) {
  static_cast<void>(module_of(driver, life));  // fails first
  CUstream stream = nullptr;
  check(driver, driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return new Queue{life, lane, stream};
}

Queue*& in_place(Life& life, Lane lane) { return life.in_place.at(static_cast<std::size_t>(lane)); }

Queue* find_in_place(Life& life, Lane lane) {
  const std::lock_guard lock(life.mutex);
  return in_place(life, lane);
}

CUfunction find(const std::vector<std::pair<const Kernel*, CUfunction>>& functions, const Kernel& kernel) {
  const auto found =
      std::find_if(functions.begin(), functions.end(), [&](const auto& one) { return one.first == &kernel; });
  return found != functions.end() ? found->second : nullptr;
}

// The driver is told nothing.
void forget_those_of_ended_contexts() noexcept {
  for (Queue** at = &own_queues; *at != nullptr;) {
    if ((*at)->life.has_ended.load(std::memory_order_relaxed)) delete std::exchange(*at, (*at)->next);
    else at = &(*at)->next;
  }
}

}  // namespace

Queue& own_queue(const CudaDriver& driver, Life& life, Lane lane) {
  if (InPlaceOfStream::lives()) {
    if (Queue* const prepared = find_in_place(life, lane)) return *prepared;
  }
  for (Queue* queue = own_queues; queue != nullptr; queue = queue->next) {
    if (&queue->life == &life && queue->lane == lane) return *queue;
  }
  forget_those_of_ended_contexts();
  Queue* const unused = take_unused(life, lane);
  Queue& queue = unused != nullptr ? *unused : *make_queue(driver, life, lane);
  keep(queue);
  return queue;
}

void prepare_queues(const CudaDriver& driver, Life& life) {
  for (const Lane lane : kLanes) {
    if (find_in_place(life, lane) != nullptr) continue;
    Queue* const made = make_queue(driver, life, lane);
    {
      const std::lock_guard lock(life.mutex);
      if (in_place(life, lane) == nullptr) {
        in_place(life, lane) = made;
        continue;
      }
    }
    give_back(*made);  // another thread has made one at the same time
  }
}

CUfunction function(const CudaDriver& driver, Queue& queue, const Kernel& kernel) {
  if (const CUfunction known = find(queue.functions, kernel)) return known;
  CUfunction function = nullptr;
  {
    const std::lock_guard lock(queue.life.mutex);
    function = find(queue.life.functions, kernel);
  }
  if (function == nullptr) {
    check(driver, driver.cuModuleGetFunction(&function, module_of(driver, queue.life), kernel.symbol),
          "cuModuleGetFunction");
    const std::lock_guard lock(queue.life.mutex);
    queue.life.functions.emplace_back(&kernel, function);
  }
  queue.functions.emplace_back(&kernel, function);
  return function;
}

void forget_queues() noexcept { forked.store(true); }

}  // namespace tempi::device
