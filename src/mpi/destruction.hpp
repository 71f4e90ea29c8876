// Callbacks at the destruction of MPI objects. An object gets an attribute, and the library calls its delete callback
// when the object is destroyed for any reason. MPI reuses handles, so TEMPI must remove its data about a handle when
// the object is destroyed.
#pragma once

#include <atomic>
#include <mutex>

#include "base/mutex.hpp"
#include "mpi/real.hpp"

namespace tempi {

class Destruction {
 public:
  // The attribute functions of one kind of object.
  struct Functions {
    LibraryFunction<int(void* copy_fn, void* delete_fn, int* keyval, void* extra_state)> Real::* create;
    LibraryFunction<int(int* keyval)> Real::* free;
    LibraryFunction<int(Handle object, int keyval, void* value)> Real::* set;
  };

  // `forget` is called with each watched object as it is destroyed. An object of this class is never destroyed itself.
  Destruction(const Functions& functions, void (*forget)(Handle)) : functions_(functions), forget_(forget) {}
  Destruction(const Destruction&) = delete;
  Destruction& operator=(const Destruction&) = delete;

  // False: the library refuses the attribute, and TEMPI must not keep data about the object. Call
  // it at most once for an object: a second call replaces the attribute, and the library then calls
  // the delete callback as if the object were destroyed.
  bool watch(Handle object);
  // Before MPI shuts down.
  void stop() noexcept;

 private:
  static int call_forget(Handle object, int keyval, void* value, void* self);
  bool make_keyval();

  Functions functions_;
  void (*forget_)(Handle);
  Mutex<Lock::destruction> mutex_;
  std::atomic<int> keyval_{MPI_KEYVAL_INVALID};
};

}  // namespace tempi
