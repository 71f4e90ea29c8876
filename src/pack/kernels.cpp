#include "pack/kernels.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/error.hpp"
#include "pack/cpu_memory.hpp"
#include "pack/window_body.hpp"

namespace tempi::pack {
namespace {

template <class Params, Depth kDepth, std::uint32_t kWordBytes>
void run_on_cpu(const void* params, device::KernelThread at, const device::AddressShift& shift) {
  run<kDepth, kWordBytes>(*static_cast<const Params*>(params), Tile{at.tile, at.thread, at.threads},
                          ShiftedMemory{shift});
}

template <Form kForm, std::uint32_t kWordBytes>
void run_windowed_on_cpu(const void* params, device::KernelThread at, const device::AddressShift& shift) {
  const OneWindowed& list = *static_cast<const OneWindowed*>(params);
  const Tile tile{at.tile, at.thread, at.threads};
  const TileWords words = words_of_tile<kForm, kWordBytes>(list, tile.index);
  char* const image = reinterpret_cast<char*>(at.shared);
  if (at.phase == 0) fetch<kForm, kWordBytes>(list, words, tile, image, ShiftedMemory{shift});
  else store<kForm, kWordBytes>(list, words, tile, image, ShiftedMemory{shift});
}

struct Row {
  const char* params;
  Depth depth;
  std::uint32_t word_bytes;
  device::Kernel kernel;
};

#define TEMPI_KERNEL(Params, depth, word)                                                                              \
  {#Params,                                                                                                            \
   Depth::depth,                                                                                                       \
   word,                                                                                                               \
   {"tempi_" #Params "_" #depth "_" #word, kMostThreads, sizeof(Params), run_on_cpu<Params, Depth::depth, word>, 1, 0, \
    true}},
#define TEMPI_WINDOWED_KERNEL(form, word)
constexpr Row kRows[] = {
#include "pack/kernels.def"
};
#undef TEMPI_KERNEL
#undef TEMPI_WINDOWED_KERNEL

struct WindowedRow {
  Form form;
  std::uint32_t word_bytes;
  device::Kernel kernel;
};

#define TEMPI_KERNEL(Params, depth, word)
#define TEMPI_WINDOWED_KERNEL(form, word)                                                                             \
  {Form::form,                                                                                                        \
   word,                                                                                                              \
   {"tempi_windowed_" #form "_" #word, kWindowThreads, sizeof(OneWindowed), run_windowed_on_cpu<Form::form, word>, 2, \
    kImageBytes<Form::form>}},
constexpr WindowedRow kWindowedRows[] = {
#include "pack/kernels.def"
};
#undef TEMPI_KERNEL
#undef TEMPI_WINDOWED_KERNEL

const device::Kernel& find(std::string_view params, Depth depth, std::uint32_t word_bytes) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& candidate) {
    return candidate.params == params && candidate.depth == depth && candidate.word_bytes == word_bytes;
  });
  if (row == std::end(kRows)) throw Error(ErrorKind::internal, "no kernel for this list of boxes");
  return row->kernel;
}

}  // namespace

const device::Kernel& kernel_of_one(Depth depth, std::uint32_t word_bytes) { return find("OneBox", depth, word_bytes); }
const device::Kernel& kernel_of_few(Depth depth, std::uint32_t word_bytes) {
  return find("FewBoxes", depth, word_bytes);
}
const device::Kernel& kernel_of_many(Depth depth, std::uint32_t word_bytes) {
  return find("ManyBoxes", depth, word_bytes);
}
const device::Kernel& kernel_of_aligned(Depth depth, std::uint32_t word_bytes) {
  return find("AlignedBoxes", depth, word_bytes);
}

const device::Kernel& windowed_kernel(Form form, std::uint32_t word_bytes) {
  const WindowedRow* row = std::find_if(
      std::begin(kWindowedRows), std::end(kWindowedRows),
      [&](const WindowedRow& candidate) { return candidate.form == form && candidate.word_bytes == word_bytes; });
  if (row == std::end(kWindowedRows)) throw Error(ErrorKind::internal, "no kernel for windows of this word");
  return row->kernel;
}

}  // namespace tempi::pack
