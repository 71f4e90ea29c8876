#include "machine/handed.hpp"

#include <array>
#include <string>

#include "base/options.hpp"
#include "machine/cuda_aware.hpp"
#include "machine/machine.hpp"
#include "mpi/real.hpp"

namespace tempi::machine {
namespace {

enum class Library : std::uint8_t { open_mpi, open_mpi_over_ucx, mpich, other, count };

constexpr auto kCalls = static_cast<std::size_t>(Calls::count);
using Answers = std::array<bool, kCalls>;

constexpr Answers answers_of(Library library) {
  Answers answers{};
#define TEMPI_HANDED(its_library, calls, may_be) \
  if (library == Library::its_library) answers[static_cast<std::size_t>(Calls::calls)] = may_be;
#include "machine/handed.def"
#undef TEMPI_HANDED
  return answers;
}

constexpr std::size_t kRows = 0
#define TEMPI_HANDED(library, calls, may_be) +1
#include "machine/handed.def"
#undef TEMPI_HANDED
    ;
static_assert(kRows == kCalls * static_cast<std::size_t>(Library::count));

// A library that an option declares to be CUDA-aware is taken to be built so.
Library find_library() {
  if (is_open_mpi())
    return is_built_with_cuda() || text(Option::CUDA_AWARE) == "1" ? Library::open_mpi : Library::open_mpi_over_ucx;
  return library_version().find("MPICH") != std::string::npos ? Library::mpich : Library::other;
}

}  // namespace

bool may_be_handed(Calls calls) {
  if (!cuda_awareness().aware) return false;
  static const Answers answers = answers_of(find_library());
  return answers[static_cast<std::size_t>(calls)];
}

}  // namespace tempi::machine
