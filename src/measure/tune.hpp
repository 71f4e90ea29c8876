// The trials of `tempi measure --tune`: one transfer within GPU memory, with any launch parameters.
#pragma once

#include <optional>
#include <vector>

#include "base/tuning.hpp"
#include "datatype/decode.hpp"
#include "measure/meter.hpp"
#include "pack/engine.hpp"

namespace tempi::measure {

class Trial {
 public:
  // The transfer moves one element of the datatype, which must have data. Throws std::exception
  // with the reason when it cannot.
  Trial(std::uint64_t datatype, pack::Direction direction);

  // Seconds of each repetition. After a change of parameters, the bytes of a first repetition are compared with the
  // host packer's; throws std::runtime_error if they differ.
  std::vector<double> measure(const Tuning& tuning, SampleLimit limit);

 private:
  using Bytes = std::vector<std::byte>;

  Trial(const datatype::Type& type, pack::Direction direction);
  void make_contents();
  pack::BoxMove box_move(pack::Prepared& prepared, void* typed, void* packed) const;
  void move();
  void prepare(const Tuning& tuning);
  void check();

  datatype::TreePtr tree_;
  std::int64_t extent_;
  pack::Direction direction_;
  pack::Span span_;                         // of the datatype's end
  Memory typed_, packed_;                   // on the GPU, guards around the data included
  pack::Ends<char*> on_gpu_;                // the same memory
  Bytes before_, after_;                    // of the destination: its bytes before and after a right transfer
  std::optional<pack::Prepared> prepared_;  // with the launches of the last measurement
  Tuning tried_;
};

}  // namespace tempi::measure
