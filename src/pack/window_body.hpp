// The per-thread bodies of the kernels that move narrow words. They have two phases, with a barrier between them:
// memory -> image in chunks of 16 bytes, image -> memory.
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

// Offsets of words of a box and distances in its image; `word` counts from the first of a run.
class Places {
 public:
  TEMPI_DEVICE Places(const KernelBox& box, const Windows& windows) : box_(box), windows_(windows) {}

  TEMPI_DEVICE Offsets of_run(std::uint32_t run) const { return offsets(run, windows_.n_run_dims, box_.n_dims); }
  TEMPI_DEVICE Offsets of_word(std::uint32_t word) const { return offsets(word, 0, windows_.n_run_dims); }
  TEMPI_DEVICE Offsets of_window(std::uint32_t window) const {
    return offsets(window, windows_.n_near_dims, windows_.n_run_dims);
  }
  TEMPI_DEVICE std::uint32_t image_of_word(std::uint32_t word) const { return image(word, 0, windows_.n_run_dims); }
  TEMPI_DEVICE std::uint32_t image_of_window(std::uint32_t window) const {
    return image(window, windows_.n_near_dims, windows_.n_run_dims);
  }
  TEMPI_DEVICE std::uint32_t window_of(std::uint32_t word) const {
    if (windows_.n_near_dims == windows_.n_run_dims) return 0;
    return quotient(word, windows_.window_magic, windows_.window_shift);
  }

 private:
  // The number of a dim's position within dims [first, end): calls add(dim, position).
  template <class Add>
  TEMPI_DEVICE void for_each_digit(std::uint32_t number, int first, int end, Add add) const {
    for (int d = first; d < end; ++d) {
      const std::uint32_t outer = d + 1 == end ? 0 : quotient(number, box_.dims[d].magic, box_.shifts[d]);
      add(d, number - outer * box_.dims[d].count);
      number = outer;
    }
  }

  TEMPI_DEVICE Offsets offsets(std::uint32_t number, int first, int end) const {
    Offsets sum{0, 0};
    for_each_digit(number, first, end, [&](int d, std::uint32_t index) {
      sum.src += index * box_.dims[d].src_stride;
      sum.dst += index * box_.dims[d].dst_stride;
    });
    return sum;
  }

  TEMPI_DEVICE std::uint32_t image(std::uint32_t number, int first, int end) const {
    std::uint32_t sum = 0;
    for_each_digit(number, first, end, [&](int d, std::uint32_t index) { sum += index * windows_.strides[d]; });
    return sum;
  }

  const KernelBox& box_;
  const Windows& windows_;
};

// A tile's words [first, end) of its run, and where the first of them lies.
struct TileWords {
  std::uint32_t first, end;
  const char* src;
  char* dst;
  std::uint32_t image;
  TEMPI_DEVICE bool empty() const { return first >= end; }  // so may be the last one of a run
  TEMPI_DEVICE std::uint32_t count() const { return end - first; }
};

// Tiles begin where the packed side has a multiple of 32 bytes, but for the first.
template <std::uint32_t kWordBytes>
TEMPI_DEVICE TileWords words_of_tile(const OneWindowed& list, std::uint32_t tile) {
  const Windows& windows = list.windows;
  const Places places(list.box, windows);
  const std::uint32_t run = tile / windows.tiles_per_run, in_run = tile - run * windows.tiles_per_run;
  const Offsets begin = places.of_run(run);
  const char* const src = list.src + list.box.src_offset + begin.src;
  char* const dst = list.dst + list.box.dst_offset + begin.dst;
  const std::uint32_t behind = residue(dst, kSectorBytes) / kWordBytes;
  const std::uint32_t from = in_run * windows.tile_words, to = from + windows.tile_words - behind;
  const std::uint32_t first = from > behind ? from - behind : 0;
  const Offsets place = places.of_word(first);
  return {first, to < windows.run_words ? to : windows.run_words, src + place.src, dst + place.dst,
          places.image_of_word(first)};
}

// The bytes of a source that may be read.
struct Readable {
  const char *begin, *end;
  TEMPI_DEVICE bool holds(const char* from, std::uint32_t bytes) const { return from >= begin && from + bytes <= end; }
};

TEMPI_DEVICE Readable readable(const OneWindowed& list) {
  return {list.src + list.windows.src_lowest, list.src + list.windows.src_end};
}

template <class Memory>
TEMPI_DEVICE void fetch_chunk(const char* from, char* image, const Readable& readable, const Memory& memory) {
  if (readable.holds(from, kChunkBytes)) return memory.copy_chunk(image, from);
  for (std::uint32_t i = 0; i < kChunkBytes; ++i) {
    if (readable.holds(from + i, 1)) image[i] = *memory.at(from + i);
  }
}

template <class Memory>
TEMPI_DEVICE void fetch_dense(const OneWindowed& list, const char* from, std::uint32_t bytes, Tile tile, char* image,
                              const Memory& memory) {
  const std::uint32_t skew = residue(from, kChunkBytes), end = skew + bytes;
  const Readable all = readable(list);
  const bool inside = all.holds(from - skew, (end + kChunkBytes - 1) / kChunkBytes * kChunkBytes);
  if (inside) {
    for (std::uint32_t at = tile.thread * kChunkBytes; at < end; at += tile.threads * kChunkBytes)
      memory.copy_chunk(image + at, from - skew + at);
  } else {
    for (std::uint32_t at = tile.thread * kChunkBytes; at < end; at += tile.threads * kChunkBytes)
      fetch_chunk(from - skew + at, image + at, all, memory);
  }
}

// The windows of a tile, or what of them the tile covers.
template <std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void fetch_windows(const OneWindowed& list, const TileWords& words, Tile tile, char* image,
                                const Memory& memory) {
  const Windows& windows = list.windows;
  const Places places(list.box, windows);
  const std::uint32_t end_image = places.image_of_word(words.end - 1) + kWordBytes;
  const std::uint32_t first = places.window_of(words.first), last = places.window_of(words.end - 1);
  if (first == last) return fetch_dense(list, words.src, end_image - words.image, tile, image, memory);
  const Readable all = readable(list);
  const std::int64_t first_place = places.of_word(words.first).src;
  const std::uint32_t n = (last - first + 1) * windows.chunks, image_base = residue(words.src, kChunkBytes);
  for (std::uint32_t i = tile.thread; i < n; i += tile.threads) {
    const std::uint32_t ahead = quotient(i, windows.chunk_magic, windows.chunk_shift), window = first + ahead;
    const std::uint32_t start = places.image_of_window(window);
    const std::uint32_t begin = ahead == 0 ? words.image : start;
    const std::uint32_t end = window == last ? end_image : start + windows.window_bytes;
    const char* const from = words.src + (ahead == 0 ? 0 : places.of_window(window).src - first_place);
    const std::uint32_t skew = residue(from, kChunkBytes), at = (i - ahead * windows.chunks) * kChunkBytes;
    if (at >= skew + (end - begin)) continue;
    fetch_chunk(from - skew + at, image + (begin - words.image + image_base - skew + at), all, memory);
  }
}

// Walks over the words of a run: within the two innermost dims by addition.
class Walk {
 public:
  TEMPI_DEVICE Walk(const KernelBox& box, const Windows& windows, std::uint32_t word, std::uint32_t step)
      : box_(box), windows_(windows), word_(word), step_(step), stride_(windows.strides[0]) {
    const int dims = windows.n_run_dims;
    inner_count_ = dims > 1 ? box.dims[0].count : kEndless;
    second_count_ = dims > 2 ? box.dims[1].count : kEndless;
    wrap_ = dims > 1 ? windows.strides[1] - inner_count_ * stride_ : 0;
    step_second_ = dims > 1 ? quotient(step, box.dims[0].magic, box.shifts[0]) : 0;
    step_inner_ = step - (dims > 1 ? step_second_ * inner_count_ : 0);
    step_image_ = step * stride_ + step_second_ * wrap_;
    place();
  }

  TEMPI_DEVICE std::uint32_t image() const { return image_; }
  TEMPI_DEVICE std::uint32_t stride() const { return stride_; }

  TEMPI_DEVICE void step() {
    word_ += step_;
    inner_ += step_inner_;
    second_ += step_second_;
    image_ += step_image_;
    if (inner_ >= inner_count_) {
      inner_ -= inner_count_;
      ++second_;
      image_ += wrap_;
    }
    if (second_ >= second_count_) place();
  }

  TEMPI_DEVICE bool is_straight(std::uint32_t n) const { return inner_ + n <= inner_count_; }
  TEMPI_DEVICE bool is_within_two_dims(std::uint32_t n) const { return second_ + n < second_count_; }

  // Calls read(k, image) for the next n words, n a constant; all of them lie within two dims.
  template <std::uint32_t n, class Read>
  TEMPI_DEVICE void within_two_dims(Read read) const {
    std::uint32_t inner = inner_, image = image_;
    TEMPI_UNROLL
    for (std::uint32_t k = 0; k < n; ++k) {
      read(k, image);
      image += stride_;
      if (++inner == inner_count_) {
        inner = 0;
        image += wrap_;
      }
    }
  }

 private:
  static constexpr std::uint32_t kEndless = 0xffffffff;

  TEMPI_DEVICE void place() {
    const bool single = inner_count_ == kEndless;
    const std::uint32_t outer = single ? 0 : quotient(word_, box_.dims[0].magic, box_.shifts[0]);
    inner_ = single ? word_ : word_ - outer * inner_count_;
    second_ = outer;
    image_ = word_ * stride_ + outer * wrap_;
    if (second_count_ == kEndless) return;
    const std::uint32_t third = quotient(outer, box_.dims[1].magic, box_.shifts[1]);
    second_ = outer - third * second_count_;
    image_ = Places(box_, windows_).image_of_word(word_);
  }

  const KernelBox& box_;
  const Windows& windows_;
  std::uint32_t word_, step_, inner_, second_, image_;
  std::uint32_t stride_, inner_count_, second_count_, wrap_, step_inner_, step_second_, step_image_;
};

template <class Word>
struct alignas(kUnitBytes) Unit {
  Word words[kUnitBytes / sizeof(Word)];
};

// A thread stores units of the destination, at multiples of their size; those at the ends of the tile word by word.
template <class Word, class Memory>
TEMPI_DEVICE void store_packed(const OneWindowed& list, const TileWords& words, Tile tile, const char* image,
                               const Memory& memory) {
  constexpr std::uint32_t kWords = kUnitBytes / sizeof(Word);
  const Places places(list.box, list.windows);
  const std::uint32_t skew = residue(words.dst, kUnitBytes) / sizeof(Word), head = (kWords - skew) % kWords;
  const char* const from = image + static_cast<std::int32_t>(residue(words.src, kChunkBytes) - words.image);
  const auto word_at = [&](std::uint32_t place) {
    return *reinterpret_cast<const Word*>(from + static_cast<std::int32_t>(place));
  };
  const std::uint32_t n = words.count(), whole = n < head ? 0 : (n - head) / kWords;
  char* to = words.dst + (head + tile.thread * kWords) * sizeof(Word);
  Walk walk(list.box, list.windows, words.first + head + tile.thread * kWords, tile.threads * kWords);
  for (std::uint32_t unit = tile.thread; unit < whole; unit += tile.threads) {
    Unit<Word> value;
    if (walk.is_straight(kWords)) {
      TEMPI_UNROLL
      for (std::uint32_t k = 0; k < kWords; ++k) value.words[k] = word_at(walk.image() + k * walk.stride());
    } else if (walk.is_within_two_dims(kWords)) {
      walk.template within_two_dims<kWords>(
          [&](std::uint32_t k, std::uint32_t place) { value.words[k] = word_at(place); });
    } else {
      const std::uint32_t word = words.first + head + unit * kWords;
      TEMPI_UNROLL
      for (std::uint32_t k = 0; k < kWords; ++k) value.words[k] = word_at(places.image_of_word(word + k));
    }
    memory.store(to, value);
    to += tile.threads * kUnitBytes;
    walk.step();
  }
  const std::uint32_t rest = n - whole * kWords;  // before and behind the whole units
  if (tile.thread >= rest) return;
  const std::uint32_t word = tile.thread < head ? tile.thread : tile.thread + whole * kWords;
  *reinterpret_cast<Word*>(memory.at(words.dst + word * sizeof(Word))) =
      word_at(places.image_of_word(words.first + word));
}

template <std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void fetch(const OneWindowed& list, const TileWords& words, Tile tile, char* image, const Memory& memory) {
  if (!words.empty()) fetch_windows<kWordBytes>(list, words, tile, image, memory);
}

template <std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void store(const OneWindowed& list, const TileWords& words, Tile tile, const char* image,
                        const Memory& memory) {
  if (!words.empty()) store_packed<typename WordOf<kWordBytes>::Type>(list, words, tile, image, memory);
}

}  // namespace tempi::pack
