// Staging of a call's arguments: packed bytes in memory that the MPI library can access replace the buffers of the
// program.
//
// This process decides on each argument separately, without other processes. The counts, and the number of bytes that
// each element stands for, remain those of the program (element_type.hpp). Therefore, other ranks need not know the
// decision.
#pragma once

#include <optional>

#include "collective/argument.hpp"
#include "collective/blocks.hpp"
#include "collective/element_type.hpp"
#include "collective/image.hpp"
#include "collective/packed_memory.hpp"
#include "request/message.hpp"

namespace tempi::collective {

// True: the library cannot use the argument, or the predicted time of TEMPI's packer is shorter than that of the
// library's datatypes. Makes one pointer query for each block, and fewer if blocks are close to each other. `device`
// may be null.
bool needs_staging(const Argument& argument, Handle comm, device::Device* device);

// The argument that the library gets for staged bytes. The library may read its arrays as long as the object lives.
class StagedArgument {
 public:
  // The packed buffers become transfers of the message: outs of blocks that are read, ins of those that are written.
  StagedArgument(const Argument& argument, message::Message& message, device::Device* device);
  StagedArgument(const StagedArgument&) = delete;
  StagedArgument& operator=(const StagedArgument&) = delete;

  const GivenArgument& given_argument() const { return given_; }
  std::int64_t bytes() const { return bytes_; }
  message::Strategy strategy() const { return strategy_; }
  // The address at which the packed bytes begin.
  message::SharedRange from(std::int64_t offset) const { return memory_.from(offset); }
  const std::optional<Image>& image() const { return image_; }

 private:
  struct Placed {
    Block block;
    std::int64_t offset;
    pack::End end;
  };

  void place(const Argument& argument, Handle comm, device::Device* device);
  bool keeps_elements(const Argument& argument) const;
  void choose_strategy(const Argument& argument, Handle comm);
  void take_memory(device::Device* device, device::Limit limit, device::Overrun overrun);
  void add_transfers(message::Message& message, device::Device* device) const;
  void give(const Argument& argument);
  void give_elements(const Argument& argument);
  void give_image(const KnownType& type);
  void give_bytes(const Argument& argument);
  Handle library_type(const Argument& argument, const Block& block);
  template <class Number>
  void write(std::vector<Number>& displacements, const Argument& argument);

  std::vector<Placed> placed_;
  std::int64_t bytes_ = 0;
  bool keeps_elements_ = false;  // the library is given the program's datatype
  message::Strategy strategy_{};
  PackedMemory memory_;
  std::optional<Image> image_;
  std::vector<OwnTypePtr> own_types_;
  std::vector<int> small_;
  std::vector<Count> large_;
  std::optional<BlockTypes> types_;
  GivenArgument given_{};
};

}  // namespace tempi::collective
