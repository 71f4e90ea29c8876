// Names and allowed values of options, for code that sets options in other processes.
#pragma once

#include <string>

namespace tempi {

// The name of an option now, for that or its old name. Names are without TEMPI_.
std::string current_name(const std::string& name);

// Why an option, named without TEMPI_, does not take a value: "it takes one of ..."; "" if it takes it.
std::string refused_value(const std::string& name, const std::string& value);

}  // namespace tempi
