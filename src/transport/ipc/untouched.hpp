// Messages that only the library handles: these functions count them and remember their requests. The functions are
// those of the table `Transport` with the same names (transport/transport.hpp).
#pragma once

#include "transport/transport.hpp"

namespace tempi::message::untouched {

Noted note(const Envelope* out, const Envelope* in, bool is_persistent) noexcept;
void note_request(const Envelope* out, const Envelope* in, const Noted& noted, bool is_persistent,
                  Handle request) noexcept;
void note_start(Handle request) noexcept;
void note_free(Handle request) noexcept;
void note_probe() noexcept;
UndecidedPtr note_matched_probe(int source, int tag, Handle comm) noexcept;
void promise_no_probes(Handle comm) noexcept;
void note_all_in_call(Handle comm, bool are_in_it) noexcept;

}  // namespace tempi::message::untouched
