// The lock of this process's managed requests and pending sends. It is recursive, because the library can call error
// handlers of the program while it starts requests of TEMPI, and these handlers may call MPI.
#pragma once

#include "base/call_lock.hpp"
#include "base/mutex.hpp"

namespace tempi::message {

using RequestMutex = RecursiveMutex<Lock::requests>;

inline RequestMutex& request_mutex() {
  static auto& mutex = *new RequestMutex;  // never destroyed: threads may use it while the process exits
  return mutex;
}

class RequestLock : public CallLock<RequestMutex> {
 public:
  RequestLock() : CallLock(request_mutex()) {}
};

}  // namespace tempi::message
