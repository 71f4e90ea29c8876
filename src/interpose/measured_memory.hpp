// Memory for what is measured, and datatypes in it.
#pragma once

#include <optional>
#include <vector>

#include "interpose/api.h"
#include "interpose/side.hpp"

namespace tempi::interpose {

int world_rank();

// CUDA's driver is loaded here where the program has not: nobody else's program is running. Throws where there is none.
device::Device& gpu();
bool has_gpu();
device::Context my_context();  // of this rank's GPU: they are used in turn

// As programs have it that use their GPU: libraries look at the context that is current, too.
class CurrentContext {
 public:
  CurrentContext() {
    if (has_gpu()) scope_.emplace(gpu(), my_context());
  }

 private:
  std::optional<device::Scope> scope_;
};

// Memory of the host, or of this rank's GPU.
class Memory {
 public:
  Memory(device::MemoryKind kind, std::int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data() { return kind_ == device::MemoryKind::host ? host_.data() : static_cast<char*>(data_); }

 private:
  device::MemoryKind kind_;
  std::size_t bytes_;
  device::Context context_ = nullptr;
  void* data_ = nullptr;
  std::vector<char> host_;
};

// `count` elements of the datatype that the caller has given, in memory of their own.
class Typed {
 public:
  Typed(const tempi_measurement& what, device::MemoryKind kind);

  bool is_contiguous() const { return pack::is_plain_copy(*plan_, repeat_); }
  std::int64_t bytes() const { return repeat_.count * plan_->layout.size; }
  model::Features features() const { return send::features_of(*plan_, repeat_); }
  void* data() { return data_; }

  send::Side side(pack::Direction direction, send::Strategy strategy);
  pack::Transfer transfer(pack::Direction direction, void* packed) {
    return {*plan_, repeat_, direction, data_, packed};
  }

 private:
  Typed(const tempi_measurement& what, device::MemoryKind kind, const datatype::Type& type);

  std::int64_t n_chunks_;
  pack::PlanPtr plan_;
  pack::Repeat repeat_;
  Memory memory_;
  void* data_;
};

}  // namespace tempi::interpose
