// The bytes of a file in memory. Reading beyond the end returns nothing.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tempi::preload {

class MappedFile {
 public:
  explicit MappedFile(const char* path);  // no bytes: it cannot be read
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <class T>
  std::optional<T> at(std::size_t offset) const {
    T value;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) return {};
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  // Up to the next zero.
  std::string_view text(std::size_t offset) const {
    const std::string_view rest = bytes_.substr(offset < bytes_.size() ? offset : bytes_.size());
    return rest.substr(0, rest.find('\0'));
  }

 private:
  std::string_view bytes_;
};

}  // namespace tempi::preload
