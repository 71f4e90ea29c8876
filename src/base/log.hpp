// Messages on standard error. Silent unless TEMPI_LOG asks, but for warn_once(): what the user should know is off.
#pragma once

#include <string>

namespace tempi {

enum class LogLevel { off, error, info, debug };

bool logs(LogLevel level);                                    // does TEMPI_LOG ask for this level?
void log(LogLevel level, const std::string& message);         // "tempi: info: message"
void warn_once(const char* key, const std::string& message);  // once a process and key, whatever TEMPI_LOG says

// What is done instead of what has failed, and why: "tempi: warning: instead: cause", once for each `instead`.
void warn_fallback(const char* instead, const std::string& cause);

}  // namespace tempi
