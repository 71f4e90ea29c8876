// Takes locks in an order: locks CASE. Prints "well" and returns 0, or is ended by base/mutex.cpp.
#include <cstdio>
#include <string_view>
#include <thread>

#include "base/mutex.hpp"

namespace {

using tempi::Lock;
using tempi::LockOrder;

tempi::RecursiveMutex<Lock::requests> requests;
tempi::Mutex<Lock::staging> staging;
tempi::Mutex<Lock::staging> another_staging;
tempi::Mutex<Lock::warnings> warnings;

template <class First, class Second>
void take(First& first, Second& second) {
  const std::lock_guard one(first);
  const std::lock_guard other(second);
}

void run(std::string_view which) {
  if (which == "in order") {
    take(requests, staging);
    take(staging, warnings);
  } else if (which == "the wrong way round") {
    take(warnings, staging);
  } else if (which == "two of one kind") {
    take(staging, another_staging);
  } else if (which == "recursive") {
    const std::lock_guard one(requests);
    take(requests, staging);
  } else if (which == "recursive, behind a later one") {
    const std::lock_guard one(requests);
    take(staging, requests);
  } else if (which == "tried") {
    const std::lock_guard one(warnings);
    const std::unique_lock other(staging, std::try_to_lock);
  } else if (which == "given back in another order") {
    requests.lock();
    staging.lock();
    requests.unlock();
    staging.unlock();
    take(requests, warnings);
  } else if (which == "in a handler") {
    const std::lock_guard one(warnings);
    const LockOrder of_handler;
    take(requests, staging);
  } else if (which == "behind a handler") {
    const std::lock_guard one(warnings);
    {
      const LockOrder of_handler;
    }
    const std::lock_guard other(staging);
  } else if (which == "in another thread") {
    const std::lock_guard one(warnings);
    std::thread([] { take(requests, staging); }).join();
  }
}

}  // namespace

int main(int, char** argv) {
  run(argv[1]);
  std::puts("well");
}
