// Messages on standard error. Without TEMPI_LOG, only warnings and notes are printed. warn_once() reports problems that
// the user should know. note() is in base/verified.hpp.
#pragma once

#include <string>

namespace tempi {

enum class LogLevel { off, error, info };

bool logs(LogLevel level);                                    // does TEMPI_LOG ask for this level?
void log(LogLevel level, const std::string& message);         // "tempi: info: message"
void warn_once(const char* key, const std::string& message);  // once for each key, whatever TEMPI_LOG says

// Warns once for each `instead`: "tempi: warning: instead: cause". `instead` says what TEMPI now does, `cause` why.
void warn_fallback(const char* instead, const std::string& cause);

}  // namespace tempi
