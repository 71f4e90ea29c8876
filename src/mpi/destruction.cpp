#include "mpi/destruction.hpp"

namespace tempi {
namespace {

// A copied object does not inherit the attribute.
int do_not_copy(Handle, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

}  // namespace

int Destruction::call_forget(Handle object, int, void*, void* self) {
  static_cast<Destruction*>(self)->forget_(object);
  return MPI_SUCCESS;
}

bool Destruction::make_keyval() {
  const std::lock_guard lock(mutex_);
  if (keyval_.load() != MPI_KEYVAL_INVALID) return true;
  int made = MPI_KEYVAL_INVALID;
  const int code = (real_pmpi().*functions_.create)(reinterpret_cast<void*>(do_not_copy),
                                                    reinterpret_cast<void*>(call_forget), &made, this);
  keyval_.store(made);
  return code == MPI_SUCCESS;
}

bool Destruction::watch(Handle object) {
  if (keyval_.load() == MPI_KEYVAL_INVALID && !make_keyval()) return false;
  return (real_pmpi().*functions_.set)(object, keyval_.load(), nullptr) == MPI_SUCCESS;
}

void Destruction::stop() noexcept {
  const std::lock_guard lock(mutex_);
  int made = keyval_.exchange(MPI_KEYVAL_INVALID);
  if (made != MPI_KEYVAL_INVALID) (real_pmpi().*functions_.free)(&made);
}

}  // namespace tempi
