// Memory for measurements, and datatypes in it.
#pragma once

#include <optional>

#include "measure/measurement.hpp"
#include "measure/meter.hpp"
#include "transfer/endpoint.hpp"

namespace tempi::measure {

bool has_gpu();

// Makes a context current, as programs that use their GPU do: libraries look at the current context, too.
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
  Typed(const Measurement& what, device::MemoryKind kind);

  bool is_contiguous() const { return pack::is_plain_copy(prepared_->plan, repeat_); }
  std::int64_t bytes() const { return repeat_.count * prepared_->plan.layout.size; }
  model::Features features() const { return message::features_of(prepared_->plan, repeat_); }
  void* data() { return end_.address; }

  message::Endpoint side(pack::Direction direction, message::Strategy strategy);
  pack::BoxMove box_move(pack::Direction direction, void* packed);

 private:
  Typed(const Measurement& what, device::MemoryKind kind, const datatype::Type& type);

  std::int64_t n_chunks_;
  pack::PreparedPtr prepared_;
  pack::Repeat repeat_;
  pack::End end_;  // the elements in memory_
  pack::Span span_;
  Memory memory_;
};

}  // namespace tempi::measure
