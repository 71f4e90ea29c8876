#include "stream/stream_handles.hpp"

#include <charconv>
#include <map>
#include <mutex>

#include "base/mutex.hpp"

namespace tempi::message {
namespace {

struct Streams {
  Mutex<Lock::mpix_streams> mutex{};
  std::map<int, device::StreamHandle> by_handle{};
  int next = 0x54000000;  // in MPICH, a handle with these upper bits is not a stream
};

Streams& all_streams() {
  static auto& all = *new Streams;  // never destroyed: other threads may use it at exit
  return all;
}

// Removes the number from the text. False: there is none.
bool take_number(std::string_view& text, std::size_t digits, int base, unsigned& number) {
  const std::string_view its = text.substr(0, digits);
  const auto [end, error] = std::from_chars(its.data(), its.data() + its.size(), number, base);
  if (error != std::errc{} || (base == 16 && end != its.data() + digits)) return false;
  text.remove_prefix(static_cast<std::size_t>(end - its.data()));
  return true;
}

}  // namespace

int add_mpix_stream(device::StreamHandle stream) {
  Streams& all = all_streams();
  const std::lock_guard lock(all.mutex);
  all.by_handle[all.next] = stream;
  return all.next++;
}

std::optional<device::StreamHandle> find_mpix_stream(int handle) {
  Streams& all = all_streams();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_handle.find(handle);
  return found != all.by_handle.end() ? std::optional(found->second) : std::nullopt;
}

bool remove_mpix_stream(int handle) {
  Streams& all = all_streams();
  const std::lock_guard lock(all.mutex);
  return all.by_handle.erase(handle) != 0;
}

bool decode_hex(std::string_view text, void* value, std::size_t bytes) {
  auto* const at = static_cast<unsigned char*>(value);
  std::size_t n = 0;
  while (!text.empty()) {
    unsigned number = 0;
    if (text.front() == '[') {
      text.remove_prefix(1);
      if (!take_number(text, text.size(), 10, number) || !text.starts_with(']') || number > bytes - n) return false;
      text.remove_prefix(1);
      for (unsigned i = 0; i < number; ++i) at[n++] = 0;
    } else {
      if (n == bytes || !take_number(text, 2, 16, number)) return false;
      at[n++] = static_cast<unsigned char>(number);
    }
  }
  return n == bytes;
}

}  // namespace tempi::message
