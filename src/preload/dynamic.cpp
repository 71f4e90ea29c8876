#include "preload/dynamic.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string_view>

#include "preload/mapped_file.hpp"

namespace tempi::preload {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Entry = ElfW(Dyn);

// The header of the program or library that this code is part of, in memory.
const Header& own_header() {
  Dl_info info{};
  ::dladdr(reinterpret_cast<void*>(&own_header), &info);
  return *static_cast<const Header*>(info.dli_fbase);
}

bool is_of_this_machine(const Header& header) {
  static const Header& own = own_header();
  return std::memcmp(header.e_ident, own.e_ident, EI_VERSION) == 0 && header.e_machine == own.e_machine &&
         header.e_phentsize == sizeof(Segment);
}

std::vector<Segment> segments_of(const MappedFile& file) {
  std::vector<Segment> segments;
  const auto header = file.at<Header>(0);
  if (!header || !is_of_this_machine(*header)) return {};
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = file.at<Segment>(header->e_phoff + i * sizeof(Segment));
    if (!segment) return {};
    segments.push_back(*segment);
  }
  return segments;
}

std::vector<Entry> entries_of(const MappedFile& file, const std::vector<Segment>& segments) {
  std::vector<Entry> entries;
  for (const Segment& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::size_t at = 0; at < segment.p_filesz; at += sizeof(Entry)) {
      const auto entry = file.at<Entry>(segment.p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) return entries;
      entries.push_back(*entry);
    }
  }
  return entries;
}

// The offset in the file of an address in the loaded library.
std::optional<std::size_t> offset_of(ElfW(Addr) address, const std::vector<Segment>& segments) {
  for (const Segment& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  }
  return {};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::vector<std::string> folders_in(std::string_view list, const std::string& origin) {
  std::vector<std::string> folders;
  while (!list.empty()) {
    std::string folder(list.substr(0, list.find(':')));
    list.remove_prefix(std::min(list.size(), folder.size() + 1));
    for (const std::string_view name : {"$ORIGIN", "${ORIGIN}"}) {
      if (const std::size_t at = folder.find(name); at != std::string::npos) folder.replace(at, name.size(), origin);
    }
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

}  // namespace

std::optional<Dynamic> read_dynamic(const std::string& path) {
  const MappedFile file(path.c_str());
  const auto segments = segments_of(file);
  const auto entries = entries_of(file, segments);
  std::optional<std::size_t> strings;
  for (const Entry& entry : entries) {
    if (entry.d_tag == DT_STRTAB) strings = offset_of(entry.d_un.d_ptr, segments);
  }
  if (!strings) return {};
  Dynamic dynamic;
  for (const Entry& entry : entries) {
    const auto text = [&] { return std::string(file.text(*strings + entry.d_un.d_val)); };
    if (entry.d_tag == DT_SONAME) dynamic.soname = text();
    if (entry.d_tag == DT_NEEDED) dynamic.needed.push_back(text());
    if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) dynamic.run_path = folders_in(text(), folder_of(path));
  }
  return dynamic;
}

}  // namespace tempi::preload
