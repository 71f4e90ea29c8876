// Trees, rewrite rules and layouts as Python values.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "bind/bind.hpp"
#include "datatype/canonical.hpp"
#include "datatype/compose.hpp"
#include "datatype/cut.hpp"
#include "datatype/layout.hpp"

namespace py = pybind11;

namespace tempi::bind {
namespace {

using namespace datatype;

// pybind11 cannot hold a pointer to const, hence this value around it.
struct PyTree {
  TreePtr tree;
};

using Run = std::pair<std::int64_t, std::int64_t>;  // offset, length

const char* kind_name(Tree::Kind kind) {
  switch (kind) {
    case Tree::Kind::dense: return "dense";
    case Tree::Kind::strided: return "strided";
    case Tree::Kind::blocks: return "blocks";
  }
  return "?";
}

std::vector<Run> runs(const PyTree& self, std::int64_t offset) {
  std::vector<Run> found;
  walk(*self.tree, offset, [&](std::int64_t at, std::int64_t length) { found.emplace_back(at, length); });
  return found;
}

PyTree make_blocks(const std::vector<std::pair<std::int64_t, PyTree>>& parts) {
  std::vector<Piece> pieces;
  for (const auto& [offset, part] : parts) pieces.push_back({offset, part.tree});
  return {blocks(std::move(pieces))};
}

py::object applied(const Rule& rule, const PyTree& node) {
  TreePtr result = rule.apply(node.tree);
  return result ? py::cast(PyTree{result}) : py::none();
}

py::list rule_list() {
  py::list list;
  for (const Rule& rule : rules()) {
    list.append(
        py::make_tuple(rule.name, py::cpp_function([rule](const PyTree& node) { return applied(rule, node); })));
  }
  return list;
}

std::vector<Dim> dims(const Box& box) { return {box.dims.begin(), box.dims.begin() + box.n_dims}; }

void bind_tree(py::module_& module) {
  py::class_<PyTree>(module, "Tree")
      .def_property_readonly("kind", [](const PyTree& self) { return kind_name(self.tree->kind); })
      .def_property_readonly("size", [](const PyTree& self) { return self.tree->size; })
      .def_property_readonly("hash", [](const PyTree& self) { return self.tree->hash; })
      .def("describe", [](const PyTree& self) { return describe(*self.tree); })
      .def("walk", runs, py::arg("offset") = 0)
      .def("__repr__", [](const PyTree& self) { return describe(*self.tree); });
  module.def("dense", [](std::int64_t bytes) { return PyTree{dense(bytes)}; }, py::arg("bytes"));
  module.def(
      "strided",
      [](std::int64_t count, std::int64_t stride, const PyTree& child) {
        return PyTree{strided(count, stride, child.tree)};
      },
      py::arg("count"), py::arg("stride"), py::arg("child"));
  module.def("blocks", make_blocks, py::arg("pieces"));
  module.def("same", [](const PyTree& a, const PyTree& b) { return same(a.tree, b.tree); });
  module.def("canonicalise", [](const PyTree& tree) { return PyTree{canonicalise(tree.tree)}; });
  module.def("rules", rule_list);
}

void bind_box(py::module_& module) {
  py::class_<Dim>(module, "Dim")
      .def_readonly("count", &Dim::count)
      .def_readonly("src_stride", &Dim::src_stride)
      .def_readonly("dst_stride", &Dim::dst_stride);
  py::class_<Box>(module, "Box")
      .def_readonly("src_offset", &Box::src_offset)
      .def_readonly("dst_offset", &Box::dst_offset)
      .def_readonly("block_bytes", &Box::block_bytes)
      .def_readonly("table_dim", &Box::table_dim)
      .def_property_readonly("dims", dims)
      .def_property_readonly("payload_bytes", &Box::payload_bytes)
      .def_property_readonly("table_side", [](const Box& box) { return box.table_side == Side::src ? "src" : "dst"; })
      .def_property_readonly("table_unit", [](const Box& box) { return box.table ? box.table->unit : 0; })
      .def_property_readonly("table_offsets", [](const Box& box) {
        return box.table ? py::cast(box.table->offsets) : py::object(py::none());
      });
  module.def("reversed", reversed);
  module.def("repeated", py::overload_cast<const Boxes&, std::int64_t, std::int64_t, std::int64_t>(repeated),
             py::arg("boxes"), py::arg("count"), py::arg("extent"), py::arg("size"));
  module.def("composed", composed, py::arg("sent"), py::arg("received"));
  module.def("bytes_between", bytes_between, py::arg("boxes"), py::arg("begin"), py::arg("end"));
}

}  // namespace

void bind_datatype(py::module_& module) {
  bind_tree(module);
  bind_box(module);
  py::class_<Layout>(module, "Layout")
      .def_readonly("boxes", &Layout::boxes)
      .def_readonly("size", &Layout::size)
      .def_readonly("true_lower_bound", &Layout::true_lower_bound)
      .def_readonly("true_upper_bound", &Layout::true_upper_bound);
  module.def("layout", [](const PyTree& tree) { return layout(*tree.tree); }, py::arg("canonical"));
}

}  // namespace tempi::bind
