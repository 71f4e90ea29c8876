// Copies of one long block. choose_long() selects the method that was fastest in measurements.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tempi::host {

inline void library_copy(char* dst, const char* src, std::int64_t bytes) {
  std::memcpy(dst, src, static_cast<std::size_t>(bytes));
}

#if defined(__x86_64__)
// The copy instruction of the processor. For blocks of a few KiB, it writes cache lines without reading them first.
inline constexpr std::int64_t kLeastStringCopy = 1024, kMostStringCopy = 4096;

inline void string_copy(char* dst, const char* src, std::int64_t bytes) {
  asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
}
#else
inline constexpr std::int64_t kLeastStringCopy = INT64_MAX, kMostStringCopy = 0;
inline void string_copy(char* dst, const char* src, std::int64_t bytes) { library_copy(dst, src, bytes); }
#endif

inline constexpr std::int64_t kLine = 64;

// For blocks of at least one line. The last line may overlap the line before it.
inline void copy_lines(char* dst, const char* src, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes - kLine; at += kLine) std::memcpy(dst + at, src + at, kLine);
  std::memcpy(dst + bytes - kLine, src + bytes - kLine, kLine);
}

// The copy instruction takes up to 13 times as long (AMD Zen 4) if the destination is 1 to 15 bytes after the source,
// modulo a page. The C library's memcpy uses it, too, for blocks of more than 2 KiB (glibc 2.36).
inline bool is_slow_string_copy(const char* dst, const char* src, std::int64_t bytes) {
  constexpr std::int64_t kMostInCaches = 1 << 20;
  const auto after = (reinterpret_cast<std::uintptr_t>(dst) - reinterpret_cast<std::uintptr_t>(src)) % 4096;
  return bytes >= kLeastStringCopy && bytes <= kMostInCaches && after >= 1 && after <= 15;
}

template <auto kCopy>
void copy_in_pages(char* dst, const char* src, std::int64_t bytes) {
  is_slow_string_copy(dst, src, bytes) ? copy_lines(dst, src, bytes) : kCopy(dst, src, bytes);
}

#if defined(__SSE2__)
inline void stream_line(char* dst, const char* src) {
  for (int part = 0; part < kLine; part += 16) {
    const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + part));
    _mm_stream_si128(reinterpret_cast<__m128i*>(dst + part), word);
  }
}

// Writes whole lines around the caches. Normal stores read each line before they write it,
// which makes a strided destination slow.
inline void stream_copy(char* dst, const char* src, std::int64_t bytes) {
  const std::int64_t head = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(dst) & (kLine - 1));
  if (head > 0) library_copy(dst, src, head);
  std::int64_t at = head;
  for (; at + kLine <= bytes; at += kLine) stream_line(dst + at, src + at);
  if (at < bytes) library_copy(dst + at, src + at, bytes - at);
}

// Orders streamed stores before what the thread stores next, such as a flag that another thread waits for.
inline void end_streaming() { _mm_sfence(); }
#else
inline void stream_line(char* dst, const char* src) { library_copy(dst, src, kLine); }
inline void stream_copy(char* dst, const char* src, std::int64_t bytes) { library_copy(dst, src, bytes); }
inline void end_streaming() {}
#endif

}  // namespace tempi::host
