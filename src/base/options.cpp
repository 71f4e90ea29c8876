#include "base/options.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <string_view>
#include <unistd.h>

#include "base/option_values.hpp"

namespace tempi {
namespace {

constexpr std::string_view kPrefix = "TEMPI_";

struct Renamed {
  std::string_view old_name, name;
};

constexpr Renamed kRenamed[] = {
#define TEMPI_OPTION(name, type, fallback, meaning)
#define TEMPI_RENAMED(old_name, name) {#old_name, #name},
#include "base/options.def"
#undef TEMPI_OPTION
#undef TEMPI_RENAMED
};

struct Table {
  std::vector<OptionRow> rows;
  std::vector<std::int64_t> numbers;  // flags and integers, parsed for hot paths
  std::vector<std::string> warnings;
  std::string transports;
};

std::vector<std::string_view> strategies() {
  return {
      "auto",
#define TEMPI_STRATEGY(name, packs, carries, pack, unpack, typed, indexed, outcome, text, meaning) #name,
#include "base/strategies.def"
#undef TEMPI_STRATEGY
  };
}

// The words that a text option accepts; other options accept any text.
std::vector<std::string_view> choices(Option option) {
  if (option == Option::LOG) return {"off", "error", "info"};
  if (option == Option::STRATEGY) return strategies();
  if (option == Option::PROGRESS) return {"auto", "thread", "calls"};
  if (option == Option::CUDA_AWARE) return {"auto", "0", "1", "ucx"};
  if (option == Option::HOST_PACK) return {"auto", "ours", "library"};
  if (option == Option::STREAM) return {"none", "legacy", "per-thread"};
  if (option == Option::DEVICE) return {"auto", "none", "fake"};
  return {};
}

bool parse_flag(const std::string& text, std::int64_t& value) {
  for (const char* yes : {"1", "on", "true", "yes"})
    if (text == yes) return value = 1, true;
  for (const char* no : {"0", "off", "false", "no"})
    if (text == no) return value = 0, true;
  return false;
}

bool parse_integer(const std::string& text, std::int64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtoll(text.c_str(), &end, 10);
  return errno == 0 && end != text.c_str() && *end == '\0';
}

// The value of `text`; false if the option does not accept it.
bool parse(OptionType type, Option option, const std::string& text, std::int64_t& value) {
  if (type == OptionType::flag) return parse_flag(text, value);
  if (type == OptionType::integer) return parse_integer(text, value);
  if (type == OptionType::number) return parse_integer(text, value) && value >= 0;
  const auto words = choices(option);
  return words.empty() || std::find(words.begin(), words.end(), text) != words.end();
}

std::string expected(OptionType type, Option option) {
  if (type == OptionType::flag) return "0 or 1";
  if (type == OptionType::integer) return "an integer of 64 bits";
  if (type == OptionType::number) return "an integer from 0 to " + std::to_string(INT64_MAX);
  std::string list;
  for (auto word : choices(option)) (list += list.empty() ? "" : ", ") += word;
  return "one of " + list;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string prefixed(std::string_view name) { return std::string(kPrefix) + std::string(name); }

std::string unknown_warning(const std::vector<OptionRow>& rows, std::string_view name) {
  const OptionRow* nearest = nullptr;
  std::size_t best = std::max<std::size_t>(2, name.size() / 3) + 1;  // farther than this is another word
  for (const auto& row : rows)
    if (const auto distance = edit_distance(name, row.name); distance < best) best = distance, nearest = &row;
  std::string warning = prefixed(name) + " is not an option of TEMPI";
  if (nearest) warning += "; did you mean " + prefixed(nearest->name) + "?";
  return warning;
}

// The value that the environment gives an option, "" if none. The name counts before the old name.
std::string given(std::string_view name) {
  std::string value = variable(prefixed(name).c_str());
  for (const Renamed& row : kRenamed)
    if (value.empty() && row.name == name) value = variable(prefixed(row.old_name).c_str());
  return value;
}

void read_row(Table& table, std::size_t i) {
  OptionRow& row = table.rows[i];
  const auto option = static_cast<Option>(i);
  parse(row.type, option, row.value, table.numbers[i]);
  const std::string text = given(row.name);
  if (text.empty()) return;
  if (std::int64_t value = 0; parse(row.type, option, text, value)) {
    row.value = text;
    row.from_environment = true;
    table.numbers[i] = value;
  } else {
    table.warnings.push_back(prefixed(row.name) + "=" + text + " is ignored: it takes " + expected(row.type, option));
  }
}

void warn_of_names(Table& table) {
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view name = *entry;
    name = name.substr(0, name.find('='));
    if (name.substr(0, kPrefix.size()) != kPrefix) continue;
    name.remove_prefix(kPrefix.size());
    const bool known =
        std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return name == row.name; });
    const std::string now = current_name(std::string(name));
    if (now != name) table.warnings.push_back(prefixed(name) + " is now " + prefixed(now));
    else if (!known) table.warnings.push_back(unknown_warning(table.rows, name));
  }
}

std::string read_transports() {
  constexpr std::string_view kPrefixes[] = {"UCX_",         "FI_",          "MPIR_CVAR_", "OMPI_MCA_pml",
                                            "OMPI_MCA_btl", "OMPI_MCA_mtl", "PSM2_",      "PSM3_"};
  std::set<std::string> found;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const auto begins = [&](std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; };
    if (std::any_of(std::begin(kPrefixes), std::end(kPrefixes), begins)) found.emplace(text);
  }
  std::string all;
  for (const std::string& setting : found) all += (all.empty() ? "" : "\t") + setting;
  std::replace(all.begin(), all.end(), '\n', ' ');
  return all;
}

Table* read_environment() {
  auto* table = new Table;
  table->rows = {
#define TEMPI_OPTION(name, type, fallback, meaning) {#name, OptionType::type, fallback, meaning, fallback, false},
#define TEMPI_RENAMED(old_name, name)
#include "base/options.def"
#undef TEMPI_OPTION
#undef TEMPI_RENAMED
  };
  table->numbers.resize(table->rows.size());
  for (std::size_t i = 0; i < table->rows.size(); ++i) read_row(*table, i);
  warn_of_names(*table);
  table->transports = read_transports();
  return table;
}

// Never freed: destructors of the program may still call MPI at exit.
const Table& table() {
  static const Table* const the_table = read_environment();
  return *the_table;
}

}  // namespace

const std::vector<OptionRow>& options() { return table().rows; }
bool flag(Option option) { return number(option) != 0; }
std::int64_t number(Option option) { return table().numbers[static_cast<std::size_t>(option)]; }
const std::string& text(Option option) { return table().rows[static_cast<std::size_t>(option)].value; }

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> variables() {
  std::vector<std::string> all;
  for (char** entry = environ; entry && *entry; ++entry) all.emplace_back(*entry);
  return all;
}

std::string variable_of(long process, const std::string& name) {
  std::ifstream variables("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(variables, entry, '\0');) {
    if (entry.compare(0, name.size() + 1, name + "=") == 0) return entry.substr(name.size() + 1);
  }
  return "";
}

std::string cache_folder() {
  if (!text(Option::CACHE_DIR).empty()) return text(Option::CACHE_DIR);
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/tempi";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/tempi";
  return "";
}

const std::string& transport_settings() { return table().transports; }

std::vector<std::string> inherited_settings() {
  std::vector<std::string> settings;
  for (std::string& text : variables()) {
    const bool preloads = text.substr(0, 11) == "LD_PRELOAD=" && text.find("libtempi") != std::string::npos;
    if (preloads) settings.insert(settings.begin(), std::move(text));
    else if (text.substr(0, kPrefix.size()) == kPrefix) settings.push_back(std::move(text));
  }
  return settings;
}

bool nvtx_tool_is_attached() { return !variable("NVTX_INJECTION64_PATH").empty(); }

std::string current_name(const std::string& name) {
  for (const Renamed& row : kRenamed)
    if (name == row.old_name) return std::string(row.name);
  return name;
}

std::string refused_value(const std::string& name, const std::string& value) {
  const std::vector<OptionRow>& rows = options();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& one) { return name == one.name; });
  if (row == rows.end()) return "there is no such option";
  const auto option = static_cast<Option>(row - rows.begin());
  std::int64_t number = 0;
  return value.empty() || parse(row->type, option, value, number) ? "" : "it takes " + expected(row->type, option);
}

std::vector<std::string> option_warnings() { return table().warnings; }

}  // namespace tempi
