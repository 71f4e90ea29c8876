#include "types/reader.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.hpp"
#include "mpi/real.hpp"

namespace tempi {
namespace {

using datatype::Combiner;
using datatype::Contents;
using datatype::Distribution;
using datatype::TypeHandle;
using Values = std::vector<std::int64_t>;

struct Envelope {
  Count integers = 0, addresses = 0, large_counts = 0, types = 0;
  int combiner = 0;
};

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw Error(ErrorKind::unsupported, std::string(call) + " failed");
}

// A library with large counts answers both forms of constructors through the _c functions; others know only ints.
Envelope envelope_of(TypeHandle type) {
  const Real& mpi = real_pmpi();
  Envelope envelope;
  if (mpi.MPI_Type_get_envelope_c) {
    check(mpi.MPI_Type_get_envelope_c(type, &envelope.integers, &envelope.addresses, &envelope.large_counts,
                                      &envelope.types, &envelope.combiner),
          "MPI_Type_get_envelope_c");
    return envelope;
  }
  int integers = 0, addresses = 0, types = 0;
  check(mpi.MPI_Type_get_envelope(type, &integers, &addresses, &types, &envelope.combiner), "MPI_Type_get_envelope");
  envelope.integers = integers;
  envelope.addresses = addresses;
  envelope.types = types;
  return envelope;
}

struct RawContents {
  std::vector<int> integers;
  std::vector<Aint> addresses;
  std::vector<Count> large_counts;
  std::vector<TypeHandle> types;
};

RawContents raw_contents_of(TypeHandle type, const Envelope& envelope) {
  const Real& mpi = real_pmpi();
  RawContents raw;
  raw.integers.resize(static_cast<std::size_t>(envelope.integers));
  raw.addresses.resize(static_cast<std::size_t>(envelope.addresses));
  raw.large_counts.resize(static_cast<std::size_t>(envelope.large_counts));
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(envelope.types));
  const int code = mpi.MPI_Type_get_contents_c
                       ? mpi.MPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large_counts,
                                                     envelope.types, raw.integers.data(), raw.addresses.data(),
                                                     raw.large_counts.data(), types.data())
                       : mpi.MPI_Type_get_contents(
                             type, static_cast<int>(envelope.integers), static_cast<int>(envelope.addresses),
                             static_cast<int>(envelope.types), raw.integers.data(), raw.addresses.data(), types.data());
  check(code, "MPI_Type_get_contents");
  for (const MPI_Datatype& inner : types) raw.types.push_back(load_handle(&inner));
  return raw;
}

Combiner combiner_of(int value) {
  switch (value) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER: return Combiner::named;
    case MPI_COMBINER_DUP: return Combiner::dup;
    case MPI_COMBINER_CONTIGUOUS: return Combiner::contiguous;
    case MPI_COMBINER_VECTOR: return Combiner::vector;
    case MPI_COMBINER_HVECTOR: return Combiner::hvector;
    case MPI_COMBINER_INDEXED: return Combiner::indexed;
    case MPI_COMBINER_HINDEXED: return Combiner::hindexed;
    case MPI_COMBINER_INDEXED_BLOCK: return Combiner::indexed_block;
    case MPI_COMBINER_HINDEXED_BLOCK: return Combiner::hindexed_block;
    case MPI_COMBINER_STRUCT: return Combiner::struct_;
    case MPI_COMBINER_SUBARRAY: return Combiner::subarray;
    case MPI_COMBINER_DARRAY: return Combiner::darray;
    case MPI_COMBINER_RESIZED: return Combiner::resized;
    default: return Combiner::unknown;
  }
}

datatype::Order order_of(int value) {
  return value == MPI_ORDER_FORTRAN ? datatype::Order::fortran : datatype::Order::c;
}

Distribution distribution_of(std::int64_t value) {
  if (value == MPI_DISTRIBUTE_BLOCK) return Distribution::block;
  return value == MPI_DISTRIBUTE_CYCLIC ? Distribution::cyclic : Distribution::none;
}

// Moves byte quantities from the end of the counts to the addresses: the large-count forms keep all in one list.
void split_addresses(Contents& contents, std::size_t n_counts) {
  if (contents.counts.size() <= n_counts) return;
  contents.addresses.assign(contents.counts.begin() + static_cast<std::ptrdiff_t>(n_counts), contents.counts.end());
  contents.counts.resize(n_counts);
}

// The large forms list all counts in the order of the constructor's arguments; addresses of the int form come last
// (MPI-4.1, 5.1.13).
void fill_from_large(Contents& contents, const RawContents& raw) {
  contents.counts = raw.large_counts;
  const auto n = static_cast<std::size_t>(contents.counts.empty() ? 0 : contents.counts[0]);
  switch (contents.combiner) {
    case Combiner::hvector:
    case Combiner::hindexed_block: return split_addresses(contents, 2);
    case Combiner::hindexed:
    case Combiner::struct_: return split_addresses(contents, 1 + n);
    case Combiner::resized: return split_addresses(contents, 0);
    case Combiner::subarray:
      contents.order = order_of(raw.integers.at(1));
      contents.counts.insert(contents.counts.begin(), raw.integers.at(0));
      return;
    default: return;
  }
}

void fill_from_ints(Contents& contents, const RawContents& raw) {
  contents.counts.assign(raw.integers.begin(), raw.integers.end());
  contents.addresses = raw.addresses;
  if (contents.combiner == Combiner::subarray) {
    contents.order = order_of(raw.integers.back());
    contents.counts.pop_back();
  }
}

// In both forms: size, rank, ndims, gsizes (apart in the large form), distributions, arguments, process counts, order.
void fill_darray(Contents& contents, const RawContents& raw) {
  Values all(raw.integers.begin(), raw.integers.end());
  all.insert(all.begin() + 3, raw.large_counts.begin(), raw.large_counts.end());
  const auto n = static_cast<std::ptrdiff_t>(all.at(2));
  const auto distributions = all.begin() + 3 + n;
  std::transform(distributions, distributions + n, std::back_inserter(contents.distributions), distribution_of);
  all.erase(distributions, distributions + n);
  contents.order = order_of(static_cast<int>(all.back()));
  all.pop_back();
  contents.counts = std::move(all);
  contents.default_argument = MPI_DISTRIBUTE_DFLT_DARG;
}

}  // namespace

bool is_predefined(TypeHandle type) { return combiner_of(envelope_of(type).combiner) == Combiner::named; }

std::int64_t argument_count(TypeHandle type) {
  const Envelope envelope = envelope_of(type);
  return envelope.integers + envelope.addresses + envelope.large_counts;
}

Contents MpiTypeReader::contents(TypeHandle type) {
  const Envelope envelope = envelope_of(type);
  Contents contents;
  contents.combiner = combiner_of(envelope.combiner);
  if (contents.combiner == Combiner::named || contents.combiner == Combiner::unknown) return contents;
  RawContents raw = raw_contents_of(type, envelope);
  contents.types = raw.types;
  if (contents.combiner == Combiner::darray) {
    fill_darray(contents, raw);
  } else if (envelope.large_counts > 0) {
    fill_from_large(contents, raw);
  } else {
    fill_from_ints(contents, raw);
  }
  return contents;
}

void MpiTypeReader::release(TypeHandle type) {
  if (is_predefined(type)) return;
  MPI_Datatype handle = as_datatype(type);
  real_pmpi().MPI_Type_free(&handle);
}

datatype::Bounds MpiTypeReader::bounds(TypeHandle type) {
  datatype::Bounds bounds{};
  check(real_pmpi().MPI_Type_get_extent_x(type, &bounds.lower_bound, &bounds.extent), "MPI_Type_get_extent_x");
  return bounds;
}

std::int64_t MpiTypeReader::size(TypeHandle type) {
  Count size = 0;
  check(real_pmpi().MPI_Type_size_x(type, &size), "MPI_Type_size_x");
  return size;
}

// By its name: there are a dozen of them, for C, C++ and Fortran, and not every library has all.
bool MpiTypeReader::is_complex(TypeHandle type) {
  if (envelope_of(type).combiner == MPI_COMBINER_F90_COMPLEX) return true;
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  check(real_pmpi().MPI_Type_get_name(type, name.data(), &length), "MPI_Type_get_name");
  return std::string_view(name.data()).find("COMPLEX") != std::string_view::npos;
}

}  // namespace tempi
