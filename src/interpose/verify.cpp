#include "interpose/verify.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"
#include "datatype/decode.hpp"
#include "mpi/type_reader.hpp"

namespace tempi::interpose {
namespace {

// Calls fn(offset from the typed buffer, offset in the packed buffer, length) for each run of all elements.
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

Verification::Verification(const PackCall& call, const pack::Transfer& transfer, const pack::Route& route,
                           device::Device* device)
    : call_(call), transfer_(transfer) {
  const bool is_scattered =
      !route.typed.cpu_reaches() && !pack::lies_in_one_place(route.typed, transfer.typed, pack::typed_span(transfer));
  if (route.is_split() || is_scattered) {
    warn_once("verify_parts", "TEMPI_VERIFY skips datatypes that span several memories");
    return;
  }
  typed_ = pack::typed_image(transfer, route, device);
  packed_ = pack::packed_image(transfer, route, device);
}

void Verification::check() {
  if (!typed_) return;
  MpiTypeReader reader;  // decoded anew: neither the cache nor the rewrites are part of the reference
  const datatype::TreePtr tree = datatype::decode(call_.datatype, reader).tree;
  call_.direction == pack::Direction::pack ? check_packed(*tree) : check_typed(*tree);
}

void Verification::check_packed(const datatype::Tree& tree) {
  packed_->fetch();
  for_each_run(tree, transfer_.repeat, [&](std::int64_t typed, std::int64_t packed, std::int64_t length) {
    const auto* expected =
        static_cast<const std::byte*>(typed_->translate(static_cast<std::byte*>(transfer_.typed) + typed));
    const std::int64_t same = first_difference(expected, packed_->data() + packed, length);
    if (same != length) fail("packed", packed + same, tree);
  });
}

void Verification::check_typed(const datatype::Tree& tree) {
  pack::HostImage& expected = *typed_;
  for_each_run(tree, transfer_.repeat, [&](std::int64_t typed, std::int64_t packed, std::int64_t length) {
    std::memcpy(expected.translate(static_cast<std::byte*>(transfer_.typed) + typed), packed_->data() + packed,
                static_cast<std::size_t>(length));
  });
  pack::HostImage actual = expected;
  actual.fetch();
  const std::int64_t same = first_difference(expected.data(), actual.data(), expected.size());
  if (same != expected.size()) fail("unpacked", same, tree);
}

void Verification::fail(const char* where, std::int64_t offset, const datatype::Tree& tree) const {
  const std::string message = std::string("TEMPI_VERIFY: wrong byte at offset ") + std::to_string(offset) + " of the " +
                              where + " data, count " + std::to_string(transfer_.repeat.count) + " of\n" +
                              datatype::describe(tree);
  warn_once(message.c_str(), message);
  throw Error(ErrorKind::verification, message);
}

}  // namespace tempi::interpose
