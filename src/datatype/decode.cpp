#include "datatype/decode.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "datatype/constructors.hpp"

namespace tempi::datatype {
namespace {

// Named types are dense, but for the pairs of MPI_MINLOC: a value, then an int at the next multiple of its size.
TreePtr named_tree(std::int64_t size, std::int64_t extent) {
  constexpr std::int64_t kIndexBytes = sizeof(int);
  if (size == extent || size <= kIndexBytes) return dense(size);
  const std::int64_t value = size - kIndexBytes;
  const std::int64_t index_offset = (value + kIndexBytes - 1) / kIndexBytes * kIndexBytes;
  return blocks({{0, dense(value)}, {index_offset, dense(kIndexBytes)}});
}

// The handles inside a datatype, given back on every way out.
class Children {
 public:
  Children(TypeReader& reader, const std::vector<TypeHandle>& handles) : reader_(reader), handles_(handles) {}
  ~Children() {
    for (const TypeHandle handle : handles_) reader_.release(handle);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

 private:
  TypeReader& reader_;
  const std::vector<TypeHandle>& handles_;
};

// One reading of a datatype, from the outermost constructor to the predefined datatypes.
class Reading {
 public:
  enum class Leaves : std::uint8_t { all, complex };  // complex: all others count as empty

  Reading(TypeReader& reader, Oddities* oddities, Leaves leaves = Leaves::all)
      : reader_(reader), oddities_(oddities), leaves_(leaves) {}

  TreePtr tree_of(TypeHandle type) {
    const Contents contents = reader_.contents(type);
    const Children children(reader_, contents.types);
    return contents.combiner == Combiner::named ? leaf(type) : derived_tree(contents);
  }
  std::int64_t largest_complex() const { return largest_complex_; }

 private:
  TreePtr leaf(TypeHandle type) {
    const std::int64_t size = reader_.size(type);
    const bool is_complex = oddities_ != nullptr && reader_.is_complex(type);
    if (is_complex) largest_complex_ = std::max(largest_complex_, size);
    if (leaves_ == Leaves::complex && !is_complex) return dense(0);
    return named_tree(size, reader_.bounds(type).extent);
  }

  Element element_of(TypeHandle type) { return {tree_of(type), reader_.bounds(type).extent}; }

  TreePtr struct_tree(const Contents& contents) {
    std::vector<Element> elements;
    bool has_empty = false;
    for (std::size_t i = 0; i < contents.types.size(); ++i) {
      elements.push_back(element_of(contents.types[i]));
      has_empty = has_empty || (elements.back().tree->size == 0 && contents.counts.at(1 + i) > 0);
    }
    TreePtr tree = make_struct(contents.counts, contents.addresses, elements);
    if (oddities_ != nullptr && has_empty && tree->size > 0) oddities_->empty_member = true;
    return tree;
  }

  TreePtr vector_tree(const Contents& contents, std::int64_t stride_bytes, const Element& element) {
    const std::int64_t count = contents.counts.at(0);
    if (oddities_ != nullptr && count > 1 && stride_bytes == -1) oddities_->back_one_byte = true;
    return make_hvector(count, contents.counts.at(1), stride_bytes, element);
  }

  TreePtr derived_tree(const Contents& contents) {
    if (contents.combiner == Combiner::unknown) {
      throw Error(ErrorKind::unsupported, "a datatype constructor that TEMPI does not know");
    }
    if (contents.combiner == Combiner::struct_) return struct_tree(contents);
    const Element element = element_of(contents.types.at(0));
    const auto& counts = contents.counts;
    const auto& addresses = contents.addresses;
    switch (contents.combiner) {
      case Combiner::dup:
      case Combiner::resized: return element.tree;
      case Combiner::contiguous: return make_contiguous(counts.at(0), element);
      case Combiner::vector: return vector_tree(contents, counts.at(2) * element.extent, element);
      case Combiner::hvector: return vector_tree(contents, addresses.at(0), element);
      case Combiner::indexed: return make_indexed(counts, element);
      case Combiner::hindexed: return make_hindexed(counts, addresses, element);
      case Combiner::indexed_block: return make_indexed_block(counts, element);
      case Combiner::hindexed_block: return make_hindexed_block(counts.at(1), addresses, element);
      case Combiner::subarray: return make_subarray(counts, contents.order, element);
      case Combiner::darray: return make_darray(contents, element);
      default: throw Error(ErrorKind::internal, "a datatype constructor without a rule");
    }
  }

  TypeReader& reader_;
  Oddities* oddities_;  // null: not wanted
  Leaves leaves_;
  std::int64_t largest_complex_ = 0;
};

bool complex_is_off_grid(TypeHandle type, TypeReader& reader, std::int64_t element_bytes) {
  Oddities of_no_interest;  // unused: all other leaves are empty
  return !on_one_grid(*Reading(reader, &of_no_interest, Reading::Leaves::complex).tree_of(type), element_bytes);
}

}  // namespace

Type decode(TypeHandle type, TypeReader& reader, Oddities* oddities) {
  Reading reading(reader, oddities);
  TreePtr tree = reading.tree_of(type);
  if (tree->size != reader.size(type)) {
    throw Error(ErrorKind::unsupported, "the MPI library counts " + std::to_string(reader.size(type)) +
                                            " bytes in a datatype whose constructors give " +
                                            std::to_string(tree->size));
  }
  const std::int64_t complex = reading.largest_complex();
  if (complex > 0) oddities->off_grid_complex = complex_is_off_grid(type, reader, complex);
  const Bounds bounds = reader.bounds(type);
  return {std::move(tree), bounds.lower_bound, bounds.extent};
}

}  // namespace tempi::datatype
