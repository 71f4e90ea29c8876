// The loader's list of libraries, /etc/ld.so.cache, made by ldconfig(8).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tempi::preload {

// The paths of all libraries of this name, of any machine; none, too, where the file has another format.
std::vector<std::string> cached_paths(std::string_view name, const char* path = "/etc/ld.so.cache");

}  // namespace tempi::preload
