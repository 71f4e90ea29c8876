// What options take, for those who set them in other processes.
#pragma once

#include <string>

namespace tempi {

// Why an option, named without TEMPI_, does not take a value: "it takes one of ..."; "" if it takes it.
std::string refused_value(const std::string& name, const std::string& value);

}  // namespace tempi
