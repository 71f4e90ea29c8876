// Reads the contents of datatypes from the MPI library.
#pragma once

#include "datatype/decode.hpp"

namespace tempi {

class MpiTypeReader final : public datatype::TypeReader {
 public:
  datatype::Contents contents(datatype::TypeHandle type) override;
  void release(datatype::TypeHandle type) override;
  datatype::Bounds bounds(datatype::TypeHandle type) override;
  std::int64_t size(datatype::TypeHandle type) override;
  bool is_complex(datatype::TypeHandle type) override;
};

bool is_predefined(datatype::TypeHandle type);  // never freed

// The number of counts, displacements, ... of the datatype's constructor.
std::int64_t argument_count(datatype::TypeHandle type);

}  // namespace tempi
