// The model of a message: terms, the file that the shim reads, and the predictions from it.
#include <algorithm>
#include <array>
#include <pybind11/stl.h>
#include <stdexcept>

#include "base/option_values.hpp"
#include "base/options.hpp"
#include "bind/bind.hpp"
#include "model/predict.hpp"

namespace py = pybind11;

namespace tempi::bind {
namespace {

using model::Features;
using model::Fit;

py::dict terms(const Fit& fit) {
  py::dict all;
  for (std::size_t i = 0; i < model::kParts; ++i) {
    const auto part = static_cast<model::Part>(i);
    if (!fit.term(part).is_known()) continue;
    py::list segments;
    for (const model::Segment& s : fit.term(part).segments()) {
      segments.append(py::make_tuple(s.from_bytes, s.latency, s.per_byte, s.per_block, s.per_touched, s.per_page));
    }
    all[model::text(part)] = segments;
  }
  return all;
}

using SegmentNumbers = std::array<double, 6>;

model::Term term_of(const std::vector<SegmentNumbers>& numbers) {
  if (numbers.empty()) throw std::invalid_argument("a term has at least one segment");
  std::vector<model::Segment> segments;
  for (const SegmentNumbers& n : numbers) segments.push_back({n[0], n[1], n[2], n[3], n[4], n[5]});
  return model::Term(std::move(segments));
}

py::list term_names() {
  py::list names;
  for (std::size_t i = 0; i < model::kParts; ++i) names.append(model::text(static_cast<model::Part>(i)));
  return names;
}

py::object seconds(const Fit& fit, const std::string& term, const Features& features) {
  const model::Part part = model::part_named(term);
  if (part == model::Part::none || !fit.term(part).is_known()) return py::none();
  return py::float_(fit.term(part).seconds(features));
}

model::Message message(const Features& features, bool contiguous, const std::string& locality, bool cuda_aware,
                       bool reaches_peer) {
  const auto where = model::locality_named(locality);
  if (!where) throw std::invalid_argument("there is no locality \"" + locality + "\"");
  return {features, contiguous, cuda_aware, *where, reaches_peer};
}

model::HostMessage host_message(const Features& features, bool indexed, const std::string& peer) {
  const auto where = model::peer_named(peer);
  if (!where) throw std::invalid_argument("there is no peer called " + peer);
  return {features, indexed, *where};
}

template <class Message>
py::dict predicted(const Fit& fit, const Message& message) {
  const model::Prediction prediction = model::predict(fit, message);
  py::dict all;
  for (std::size_t i = 0; i < model::kStrategies; ++i) {
    if (prediction[i] == prediction[i]) all[model::text(static_cast<model::Strategy>(i))] = prediction[i];  // not NaN
  }
  return all;
}

py::dict parts(const Fit& fit, const model::Message& message) {
  const model::Prediction prediction = model::predict(fit, message);
  py::dict all;
  for (std::size_t i = 0; i < model::kStrategies; ++i) {
    if (prediction[i] != prediction[i]) continue;  // NaN
    const auto strategy = static_cast<model::Strategy>(i);
    py::dict terms;
    for (const auto& [part, seconds] : model::predict_parts(fit, message, strategy)) terms[model::text(part)] = seconds;
    all[model::text(strategy)] = terms;
  }
  return all;
}

py::object chosen(const Fit& fit, const model::Message& message) {
  const auto best = model::fastest(model::predict(fit, message));
  return best ? py::cast(model::text(*best)) : py::none();
}

py::dict tuned(const Tuning& tuning) {
  py::dict values;
  for (std::size_t i = 0; i < kKnobs; ++i) values[kKnobRows[i].name] = tuning[static_cast<Knob>(i)];
  return values;
}

py::list knob_rows() {
  py::list rows;
  for (const KnobRow& row : kKnobRows) {
    std::vector<std::uint32_t> allowed(row.allowed.begin(), std::find(row.allowed.begin(), row.allowed.end(), 0u));
    rows.append(py::make_tuple(row.name, row.fallback, row.meaning, py::tuple(py::cast(allowed))));
  }
  return rows;
}

// Names of strategies, with the columns of base/strategies.def that Python uses.
py::list strategy_rows() {
  py::list rows;
#define TEMPI_STRATEGY(name, packs, carries, pack, unpack, typed, indexed, outcome, text, meaning) \
  rows.append(py::make_tuple(#name, #packs, #carries, model::Part::typed != model::Part::none, text, meaning));
#include "base/strategies.def"
#undef TEMPI_STRATEGY
  return rows;
}

}  // namespace

void bind_model(py::module_& module) {
  const auto with_message = [](const auto& fn) {
    return [fn](const Fit& fit, std::int64_t bytes, std::int64_t blocks, std::int64_t touched, std::int64_t pages,
                bool contiguous, const std::string& locality, bool cuda_aware, bool reaches_peer) {
      return fn(fit, message({bytes, blocks, touched, pages}, contiguous, locality, cuda_aware, reaches_peer));
    };
  };
  py::class_<model::Term>(module, "Term")
      .def(py::init(&term_of), py::arg("segments"))
      .def(
          "seconds",
          [](const model::Term& term, std::int64_t bytes, std::int64_t blocks, std::int64_t touched,
             std::int64_t pages) { return term.seconds({bytes, blocks, touched, pages}); },
          py::arg("bytes"), py::arg("blocks") = 0, py::arg("touched") = 0, py::arg("pages") = 0);
  py::class_<Fit> fits(module, "Fit");
  fits.def("machine", [](const Fit& fit) { return fit.machine; })
      .def("terms", terms)
      .def("tuning", [](const Fit& fit) { return tuned(fit.tuning); })
      .def(
          "seconds",
          [](const Fit& fit, const std::string& term, std::int64_t bytes, std::int64_t blocks, std::int64_t touched,
             std::int64_t pages) { return seconds(fit, term, {bytes, blocks, touched, pages}); },
          py::arg("term"), py::arg("bytes"), py::arg("blocks") = 0, py::arg("touched") = 0, py::arg("pages") = 0)
      .def("predict", with_message(predicted<model::Message>), py::arg("bytes"), py::arg("blocks"), py::arg("touched"),
           py::arg("pages"), py::arg("contiguous"), py::arg("locality"), py::arg("cuda_aware"),
           py::arg("reaches_peer") = false)
      .def("parts", with_message(parts), py::arg("bytes"), py::arg("blocks"), py::arg("touched"), py::arg("pages"),
           py::arg("contiguous"), py::arg("locality"), py::arg("cuda_aware"), py::arg("reaches_peer") = false)
      .def("choose", with_message(chosen), py::arg("bytes"), py::arg("blocks"), py::arg("touched"), py::arg("pages"),
           py::arg("contiguous"), py::arg("locality"), py::arg("cuda_aware"), py::arg("reaches_peer") = false);
  const auto with_host_message = [](const auto& fn) {
    return [fn](const Fit& fit, std::int64_t bytes, std::int64_t blocks, std::int64_t touched, std::int64_t pages,
                bool indexed, const std::string& peer) {
      return fn(fit, host_message({bytes, blocks, touched, pages}, indexed, peer));
    };
  };
  const auto packing_wins = [](const Fit& fit, const model::HostMessage& message) {
    return model::packing_wins(model::predict(fit, message), model::kDoubtOfMessage);
  };
  fits.def("predict_on_host", with_host_message(predicted<model::HostMessage>), py::arg("bytes"), py::arg("blocks"),
           py::arg("touched"), py::arg("pages"), py::arg("indexed"), py::arg("peer"))
      .def("packing_wins", with_host_message(packing_wins), py::arg("bytes"), py::arg("blocks"), py::arg("touched"),
           py::arg("pages"), py::arg("indexed"), py::arg("peer"));
  fits.def(
      "chunk_bytes",
      [](const Fit& self, std::int64_t bytes, std::int64_t blocks, std::int64_t touched, std::int64_t pages,
         bool packs) { return model::chunk_bytes(self, {bytes, blocks, touched, pages}, packs); },
      py::arg("bytes"), py::arg("blocks"), py::arg("touched"), py::arg("pages"), py::arg("packs"));
  module.def("cache_folder", cache_folder);
  module.def("current_name", current_name);
  module.def("refused_value", refused_value);
  module.def("term_names", term_names);
  module.def("knob_rows", knob_rows);
  module.def("strategy_rows", strategy_rows);
  module.def("read_fit", [](const std::string& text) { return model::read_fit(text); });
}

}  // namespace tempi::bind
