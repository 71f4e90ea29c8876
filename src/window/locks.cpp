#include "window/locks.hpp"

namespace tempi::window {
namespace {

using ipc::WindowBoard;

std::uint64_t bit_of(int rank) { return std::uint64_t{1} << rank; }
std::uint64_t word_of(int rank) { return static_cast<std::uint64_t>(rank) + 1; }
// Of a word with an owner: its bit.
std::uint64_t owner_of(const std::atomic<std::uint64_t>& word) {
  const std::uint64_t owner = word.load();
  return owner == 0 ? 0 : std::uint64_t{1} << (owner - 1);
}

bool is_taken(std::atomic<std::uint64_t>& word, int rank) {
  std::uint64_t none = 0;
  return word.compare_exchange_strong(none, word_of(rank));
}

void take(Window& window, std::atomic<std::uint64_t>& word) {
  window.await([&] { return is_taken(word, window.rank()); }, [&] { return owner_of(word); });
}

bool is_shared(WindowBoard& board, int rank) {
  board.readers.fetch_or(bit_of(rank));
  if (board.writer.load() == 0) return true;
  board.readers.fetch_and(~bit_of(rank));
  return false;
}

void await_no_writer(Window& window, const WindowBoard& board) {
  window.await([&] { return board.writer.load() == 0; }, [&] { return owner_of(board.writer); });
}

// The rank of the first part whose lock another process has; negative: all are taken.
int take_all_shared(Window& window) {
  for (int i = 0; i < window.size(); ++i) {
    if (!window.has_lock_words(i)) continue;
    if (!is_shared(*window.member(i).board, window.rank())) return i;
    window.member(i).held = Held::shared;
  }
  return -1;
}

}  // namespace

void lock_shared(Window& window, int target) {
  Member& member = window.member(target);
  while (!is_shared(*member.board, window.rank())) await_no_writer(window, *member.board);
  member.held = Held::shared;
}

void lock_exclusive(Window& window, int target) {
  Member& member = window.member(target);
  WindowBoard& board = *member.board;
  take(window, board.writer);
  try {
    window.await([&] { return board.readers.load() == 0; }, [&] { return board.readers.load(); });
  } catch (...) {
    board.writer.store(0);
    throw;
  }
  member.held = Held::exclusive;
}

void unlock(Window& window, int target) noexcept {
  Member& member = window.member(target);
  const Held held = member.held.exchange(Held::nothing);
  if (held == Held::exclusive) member.board->writer.store(0);
  if (held == Held::shared) member.board->readers.fetch_and(~bit_of(window.rank()));
}

void lock_all_shared(Window& window) {
  for (int busy = take_all_shared(window); busy >= 0; busy = take_all_shared(window)) {
    unlock_all_shared(window);
    await_no_writer(window, *window.member(busy).board);
  }
}

void unlock_all_shared(Window& window) noexcept {
  for (int i = 0; i < window.size(); ++i) unlock(window, i);
}

Accumulating::Accumulating(Window& window, int target) : board_(*window.member(target).board) {
  take(window, board_.accumulator);
}

Accumulating::~Accumulating() { board_.accumulator.store(0); }

}  // namespace tempi::window
