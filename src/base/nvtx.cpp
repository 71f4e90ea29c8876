#include "base/nvtx.hpp"

#ifdef TEMPI_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace tempi::trace {

#ifdef TEMPI_HAVE_NVTX
namespace {

nvtxDomainHandle_t domain;

}  // namespace

bool nvtx_open() noexcept {
  domain = nvtxDomainCreateA("tempi");
  return true;
}

void nvtx_push(const char* name, std::int64_t bytes) noexcept {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  if (bytes >= 0) {
    range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    range.payload.llValue = bytes;
  }
  nvtxDomainRangePushEx(domain, &range);
}

void nvtx_pop() noexcept { nvtxDomainRangePop(domain); }
#else
bool nvtx_open() noexcept { return false; }
void nvtx_push(const char*, std::int64_t) noexcept {}
void nvtx_pop() noexcept {}
#endif

}  // namespace tempi::trace
