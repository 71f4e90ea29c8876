// A strategy that is a row of base/strategies.def and nothing else: is it parsed, predicted, counted?
#include <cstdio>

#include "base/counters.hpp"
#include "base/options.hpp"
#include "model/predict.hpp"

using namespace tempi;

int main() {
  const auto strategy = model::strategy_named(text(Option::STRATEGY));
  const model::Fit fit = model::read_fit(
      "tempi-fit 1\nterm pack.oneshot 0 1 0 0 0 0\nterm unpack.oneshot 0 2 0 0 0 0\n"
      "term message.host.same_node 0 4 0 0 0 0\nend 4\n");
  const auto prediction = model::predict(fit, model::Message{{64, 8, 64, 1}, false, false, model::Locality::other_gpu});
  if (!strategy) return 1;
  count_call(Function::MPI_Send, model::row(*strategy).outcome);
  std::printf("%s %g %s\n", model::text(*strategy), prediction[static_cast<std::size_t>(*strategy)],
              text(counters().front().outcome));
  return 0;
}
