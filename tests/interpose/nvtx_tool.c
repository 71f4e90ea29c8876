/* A minimal NVTX tool: prints the begin and end of ranges on standard error. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  (void)domain;
  return fprintf(stderr, "nvtx push %s %lld\n", range->message.ascii, (long long)range->payload.llValue);
}

static int NVTX_API pop(nvtxDomainHandle_t domain) {
  (void)domain;
  return fprintf(stderr, "nvtx pop\n");
}

int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks* callbacks = (const NvtxExportTableCallbacks*)get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable functions;
  unsigned int n = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &n)) return 0;
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *functions[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
