// Spans without MPI: trace_spans odd|many|part|exit. The file is the one that TEMPI_TRACE names.
#include <cstdlib>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/trace.hpp"

using tempi::trace::Span;

static void odd_names() {
  const Span outer("a \"quoted\" \\ back\\slash",
                   {.bytes = INT64_MAX, .messages = 0, .strategy = "\x01\n\t\xff\xc3\x28"});
  const Span inner("");
}

int main(int, char** arguments) {
  const std::string_view what = arguments[1];
  tempi::trace::start(what == "many" ? 1000 : tempi::trace::kMostEvents);
  if (what != "exit") tempi::trace::set_rank(3, what != "part");
  if (what == "odd") {
    std::thread(odd_names).join();
    odd_names();
  } else if (what == "part") {
    const Span span("of one node");
  } else if (what == "many") {
    for (int i = 0; i < 5000; ++i) const Span span("one of many");
  } else {
    const Span span("before");
    if (const pid_t child = fork(); child == 0) std::exit(0);
    else waitpid(child, nullptr, 0);
  }
  return 0;
}
