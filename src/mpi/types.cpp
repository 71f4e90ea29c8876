#include "mpi/types.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "datatype/canonical.hpp"
#include "datatype/decode.hpp"
#include "mpi/handle_map.hpp"
#include "mpi/real.hpp"
#include "mpi/type_reader.hpp"

namespace tempi {
namespace {

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
    PlanPtr plan;
    bool was_known;
  };

  Found get(const datatype::TreePtr& tree) {
    const std::lock_guard lock(mutex_);
    // A program repeats constructions: the tree as built finds its plan without being rewritten.
    if (PlanPtr plan = find(tree, as_built_)) return {plan, true};
    const datatype::TreePtr canonical = datatype::canonicalise(tree);
    PlanPtr plan = find(canonical, canonical_);
    const bool was_known = plan != nullptr;
    if (!was_known) plan = std::make_shared<const pack::Plan>(canonical);
    if (is_short(*tree)) keep(tree, plan);
    return {plan, was_known};
  }

 private:
  struct Row {
    datatype::TreePtr tree;
    std::weak_ptr<const pack::Plan> plan;
  };
  using Rows = std::unordered_map<std::uint64_t, Row>;

  static constexpr std::size_t kKept = 256;
  static constexpr std::size_t kMostPiecesKept = 1024;

  // Long lists are not worth their memory here: each datatype gets its own plan.
  static bool is_short(const datatype::Tree& tree) {
    if (tree.child) return is_short(*tree.child);
    if (tree.pieces.size() > kMostPiecesKept) return false;
    return std::all_of(tree.pieces.begin(), tree.pieces.end(), [](const auto& piece) { return is_short(*piece.tree); });
  }

  static PlanPtr find(const datatype::TreePtr& tree, Rows& rows) {
    const auto row = rows.find(tree->hash);
    if (row == rows.end()) return nullptr;
    if (PlanPtr plan = row->second.plan.lock(); plan && datatype::same(tree, row->second.tree)) return plan;
    return nullptr;
  }

  void keep(const datatype::TreePtr& tree, const PlanPtr& plan) {
    as_built_[tree->hash] = {tree, plan};
    canonical_[plan->tree->hash] = {plan->tree, plan};
    kept_.push_back(plan);
    if (kept_.size() > kKept) kept_.pop_front();
    if (canonical_.size() + as_built_.size() > 8 * kKept) {
      drop_dead(canonical_);
      drop_dead(as_built_);
    }
  }

  static void drop_dead(Rows& rows) {
    std::erase_if(rows, [](const auto& row) { return row.second.plan.expired(); });
  }

  std::mutex mutex_;
  Rows canonical_, as_built_;
  std::deque<PlanPtr> kept_;
};

Plans& plans() {
  static auto& all = *new Plans;
  return all;
}

// ---- eviction: an attribute on the datatype, whose delete callback the library calls on every destruction

int do_not_copy(Handle, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int forget_type(Handle datatype, int, void*, void*) {
  known_types().erase(key_of(datatype));
  return MPI_SUCCESS;
}

std::mutex keyval_mutex;
std::atomic<int> keyval{MPI_KEYVAL_INVALID};

bool make_keyval() {
  const std::lock_guard lock(keyval_mutex);
  int made = MPI_KEYVAL_INVALID;
  const int code = real_pmpi().MPI_Type_create_keyval(reinterpret_cast<void*>(do_not_copy),
                                                      reinterpret_cast<void*>(forget_type), &made, nullptr);
  keyval.store(made);
  return code == MPI_SUCCESS;
}

bool watch_destruction(Handle datatype) {
  if (keyval.load() == MPI_KEYVAL_INVALID && !make_keyval()) return false;
  return real_pmpi().MPI_Type_set_attr(datatype, keyval.load(), nullptr) == MPI_SUCCESS;
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
  const auto [plan, was_known] = plans().get(type.tree);
  const bool is_named = is_predefined(datatype);
  auto known = std::make_unique<const KnownType>(plan, type.lower_bound, type.extent, is_named, oddities.any());
  if (oddities.any()) wrong_types_in_use.store(true, std::memory_order_relaxed);
  if (!is_named && !watch_destruction(datatype)) {
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

Analysis analyse_type(Handle datatype) noexcept {
  try {
    if (const KnownType* known = find_type(datatype)) return {known, true};
    return analyse(datatype);
  } catch (const std::exception& error) {
    log(LogLevel::info, std::string("a datatype is left to the MPI library: ") + error.what());
    return {nullptr, false};
  }
}

void forget_types() noexcept {
  known_types().clear();
  const std::lock_guard lock(keyval_mutex);
  int made = keyval.exchange(MPI_KEYVAL_INVALID);
  if (made != MPI_KEYVAL_INVALID) real_pmpi().MPI_Type_free_keyval(&made);
}

}  // namespace tempi
