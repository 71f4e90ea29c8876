#include "packing/verify.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/verified.hpp"
#include "datatype/decode.hpp"
#include "types/reader.hpp"

namespace tempi::packing {
namespace {

// Calls fn(offset from the program's buffer, offset in the packed bytes, length) for each run of all elements.
template <class Fn>
void for_each_run(const datatype::Tree& tree, pack::Repeat repeat, const Fn& fn) {
  std::int64_t packed = 0;
  for (std::int64_t element = 0; element < repeat.count; ++element) {
    datatype::walk(tree, element * repeat.extent, [&](std::int64_t offset, std::int64_t length) {
      fn(offset, packed, length);
      packed += length;
    });
  }
}

std::int64_t first_difference(const std::byte* a, const std::byte* b, std::int64_t bytes) {
  return std::mismatch(a, a + bytes, b).first - a;
}

}  // namespace

Verification::Verification(const PackCall& call, const pack::BoxMove& box_move, device::Device* device)
    : call_(call), box_move_(box_move) {
  const pack::End& end = box_move.laid_out();
  const bool is_scattered = !end.place.first.cpu_reaches() &&
                            !pack::lies_in_one_place(end.place.first, end.address, span_of(end, box_move.count));
  if (end.place.is_split() || is_scattered) {
    warn_once("verify_parts", "TEMPI_VERIFY skips datatypes that span several memories");
    return;
  }
  source_ = pack::image_of(box_move.source, box_move.count, device);
  destination_ = pack::image_of(box_move.destination, box_move.count, device);
}

void Verification::check() {
  if (!source_) return;
  MpiTypeReader reader;  // decoded anew: neither the cache nor the rewrites are part of the reference
  const datatype::TreePtr tree = datatype::decode(call_.datatype, reader).tree;
  pack::HostImage& expected = *destination_;
  const pack::Repeat repeat{box_move_.count, box_move_.laid_out().extent};
  for_each_run(*tree, repeat, [&](std::int64_t typed, std::int64_t packed, std::int64_t length) {
    const auto [source, destination] = pack::ends_of(call_.direction, typed, packed);
    std::memcpy(expected.translate(box_move_.destination.at(destination)),
                source_->translate(box_move_.source.at(source)), static_cast<std::size_t>(length));
  });
  pack::HostImage actual = expected;
  actual.fetch();
  const std::int64_t same = first_difference(expected.data(), actual.data(), expected.size());
  if (same != expected.size()) fail(same, *tree);
  ++verified.calls;
  verified.bytes += static_cast<std::uint64_t>(box_move_.bytes());
}

void Verification::fail(std::int64_t offset, const datatype::Tree& tree) const {
  const std::string where = call_.direction == pack::Direction::pack ? "packed" : "unpacked";
  const std::string message = std::string("TEMPI_VERIFY: wrong byte at offset ") + std::to_string(offset) + " of the " +
                              where + " data, count " + std::to_string(box_move_.count) + " of\n" +
                              datatype::describe(tree);
  warn_once(message.c_str(), message);
  throw Error(ErrorKind::verification, message);
}

}  // namespace tempi::packing
