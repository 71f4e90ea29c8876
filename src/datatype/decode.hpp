// decode: from the contents of an MPI datatype to a tree. No other code reads the combiners of MPI.
//
// MPI is behind the interface TypeReader, so that this stage is a function over plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "datatype/oddities.hpp"
#include "datatype/tree.hpp"

namespace tempi::datatype {

using TypeHandle = std::uintptr_t;

enum class Combiner : std::uint8_t {
  named,
  dup,
  contiguous,
  vector,
  hvector,
  indexed,
  hindexed,
  indexed_block,
  hindexed_block,
  struct_,
  subarray,
  darray,
  resized,
  unknown,  // a combiner of a newer standard, or MPI_DATATYPE_NULL
};

enum class Order : std::uint8_t { c, fortran };
enum class Distribution : std::uint8_t { none, block, cyclic };

// The results of MPI_Type_get_envelope and MPI_Type_get_contents. They are the same for the int and the large-count
// forms. `counts` has all counts, blocklengths, element displacements and sizes, in the order of the constructor's
// arguments. `addresses` has all byte displacements, strides and bounds.
struct Contents {
  Combiner combiner = Combiner::unknown;
  std::vector<std::int64_t> counts = {};
  std::vector<std::int64_t> addresses = {};
  std::vector<TypeHandle> types = {};
  Order order = Order::c;                        // subarray, darray
  std::vector<Distribution> distributions = {};  // darray
  std::int64_t default_argument = -1;            // MPI_DISTRIBUTE_DFLT_DARG, darray
};

struct Bounds {
  std::int64_t lower_bound, extent;
};

class TypeReader {
 public:
  virtual ~TypeReader() = default;
  virtual Contents contents(TypeHandle type) = 0;  // its `types` must be given back with release()
  virtual void release(TypeHandle type) = 0;
  virtual Bounds bounds(TypeHandle type) = 0;
  virtual std::int64_t size(TypeHandle type) = 0;  // payload bytes
  virtual bool is_complex(TypeHandle type) = 0;    // of a predefined datatype
};

// Throws Error (unsupported) for a datatype that we do not understand. Looks for oddities only if asked to: a datatype
// with complex elements is then read twice.
Type decode(TypeHandle type, TypeReader& reader, Oddities* oddities = nullptr);

}  // namespace tempi::datatype
