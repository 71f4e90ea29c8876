// A context of the fake device that ends: fake_contexts CASE. What a handle of the ended one is good for.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "device/host_pages.hpp"
#include "fake_program.hpp"

using namespace tempi::device;

namespace {

constexpr std::size_t kBytes = 4096;

// What the first context had: the second one may have the same addresses.
struct First {
  Context context = fake_device()->primary(0);
  void* memory = nullptr;
  void* pages = allocate_host_pages(kBytes);
  MarkPtr mark{};

  First() {
    const Scope here(*fake_device(), context);
    memory = here.allocate(kBytes);
    here.pin(pages, kBytes);
    here.copy(memory, pages, kBytes);
    mark = here.mark();
  }
};

}  // namespace

int main(int, char** arguments) {
  const std::string_view what = arguments[1];
  First first;
  fake_end_context(0);
  Device& device = *fake_device();
  const Scope here(device, device.primary(0));
  if (what == "memory") here.deallocate(first.memory);
  if (what == "pages") here.unpin(first.pages);
  if (what == "mapping") here.unmap(reinterpret_cast<std::uintptr_t>(first.memory));
  std::printf("ended %d %d, scope %s, mark %s, located %d, ", device.has_ended(first.context),
              device.has_ended(here.context()), outcome_of([&] { const Scope again(device, first.context); }),
              outcome_of([&] { first.mark->wait(); }), device.locate(first.memory).on_gpu());
  void* const second = here.allocate(kBytes);
  std::printf("same address %d, unfinished %zu\n", second == first.memory, fake_unfinished());
  here.deallocate(second);
  return EXIT_SUCCESS;
}
