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

TreePtr tree_of(TypeHandle type, TypeReader& reader);

Element element_of(TypeHandle type, TypeReader& reader) { return {tree_of(type, reader), reader.bounds(type).extent}; }

TreePtr struct_tree(const Contents& contents, TypeReader& reader) {
  std::vector<Element> elements;
  for (const TypeHandle type : contents.types) elements.push_back(element_of(type, reader));
  return make_struct(contents.counts, contents.addresses, elements);
}

TreePtr derived_tree(const Contents& contents, TypeReader& reader) {
  if (contents.combiner == Combiner::unknown) {
    throw Error(ErrorKind::unsupported, "a datatype constructor that TEMPI does not know");
  }
  if (contents.combiner == Combiner::struct_) return struct_tree(contents, reader);
  const Element element = element_of(contents.types.at(0), reader);
  const auto& counts = contents.counts;
  const auto& addresses = contents.addresses;
  switch (contents.combiner) {
    case Combiner::dup:
    case Combiner::resized: return element.tree;
    case Combiner::contiguous: return make_contiguous(counts.at(0), element);
    case Combiner::vector: return make_hvector(counts.at(0), counts.at(1), counts.at(2) * element.extent, element);
    case Combiner::hvector: return make_hvector(counts.at(0), counts.at(1), addresses.at(0), element);
    case Combiner::indexed: return make_indexed(counts, element);
    case Combiner::hindexed: return make_hindexed(counts, addresses, element);
    case Combiner::indexed_block: return make_indexed_block(counts, element);
    case Combiner::hindexed_block: return make_hindexed_block(counts.at(1), addresses, element);
    case Combiner::subarray: return make_subarray(counts, contents.order, element);
    case Combiner::darray: return make_darray(contents, element);
    default: throw Error(ErrorKind::internal, "a datatype constructor without a rule");
  }
}

TreePtr tree_of(TypeHandle type, TypeReader& reader) {
  const Contents contents = reader.contents(type);
  const Children children(reader, contents.types);
  if (contents.combiner == Combiner::named) return named_tree(reader.size(type), reader.bounds(type).extent);
  return derived_tree(contents, reader);
}

}  // namespace

Type decode(TypeHandle type, TypeReader& reader) {
  TreePtr tree = tree_of(type, reader);
  if (tree->size != reader.size(type)) {
    throw Error(ErrorKind::unsupported, "the MPI library counts " + std::to_string(reader.size(type)) +
                                            " bytes in a datatype whose constructors give " +
                                            std::to_string(tree->size));
  }
  const Bounds bounds = reader.bounds(type);
  return {std::move(tree), bounds.lower_bound, bounds.extent};
}

}  // namespace tempi::datatype
