#include "mpi/inside.hpp"

#include <memory>
#include <utility>

namespace tempi {

void Inside::keep_thrown() {
  std::exception_ptr what = std::current_exception();
  if (innermost_ == nullptr || what == nullptr) throw;
  if (thrown_ == nullptr || thrown_->entry != innermost_) thrown_ = new Thrown{std::move(what), innermost_, thrown_};
}

std::exception_ptr Inside::take_own() const noexcept {
  if (thrown_ == nullptr || thrown_->entry != this) return nullptr;
  const std::unique_ptr<Thrown> own(thrown_);
  thrown_ = own->outer;
  return own->what;
}

void Inside::throw_own() const {
  if (std::exception_ptr what = take_own()) std::rethrow_exception(std::move(what));
}

bool Inside::drop_thrown() const noexcept { return take_own() != nullptr; }

}  // namespace tempi
