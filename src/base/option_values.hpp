// Names and allowed values of options, for code that sets options in other processes.
#pragma once

#include <string>

namespace tempi {

// The current name of an option, from its current or its old name. Names are without TEMPI_.
std::string current_name(const std::string& name);

// The reason why an option does not accept a value, such as "it takes one of ...". "": it accepts
// the value. The name is without TEMPI_.
std::string refused_value(const std::string& name, const std::string& value);

}  // namespace tempi
