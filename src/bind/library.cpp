// The table of libtempi.so (face/api.h) as a Python class.
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <optional>
#include <pybind11/stl.h>
#include <sstream>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/tuning.hpp"
#include "bind/bind.hpp"
#include "face/api.h"
#include "preload/needed.hpp"

namespace py = pybind11;

namespace tempi::bind {
namespace {

// The preloaded libtempi.so if any, else the one at `path`, loaded privately: its MPI_ functions stay unseen.
class Library {
 public:
  explicit Library(const std::optional<std::string>& path) {
    void* found = dlsym(RTLD_DEFAULT, "tempi_api");
    preloaded_ = found != nullptr;
    if (!found) found = open(path);
    table_ = reinterpret_cast<decltype(&tempi_api)>(found)();
    if (table_->version != TEMPI_API_VERSION) throw std::runtime_error("libtempi.so is of another version");
    Dl_info info{};
    if (dladdr(found, &info) && info.dli_fname) path_ = info.dli_fname;
  }

  const tempi_api_table& table() const { return *table_; }
  bool preloaded() const { return preloaded_; }
  const std::string& path() const { return path_; }

 private:
  // Stays open until the process ends: the library may have given out attribute callbacks.
  static void* open(const std::optional<std::string>& path) {
    if (!path) throw std::runtime_error("libtempi.so is not preloaded, and no path was given");
    void* handle = dlopen(path->c_str(), RTLD_LOCAL | RTLD_NOW);
    if (!handle) throw std::runtime_error(dlerror());
    void* found = dlsym(handle, "tempi_api");
    if (!found) throw std::runtime_error(*path + " is not a libtempi.so");
    return found;
  }

  const tempi_api_table* table_;
  bool preloaded_;
  std::string path_;
};

std::string taken(char* text) {
  std::string copy = text ? text : "";
  std::free(text);
  return copy;
}

py::dict explained(const Library& self, std::uint64_t datatype, std::int64_t count) {
  const tempi_explanation found = self.table().explain(datatype, count);
  py::dict texts;
  texts["error"] = taken(found.error);
  texts["as_built"] = taken(found.as_built);
  texts["canonical"] = taken(found.canonical);
  texts["boxes"] = taken(found.boxes);
  texts["plan"] = taken(found.plan);
  const tempi_features& features = found.features;
  texts["features"] = py::make_tuple(features.bytes, features.blocks, features.touched, features.pages);
  texts["contiguous"] = features.is_contiguous != 0;
  texts["indexed"] = features.is_indexed != 0;
  return texts;
}

py::list option_rows(const Library& self) {
  const tempi_option* rows = nullptr;
  const std::size_t n = self.table().options(&rows);
  py::list list;
  for (std::size_t i = 0; i < n; ++i) {
    py::dict row;
    row["name"] = rows[i].name;
    row["value"] = rows[i].value;
    row["default"] = rows[i].fallback;
    row["meaning"] = rows[i].meaning;
    row["from_environment"] = rows[i].from_environment != 0;
    list.append(row);
  }
  return list;
}

py::list counter_rows(const Library& self) {
  std::vector<tempi_counter> rows(self.table().counters(nullptr, 0));
  const std::size_t n = self.table().counters(rows.data(), rows.size());
  py::list list;
  for (std::size_t i = 0; i < std::min(n, rows.size()); ++i) {
    py::dict row;
    row["function"] = rows[i].function;
    row["outcome"] = rows[i].outcome;
    row["calls"] = rows[i].calls;
    row["bytes"] = rows[i].bytes;
    row["seconds"] = rows[i].seconds;
    row["predicted_seconds"] = rows[i].predicted_seconds;
    list.append(row);
  }
  return list;
}

std::vector<double> measure(const Library& self, const std::string& what, const std::string& strategy,
                            std::uint64_t datatype, std::int64_t count, std::int64_t parts, int peer,
                            double max_seconds, std::size_t max_samples) {
  std::vector<double> seconds(std::max<std::size_t>(1, max_samples));
  std::size_t n_samples = 0;
  const tempi_measurement wish{what.c_str(), strategy.c_str(), datatype,      count, parts,
                               peer,         max_seconds,      seconds.size()};
  char* const error = self.table().measure(&wish, seconds.data(), &n_samples);
  if (error) throw std::runtime_error(taken(error));
  seconds.resize(n_samples);
  return seconds;
}

// One transfer with any launch parameters; its memory is given back with it.
class Trial {
 public:
  Trial(const Library& library, std::uint64_t datatype, bool unpacks) : table_(library.table()) {
    char* error = nullptr;
    trial_ = table_.trial_open(datatype, unpacks, &error);
    if (trial_ == nullptr) throw std::runtime_error(taken(error));
  }
  ~Trial() { table_.trial_close(trial_); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  std::vector<double> measure(const std::vector<std::uint32_t>& values, double max_seconds,
                              std::size_t max_samples) const {
    if (values.size() != kKnobs)
      throw std::runtime_error("launch parameters have " + std::to_string(kKnobs) + " values");
    std::vector<double> seconds(std::max<std::size_t>(1, max_samples));
    std::size_t n_samples = seconds.size();
    char* const error = table_.trial_measure(trial_, values.data(), max_seconds, seconds.data(), &n_samples);
    if (error) throw std::runtime_error(taken(error));
    seconds.resize(n_samples);
    return seconds;
  }

 private:
  const tempi_api_table& table_;
  tempi_trial* trial_;
};

std::map<std::string, std::string> machine(const Library& self) {
  std::map<std::string, std::string> facts;
  std::istringstream lines(taken(self.table().machine()));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    facts[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return facts;
}

using Address = std::uintptr_t;  // Python holds addresses as int

Address fake_allocate(const Library& self, const std::string& kind, int ordinal, std::size_t bytes) {
  void* data = self.table().fake_allocate(kind.c_str(), ordinal, bytes);
  if (!data) throw std::runtime_error("no fake device memory: is TEMPI_DEVICE=fake set?");
  return reinterpret_cast<Address>(data);
}

Address allocate_beside(const Library& self, Address address, std::size_t bytes) {
  return reinterpret_cast<Address>(self.table().allocate_beside(reinterpret_cast<const void*>(address), bytes));
}

void deallocate(const Library& self, Address data) { self.table().deallocate(reinterpret_cast<void*>(data)); }

void fake_copy(const Library& self, Address dst, Address src, std::size_t bytes) {
  const auto* from = reinterpret_cast<const void*>(src);
  if (self.table().fake_copy(reinterpret_cast<void*>(dst), from, bytes) != 0) {
    throw std::runtime_error("the fake device refused a copy of " + std::to_string(bytes) + " bytes");
  }
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

bool order_after_array(const Library& self, Address address, Address stream) {
  char* error = nullptr;
  const bool is_ordered = self.table().order_after_array(pointer(address), pointer(stream), &error) != 0;
  if (error != nullptr) throw std::runtime_error(taken(error));
  return is_ordered;
}

// `requests`: the handles, one behind the other. Persistent ones do not change. Other threads run meanwhile.
using EnqueueFn = int (*)(int count, void* requests, void* stream);
int enqueue(EnqueueFn function, std::string requests, int count, Address stream) {
  const py::gil_scoped_release released;
  return function(count, requests.data(), pointer(stream));
}

void check_fake(bool is_done) {
  if (!is_done) throw std::runtime_error("the fake device refused this: no such stream, or it is captured");
}

// Streams and graphs of the fake device, which tempi.testing wraps.
void bind_fake_streams(py::class_<Library>& library) {
  library
      .def("fake_stream_create",
           [](const Library& self, int ordinal) {
             void* const stream = self.table().fake_stream_create(ordinal);
             check_fake(stream != nullptr);
             return reinterpret_cast<Address>(stream);
           })
      .def("fake_stream_destroy",
           [](const Library& self, Address stream) { self.table().fake_stream_destroy(pointer(stream)); })
      .def("fake_stream_copy",
           [](const Library& self, Address dst, Address src, std::size_t bytes, Address stream) {
             check_fake(self.table().fake_stream_copy(pointer(dst), pointer(src), bytes, pointer(stream)) == 0);
           })
      .def("fake_stream_fill",
           [](const Library& self, Address dst, int value, std::size_t bytes, Address stream) {
             check_fake(self.table().fake_stream_fill(pointer(dst), value, bytes, pointer(stream)) == 0);
           })
      .def("fake_stream_synchronize",
           [](const Library& self, Address stream) {
             check_fake(self.table().fake_stream_synchronize(pointer(stream)) == 0);
           })
      .def("fake_stream_fail",
           [](const Library& self, Address stream) { check_fake(self.table().fake_stream_fail(pointer(stream)) == 0); })
      .def("fake_stream_begin_capture",
           [](const Library& self, Address stream) {
             check_fake(self.table().fake_stream_begin_capture(pointer(stream)) == 0);
           })
      .def("fake_stream_end_capture",
           [](const Library& self, Address stream) {
             void* const graph = self.table().fake_stream_end_capture(pointer(stream));
             check_fake(graph != nullptr);
             return reinterpret_cast<Address>(graph);
           })
      .def("fake_graph_launch",
           [](const Library& self, Address graph, Address stream) {
             check_fake(self.table().fake_graph_launch(pointer(graph), pointer(stream)) == 0);
           })
      .def("fake_graph_destroy",
           [](const Library& self, Address graph) { self.table().fake_graph_destroy(pointer(graph)); });
}

}  // namespace

void bind_library(py::module_& module) {
  module.def("variables", [] {
    std::vector<py::bytes> all;  // not always text
    for (const std::string& one : variables()) all.emplace_back(one);
    return all;
  });
  module.def(
      "abi_needed_by", [](const std::string& file) { return preload::mpi_needed_by(file, {}).abi; }, py::arg("file"));
  py::class_<Library> library(module, "Library");
  library.def(py::init<std::optional<std::string>>(), py::arg("path") = py::none())
      .def_property_readonly("path", &Library::path)
      .def_property_readonly("preloaded", &Library::preloaded)
      .def("build_info", [](const Library& self) { return std::string(self.table().build_info()); })
      .def("mpi_library", [](const Library& self) { return std::string(self.table().mpi_library()); })
      .def("cuda_aware", [](const Library& self) { return std::string(self.table().cuda_aware()); })
      .def("active", [](const Library& self) { return self.table().active() != 0; })
      .def("option_warnings", [](const Library& self) { return std::string(self.table().option_warnings()); })
      .def("options", option_rows)
      .def("counters", counter_rows)
      .def("reset_counters", [](const Library& self) { self.table().reset_counters(); })
      .def("explain", explained, py::arg("datatype"), py::arg("count") = 1)
      .def("measure", measure, py::arg("what"), py::arg("strategy"), py::arg("datatype"), py::arg("count") = 1,
           py::arg("parts") = 0, py::arg("peer") = 0, py::arg("max_seconds") = 0.1, py::arg("max_samples") = 1000)
      .def("profile", [](const Library& self) { return taken(self.table().profile()); })
      .def("machine", machine)
      .def("direct", [](const Library& self) { return taken(self.table().direct()); })
      .def(
          "reaches",
          [](const Library& self, int ordinal, int other) { return self.table().reaches(ordinal, other) != 0; },
          py::arg("ordinal"), py::arg("other"))
      .def("allocate_beside", allocate_beside, py::arg("address"), py::arg("bytes"))
      .def("deallocate", deallocate, py::arg("address"))
      .def("fake_allocate", fake_allocate, py::arg("kind"), py::arg("ordinal"), py::arg("bytes"))
      .def("fake_deallocate",
           [](const Library& self, Address data) { self.table().fake_deallocate(reinterpret_cast<void*>(data)); })
      .def("fake_copy", fake_copy, py::arg("dst"), py::arg("src"), py::arg("bytes"))
      .def("fake_end_context", [](const Library& self, int ordinal) { self.table().fake_end_context(ordinal); })
      .def("fake_unfinished", [](const Library& self) { return self.table().fake_unfinished(); })
      .def("is_on_this_node", [](const Library& self, int rank) { return self.table().is_on_this_node(rank) != 0; })
      .def("comm_id", [](const Library& self, std::uint64_t comm) { return self.table().comm_id(comm); });
  library
      .def("set_stream", [](const Library& self, Address stream) { return self.table().set_stream(pointer(stream)); })
      .def("get_stream", [](const Library& self) { return reinterpret_cast<Address>(self.table().get_stream()); })
      .def("order_after_array", order_after_array, py::arg("address"), py::arg("stream"))
      .def("start_enqueue", [](const Library& self, const py::bytes& requests, int count,
                               Address stream) { return enqueue(self.table().start_enqueue, requests, count, stream); })
      .def("why_no_channel",
           [](const Library& self, std::string request) -> std::optional<std::string> {
             char* const why = self.table().why_no_channel(request.data());
             return why != nullptr ? std::optional(taken(why)) : std::nullopt;
           })
      .def("wait_enqueue", [](const Library& self, const py::bytes& requests, int count, Address stream) {
        return enqueue(self.table().wait_enqueue, requests, count, stream);
      });
  library
      .def("note_float16_type",
           [](const Library& self, const std::string& scalar, std::uint64_t datatype) {
             self.table().note_float16_type(scalar.c_str(), datatype);
           })
      .def("note_float16_operation", [](const Library& self, const std::string& name, std::uint64_t operation) {
        self.table().note_float16_operation(name.c_str(), operation);
      });
  bind_fake_streams(library);
  py::class_<Trial>(module, "Trial")
      .def(py::init<const Library&, std::uint64_t, bool>(), py::arg("library"), py::arg("datatype"), py::arg("unpacks"))
      .def("measure", &Trial::measure, py::arg("values"), py::arg("max_seconds"), py::arg("max_samples"));
}

}  // namespace tempi::bind
