// Memory for what is measured, and datatypes in it.
#pragma once

#include <optional>

#include "interpose/api.h"
#include "interpose/meter.hpp"
#include "interpose/side.hpp"

namespace tempi::interpose {

bool has_gpu();

// As programs have it that use their GPU: libraries look at the context that is current, too.
class CurrentContext {
 public:
  CurrentContext() {
    if (has_gpu()) scope_.emplace(gpu(), my_context());
  }

 private:
  std::optional<device::Scope> scope_;
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
