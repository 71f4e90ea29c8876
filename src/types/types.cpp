#include "types/types.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/error.hpp"
#include "base/handle_map.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/trace.hpp"
#include "datatype/canonical.hpp"
#include "datatype/decode.hpp"
#include "mpi/destruction.hpp"
#include "mpi/real.hpp"
#include "types/reader.hpp"

namespace tempi {
namespace {

using pack::PreparedPtr;

// Neither is ever destroyed: the MPI library frees datatypes while the process exits.
HandleMap<KnownType>& known_types() {
  static auto& map = *new HandleMap<KnownType>;
  return map;
}

// Plans by structure, so that equivalent datatypes share one. The last few are kept alive: programs build, use and free
// the same datatype again and again.
class Plans {
 public:
  struct Found {
    PreparedPtr prepared;
    bool was_known;
  };

  Found get(const datatype::TreePtr& tree) {
    const std::lock_guard lock(mutex_);
    // Programs repeat constructions: the tree as built finds its plan without rewriting.
    if (PreparedPtr known = find(tree, as_built_)) return {known, true};
    const datatype::TreePtr canonical = datatype::canonicalise(tree);
    PreparedPtr prepared = find(canonical, canonical_);
    const bool was_known = prepared != nullptr;
    if (!was_known) prepared = std::make_shared<pack::Prepared>(canonical);
    if (is_short(*tree)) keep(tree, prepared);
    return {prepared, was_known};
  }

 private:
  struct Row {
    datatype::TreePtr tree;
    std::weak_ptr<pack::Prepared> prepared;
  };
  using Rows = std::unordered_map<std::uint64_t, Row>;

  static constexpr std::size_t kKept = 256, kLeastMostRows = 8 * kKept;
  static constexpr std::size_t kMostPiecesKept = 1024;

  // Long lists are not worth their memory here: each datatype gets its own plan.
  static bool is_short(const datatype::Tree& tree) {
    if (tree.child) return is_short(*tree.child);
    if (tree.pieces.size() > kMostPiecesKept) return false;
    return std::all_of(tree.pieces.begin(), tree.pieces.end(), [](const auto& piece) { return is_short(*piece.tree); });
  }

  static PreparedPtr find(const datatype::TreePtr& tree, Rows& rows) {
    const auto row = rows.find(tree->hash);
    if (row == rows.end()) return nullptr;
    PreparedPtr prepared = row->second.prepared.lock();
    return prepared && datatype::same(tree, row->second.tree) ? prepared : nullptr;
  }

  void keep(const datatype::TreePtr& tree, const PreparedPtr& prepared) {
    const datatype::TreePtr& canonical = prepared->plan.tree;
    as_built_[tree->hash] = {tree, prepared};
    canonical_[canonical->hash] = {canonical, prepared};
    kept_.push_back(prepared);
    if (kept_.size() > kKept) kept_.pop_front();
    if (canonical_.size() + as_built_.size() > most_rows_) {
      drop_dead(canonical_);
      drop_dead(as_built_);
      most_rows_ = std::max(kLeastMostRows, 2 * (canonical_.size() + as_built_.size()));
    }
  }

  static void drop_dead(Rows& rows) {
    std::erase_if(rows, [](const auto& row) { return row.second.prepared.expired(); });
  }

  Mutex<Lock::known_types> mutex_;
  Rows canonical_, as_built_;
  std::size_t most_rows_ = kLeastMostRows;  // of both; twice as many as were alive at the last sweep
  std::deque<PreparedPtr> kept_;
};

Plans& plans() {
  static auto& all = *new Plans;
  return all;
}

// The library destroys datatypes at MPI_Type_free, and others of its own accord.
Destruction& destruction() {
  static auto& watch =
      *new Destruction({&Real::MPI_Type_create_keyval, &Real::MPI_Type_free_keyval, &Real::MPI_Type_set_attr},
                       [](Handle datatype) { known_types().erase(key_of(datatype)); });
  return watch;
}

bool library_has_defects() {
  static const bool is_known_to = is_open_mpi();
  return is_known_to;
}

Analysis analyse(Handle datatype) {
  const trace::Span span("analyse datatype");
  MpiTypeReader reader;
  datatype::Oddities oddities;
  const datatype::Type type = datatype::decode(datatype, reader, library_has_defects() ? &oddities : nullptr);
  const auto [prepared, was_known] = plans().get(type.tree);
  const bool is_named = is_predefined(datatype);
  const bool is_dense = pack::is_plain_copy(prepared->plan, {2, type.extent});
  auto known = std::make_unique<const KnownType>(prepared, &prepared->plan, type.lower_bound, type.extent, is_named,
                                                 is_dense, oddities.any());
  if (oddities.any()) wrong_types_in_use.store(true, std::memory_order_relaxed);
  if (!is_named && !destruction().watch(datatype)) {
    throw Error(ErrorKind::unsupported, "the MPI library refuses an attribute on the datatype");
  }
  return {known_types().insert(key_of(datatype), std::move(known)), was_known};
}

}  // namespace

std::atomic<bool> wrong_types_in_use{false};

void leave_for_later() noexcept {
  if (library_has_defects()) wrong_types_in_use.store(true, std::memory_order_relaxed);
}

const KnownType* find_type(Handle datatype) noexcept { return known_types().find(key_of(datatype)); }

// One analysis at a time: two threads may come with the same new datatype. The library may call an error handler of the
// program's during it, which may come with another one.
Analysis analyse_type(Handle datatype) noexcept {
  static auto& mutex = *new RecursiveMutex<Lock::type_analysis>;
  try {
    const std::lock_guard lock(mutex);
    if (const KnownType* known = find_type(datatype)) return {known, true};
    return analyse(datatype);
  } catch (...) {
    const Error error = caught_error();
    constexpr auto kInstead = "a datatype is left to the MPI library";
    if (error.kind() == ErrorKind::unsupported) log(LogLevel::info, std::string(kInstead) + ": " + error.what());
    else warn_fallback(kInstead, error.what());
    return {nullptr, false};
  }
}

void forget_types() noexcept {
  known_types().clear();
  destruction().stop();
}

}  // namespace tempi
