#include "base/error.hpp"

#include <exception>
#include <new>

namespace tempi {

Error caught_error() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc& error) {
    return {ErrorKind::no_memory, error.what()};
  } catch (const std::exception& error) {
    return {ErrorKind::unexpected, error.what()};
  } catch (...) {
    return {ErrorKind::unexpected, "an exception of an unknown type"};
  }
}

}  // namespace tempi
