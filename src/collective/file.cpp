#include "collective/file.hpp"

#include <map>
#include <mutex>
#include <optional>

#include "base/mutex.hpp"
#include "collective/file_pointer.hpp"
#include "collective/file_view.hpp"
#include "collective/stage.hpp"
#include "device/device.hpp"
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

}  // namespace

int move_file(const Call& call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
              Library library) noexcept {
  const auto describe = [&](Ends& ends) {
    ends.in.n_blocks = 1;
    ends.in.roles.usual = file_access == FileAccess::read ? kBoth : kRead;
    ends.in.stays_on_host = true;
    if (needs_staging(ends.in, call.comm, device::current()) && !view_of(file).is_native)
      ends.in.fidelity = Fidelity::kept;
  };
  const auto held = [&](const GivenArgument& out, const GivenArgument& in, const GivenArgument& compared) {
    const PointerHold hold(file, uses_pointer(call.function));
    return library(out, in, compared);
  };
  return run_alone(call, {{}, buffer_of(buffer, count, type)}, describe, held);
}

int move_in_parts(const Call& call, FileAccess file_access, Handle file, const void* buffer, Count count, Handle type,
                  MPI_Status* status, PartLibrary library) noexcept {
  const Argument argument = buffer_of(buffer, count, type);
  if (const auto code = move_in_chunks(call, file_access, file, argument, status, library)) return *code;
  return move_file(call, file_access, file, buffer, count, type,
                   [&](const GivenArgument&, const GivenArgument& in, const GivenArgument&) {
                     return library({0, in.address, count, in.type, status});
                   });
}

int move_later(const Call& call, LaterFile later, Handle file, const void* buffer, Count count, Handle type,
               Library library) noexcept {
  const Argument argument = buffer_of(buffer, count, type);
  if (const auto code = begin_in_chunks(call, later.file_access, file, later.offset, argument)) return *code;
  return move_file(call, later.file_access, file, buffer, count, type, library);
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
