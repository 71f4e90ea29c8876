// The per-thread bodies of the kernels that move narrow words. They have two phases, with a barrier between them:
// memory -> image in chunks of 16 bytes, image -> memory.
#pragma once

#include "pack/window_tile.hpp"

namespace tempi::pack {

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

template <std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void fetch_windows(const OneWindowed& list, const TileWords& words, Tile tile, char* image,
                                const Memory& memory) {
  const Places<Form::gather> places(list.box, list.windows);
  if (places.window_of(words.first) == places.window_of(words.end - 1)) {
    const std::uint32_t bytes = places.place_of_word(words.end - 1) + kWordBytes - words.spot.place;
    return fetch_dense(list, words.src, bytes, tile, image, memory);
  }
  const Readable all = readable(list);
  const std::uint32_t image_base = residue(words.src, kChunkBytes);
  for_each_piece<Form::gather, kWordBytes, kChunkBytes>(list, words, tile, [&](const char* from, std::uint32_t place) {
    fetch_chunk(from, image + (place - words.spot.place + image_base), all, memory);
  });
}

// Walks over the words of a run. A step within the two innermost dims needs additions only.
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
    step_place_ = step * stride_ + step_second_ * wrap_;
    find();
  }

  TEMPI_DEVICE std::uint32_t place() const { return place_; }
  TEMPI_DEVICE std::uint32_t stride() const { return stride_; }

  TEMPI_DEVICE void step() {
    word_ += step_;
    inner_ += step_inner_;
    second_ += step_second_;
    place_ += step_place_;
    if (inner_ >= inner_count_) {
      inner_ -= inner_count_;
      ++second_;
      place_ += wrap_;
    }
    if (second_ >= second_count_) find();
  }

  TEMPI_DEVICE bool is_straight(std::uint32_t n) const { return inner_ + n <= inner_count_; }
  TEMPI_DEVICE bool is_within_two_dims(std::uint32_t n) const { return second_ + n < second_count_; }

  // Calls read(k, place) for the next n words, n a constant; all of them lie within two dims.
  template <std::uint32_t n, class Read>
  TEMPI_DEVICE void within_two_dims(Read read) const {
    std::uint32_t inner = inner_, place = place_;
    TEMPI_UNROLL
    for (std::uint32_t k = 0; k < n; ++k) {
      read(k, place);
      place += stride_;
      if (++inner == inner_count_) {
        inner = 0;
        place += wrap_;
      }
    }
  }

 private:
  static constexpr std::uint32_t kEndless = 0xffffffff;

  TEMPI_DEVICE void find() {
    const bool single = inner_count_ == kEndless;
    const std::uint32_t outer = single ? 0 : quotient(word_, box_.dims[0].magic, box_.shifts[0]);
    inner_ = single ? word_ : word_ - outer * inner_count_;
    second_ = outer;
    place_ = word_ * stride_ + outer * wrap_;
    if (second_count_ == kEndless) return;
    const std::uint32_t third = quotient(outer, box_.dims[1].magic, box_.shifts[1]);
    second_ = outer - third * second_count_;
    place_ = Places<Form::gather>(box_, windows_).place_of_word(word_);
  }

  const KernelBox& box_;
  const Windows& windows_;
  std::uint32_t word_, step_, inner_, second_, place_;
  std::uint32_t stride_, inner_count_, second_count_, wrap_, step_inner_, step_second_, step_place_;
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
  const Places<Form::gather> places(list.box, list.windows);
  const std::uint32_t skew = residue(words.dst, kUnitBytes) / sizeof(Word), head = (kWords - skew) % kWords;
  const char* const from = image + static_cast<std::int32_t>(residue(words.src, kChunkBytes) - words.spot.place);
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
      for (std::uint32_t k = 0; k < kWords; ++k) value.words[k] = word_at(walk.place() + k * walk.stride());
    } else if (walk.is_within_two_dims(kWords)) {
      walk.template within_two_dims<kWords>(
          [&](std::uint32_t k, std::uint32_t place) { value.words[k] = word_at(place); });
    } else {
      const std::uint32_t word = words.first + head + unit * kWords;
      TEMPI_UNROLL
      for (std::uint32_t k = 0; k < kWords; ++k) value.words[k] = word_at(places.place_of_word(word + k));
    }
    memory.store(to, value);
    to += tile.threads * kUnitBytes;
    walk.step();
  }
  const std::uint32_t rest = n - whole * kWords;  // before and behind the whole units
  if (tile.thread >= rest) return;
  const std::uint32_t word = tile.thread < head ? tile.thread : tile.thread + whole * kWords;
  *reinterpret_cast<Word*>(memory.at(words.dst + word * sizeof(Word))) =
      word_at(places.place_of_word(words.first + word));
}

// Prefetches the lines that the tile will store to into the L2 cache, and fetches its packed bytes
// at the same time.
template <std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void fetch_packed(const OneWindowed& list, const TileWords& words, Tile tile, char* image,
                               const Memory& memory) {
  for_each_piece<Form::scatter, kWordBytes, kLineBytes>(
      list, words, tile, [&](const char* line, std::uint32_t) { memory.prefetch(line); });
  fetch_dense(list, words.src, words.count() * kWordBytes, tile, image, memory);
}

// For runs with up to kDims dims; missing dims add nothing. Neighbouring threads store neighbouring words of the packed
// side.
template <int kDims, class Word, class Memory>
TEMPI_DEVICE void store_words(const OneWindowed& list, const TileWords& words, Tile tile, const Word* from,
                              const Memory& memory) {
  const Windows& windows = list.windows;
  const std::uint32_t n = words.count(), stride = windows.strides[0];
  std::uint32_t wraps[kDims - 1];  // bytes from the end of a dim to the next position in dim d + 1
  TEMPI_UNROLL
  for (int d = 0; d + 1 < kDims; ++d) {
    const std::uint32_t wrap = windows.strides[d + 1] - list.box.dims[d].count * windows.strides[d];
    wraps[d] = d + 1 < windows.n_run_dims ? wrap : 0;
  }
  const auto store = [&](std::uint32_t i) {
    std::uint32_t outer = words.first + i, place = outer * stride - words.spot.place;
    TEMPI_UNROLL
    for (int d = 0; d + 1 < kDims; ++d) {
      outer = quotient(outer, list.box.dims[d].magic, list.box.shifts[d]);
      place += outer * wraps[d];
    }
    *reinterpret_cast<Word*>(memory.at(words.dst + static_cast<std::int32_t>(place))) = from[i];
  };
  const std::uint32_t whole = n / tile.threads;  // steps of all threads, unrolled: several are in flight
  TEMPI_UNROLL_4
  for (std::uint32_t step = 0; step < whole; ++step) store(step * tile.threads + tile.thread);
  if (whole * tile.threads + tile.thread < n) store(whole * tile.threads + tile.thread);
}

template <class Word, class Memory>
TEMPI_DEVICE void store_typed(const OneWindowed& list, const TileWords& words, Tile tile, const char* image,
                              const Memory& memory) {
  const Word* const from = reinterpret_cast<const Word*>(image + residue(words.src, kChunkBytes));
  switch (list.windows.n_run_dims) {
    case 1:
    case 2: return store_words<2>(list, words, tile, from, memory);
    case 3: return store_words<3>(list, words, tile, from, memory);
    default: return store_words<kMaxKernelDims>(list, words, tile, from, memory);
  }
}

template <Form kForm, std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void fetch(const OneWindowed& list, const TileWords& words, Tile tile, char* image, const Memory& memory) {
  if (words.empty()) return;
  if constexpr (kForm == Form::gather) fetch_windows<kWordBytes>(list, words, tile, image, memory);
  else fetch_packed<kWordBytes>(list, words, tile, image, memory);
}

template <Form kForm, std::uint32_t kWordBytes, class Memory>
TEMPI_DEVICE void store(const OneWindowed& list, const TileWords& words, Tile tile, const char* image,
                        const Memory& memory) {
  using Word = typename WordOf<kWordBytes>::Type;
  if (words.empty()) return;
  if constexpr (kForm == Form::gather) store_packed<Word>(list, words, tile, image, memory);
  else store_typed<Word>(list, words, tile, image, memory);
}

}  // namespace tempi::pack
