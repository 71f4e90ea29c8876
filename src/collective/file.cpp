#include "collective/file.hpp"

#include <array>
#include <map>
#include <mutex>
#include <string_view>

#include "base/mutex.hpp"
#include "collective/stage.hpp"
#include "mpi/real.hpp"
#include "request/progress.hpp"

namespace tempi::collective {
namespace {

using message::flush_sends;
using message::tended;

struct Split {
  message::MessagePtr call;
  const void* buffer;
};

// The split calls under way, by their file.
class Splits {
 public:
  void put(Handle file, Split split) {
    const std::lock_guard lock(mutex_);
    by_file_.insert_or_assign(key_of(file), std::move(split));
  }
  Split take(Handle file) {
    const std::lock_guard lock(mutex_);
    const auto found = by_file_.find(key_of(file));
    if (found == by_file_.end()) return {};
    Split split = std::move(found->second);
    by_file_.erase(found);
    return split;
  }

 private:
  Mutex<Lock::split_files> mutex_;
  std::map<Handle, Split> by_file_;
};

Splits& splits() {
  static auto& all = *new Splits;  // never destroyed: staging memory outlives the static objects of its device
  return all;
}

void free_if_derived(Handle type) {
  int integers = 0, addresses = 0, datatypes = 0, combiner = 0;
  real_pmpi().MPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
  const bool is_predefined = combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
                             combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  if (!is_predefined) real_pmpi().MPI_Type_free(&type);
}

bool is_native(Handle file) {
  Offset displacement = 0;
  Handle element = 0, filetype = 0;
  std::array<char, MPI_MAX_DATAREP_STRING + 1> name{};
  if (real_pmpi().MPI_File_get_view(file, &displacement, &element, &filetype, name.data()) != MPI_SUCCESS) return false;
  free_if_derived(element);
  free_if_derived(filetype);
  return std::string_view(name.data()) == "native";
}

}  // namespace

int move_file(const Call& call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
              Library library) noexcept {
  const auto describe = [&](Ends& ends) {
    ends.in.n_blocks = 1;
    ends.in.roles.usual = file_access == FileAccess::read ? kBoth : kRead;
    ends.in.stays_on_host = true;
    if (needs_staging(ends.in, call.comm, device::current()) && !is_native(file)) ends.in.fidelity = Fidelity::kept;
  };
  return run_alone(call, {{}, buffer_of(buffer, count, type)}, describe, library);
}

int begin_split(Call call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
                Library library) noexcept {
  const auto keep = [&](message::MessagePtr begun, const GivenArgument& given) {
    splits().put(file, {std::move(begun), given.address});
  };
  const Keep kept(keep);
  call.keep = &kept;
  return move_file(call, file_access, file, buffer, count, type, library);
}

int end_split(Handle file, const void* buffer, FunctionRef<int(const void*)> library) noexcept {
  flush_sends();
  const Split split = splits().take(file);
  if (!split.call) return tended(library(buffer));
  const int code = library(split.buffer);
  return tended(code == MPI_SUCCESS ? finish({split.call}, Owner::file, file) : code);
}

}  // namespace tempi::collective
