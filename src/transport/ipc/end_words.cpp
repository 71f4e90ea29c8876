#include "transport/ipc/end_words.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/options.hpp"
#include "device/staging.hpp"
#include "pack/cache.hpp"
#include "sharing/exports.hpp"

namespace tempi::message {
namespace {

constexpr std::uint32_t kEndsOfBlock = 256;

struct Block {
  std::unique_ptr<pack::DeviceCopy> words;
  std::unique_ptr<device::Staging> losses;
  device::SharedAllocation memory;
  std::uint32_t n_taken = 0;
};

Block make_block(const device::Scope& here) {
  const auto count = static_cast<std::uint64_t>(number(Option::FAKE_COUNT));
  const pack::EndWords first{count, count, 0, 0, 0, count};
  const std::vector<pack::EndWords> words(kEndsOfBlock, first);
  Block block;
  block.words = std::make_unique<pack::DeviceCopy>(here, words.data(), sizeof(pack::EndWords) * words.size());
  block.losses = std::make_unique<device::Staging>(here.device(), here.context(), device::MemoryKind::pinned,
                                                   kEndsOfBlock * sizeof(std::uint32_t));
  std::memset(block.losses->data(), 0, kEndsOfBlock * sizeof(std::uint32_t));
  const device::Location at = here.device().locate(block.words->data());
  const auto memory = here.device().share(at);
  if (!memory) throw Error(ErrorKind::device, "the GPU's memory cannot be shared with other processes");
  export_memory(here.device(), at);
  block.memory = *memory;
  return block;
}

struct Blocks {
  Mutex<Lock::channels> mutex;
  std::map<device::Context, std::vector<Block>> by_context;
};

Blocks& blocks() {
  static auto& all = *new Blocks;  // never destroyed: kernels may run while the process exits
  return all;
}

}  // namespace

EndPlace take_end_words(const device::Scope& here) {
  const std::lock_guard lock(blocks().mutex);
  std::vector<Block>& of_context = blocks().by_context[here.context()];
  if (of_context.empty() || of_context.back().n_taken == kEndsOfBlock) of_context.push_back(make_block(here));
  Block& last = of_context.back();
  const std::uint32_t i = last.n_taken++;
  return {static_cast<pack::EndWords*>(last.words->data()) + i,
          reinterpret_cast<std::uint32_t*>(last.losses->data()) + i, last.memory};
}

}  // namespace tempi::message
