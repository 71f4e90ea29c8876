// The positions of a box's words, on both sides and in the image of a tile, and the windows of a tile.
#pragma once

#include "pack/kernel_body.hpp"
#include "pack/window_params.hpp"

namespace tempi::pack {

TEMPI_DEVICE std::uint32_t residue(const void* address, std::uint32_t of) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address) % of);
}

struct Offsets {
  std::int64_t src, dst;
};

// Position of a word or a window of a run.
struct Spot {
  std::int64_t offset;  // bytes on the typed side, from the run's first word
  std::uint32_t place;  // bytes from the run's first word, computed with Windows::strides
};

template <Form kForm>
class Places {
 public:
  TEMPI_DEVICE Places(const KernelBox& box, const Windows& windows) : box_(box), windows_(windows) {}

  TEMPI_DEVICE Offsets of_run(std::uint32_t run) const {
    Offsets sum{0, 0};
    for_each_digit(run, windows_.n_run_dims, box_.n_dims, [&](int d, std::uint32_t index) {
      sum.src += index * box_.dims[d].src_stride;
      sum.dst += index * box_.dims[d].dst_stride;
    });
    return sum;
  }
  TEMPI_DEVICE Spot of_word(std::uint32_t word) const { return spot(word, 0); }
  TEMPI_DEVICE Spot of_window(std::uint32_t window) const { return spot(window, windows_.n_near_dims); }
  TEMPI_DEVICE std::uint32_t place_of_word(std::uint32_t word) const {
    std::uint32_t sum = 0;
    for_each_digit(word, 0, windows_.n_run_dims,
                   [&](int d, std::uint32_t index) { sum += index * windows_.strides[d]; });
    return sum;
  }
  TEMPI_DEVICE std::uint32_t window_of(std::uint32_t word) const {
    if (windows_.n_near_dims == windows_.n_run_dims) return 0;
    return quotient(word, windows_.window_magic, windows_.window_shift);
  }

 private:
  // Splits `number` into the positions in the dims [first, end), and calls add(dim, position) for
  // each dim. The loop is unrolled, so that each dim is a constant.
  template <class Add>
  TEMPI_DEVICE void for_each_digit(std::uint32_t number, int first, int end, Add add) const {
    TEMPI_UNROLL
    for (int d = 0; d < kMaxKernelDims; ++d) {
      if (d < first) continue;
      if (d >= end) break;
      const std::uint32_t outer = d + 1 == end ? 0 : quotient(number, box_.dims[d].magic, box_.shifts[d]);
      add(d, number - outer * box_.dims[d].count);
      number = outer;
    }
  }

  TEMPI_DEVICE Spot spot(std::uint32_t number, int first) const {
    Spot sum{0, 0};
    for_each_digit(number, first, windows_.n_run_dims, [&](int d, std::uint32_t index) {
      const KernelDim& dim = box_.dims[d];
      sum.offset += index * (kForm == Form::gather ? dim.src_stride : dim.dst_stride);
      sum.place += index * windows_.strides[d];
    });
    return sum;
  }

  const KernelBox& box_;
  const Windows& windows_;
};

// A tile's words [first, end) of its run, and the position of the first.
struct TileWords {
  std::uint32_t first, end;
  const char* src;
  char* dst;
  Spot spot;
  TEMPI_DEVICE bool empty() const { return first >= end; }  // the last tile of a run may be empty
  TEMPI_DEVICE std::uint32_t count() const { return end - first; }
};

// Tiles, except the first, begin where the address on the packed side is a multiple of 32 bytes.
template <Form kForm, std::uint32_t kWordBytes>
TEMPI_DEVICE TileWords words_of_tile(const OneWindowed& list, std::uint32_t tile) {
  const Windows& windows = list.windows;
  const Places<kForm> places(list.box, windows);
  const std::uint32_t run = tile < windows.tiles_per_run ? 0 : tile / windows.tiles_per_run;
  const std::uint32_t in_run = tile - run * windows.tiles_per_run;
  const Offsets begin = places.of_run(run);
  const char* const src = list.src + list.box.src_offset + begin.src;
  char* const dst = list.dst + list.box.dst_offset + begin.dst;
  const std::uint32_t behind = residue(kForm == Form::gather ? dst : src, kSectorBytes) / kWordBytes;
  const std::uint32_t from = in_run * windows.tile_words, to = from + windows.tile_words - behind;
  const std::uint32_t first = from > behind ? from - behind : 0;
  const std::uint32_t end = to < windows.run_words ? to : windows.run_words;
  const Spot spot = places.of_word(first);
  const std::int64_t packed = std::int64_t{first} * kWordBytes;
  if constexpr (kForm == Form::gather) return {first, end, src + spot.offset, dst + packed, spot};
  else return {first, end, src + packed, dst + spot.offset, spot};
}

// Divides the windows of a tile into pieces of kPieceBytes, and calls use(address, place) for each piece. If the tile
// covers only a part of a window, only this part is divided. The first and last piece of a window may reach beyond it.
template <Form kForm, std::uint32_t kWordBytes, std::uint32_t kPieceBytes, class Use>
TEMPI_DEVICE void for_each_piece(const OneWindowed& list, const TileWords& words, Tile tile, Use use) {
  const Windows& windows = list.windows;
  const Places<kForm> places(list.box, windows);
  const char* const typed = kForm == Form::gather ? words.src : words.dst;
  const std::uint32_t end_place = places.place_of_word(words.end - 1) + kWordBytes;
  const std::uint32_t first = places.window_of(words.first), last = places.window_of(words.end - 1);
  const std::uint32_t n = (last - first + 1) * windows.pieces;
  for (std::uint32_t i = tile.thread; i < n; i += tile.threads) {
    const std::uint32_t ahead = quotient(i, windows.piece_magic, windows.piece_shift), window = first + ahead;
    const Spot start = places.of_window(window), begin = ahead == 0 ? words.spot : start;
    const std::uint32_t end = window == last ? end_place : start.place + windows.window_bytes;
    const char* const from = typed + (begin.offset - words.spot.offset);
    const std::uint32_t skew = residue(from, kPieceBytes), at = (i - ahead * windows.pieces) * kPieceBytes;
    if (at < skew + (end - begin.place)) use(from - skew + at, begin.place - skew + at);
  }
}

}  // namespace tempi::pack
