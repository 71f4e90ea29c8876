// A libcuda.so.1 for tests without a GPU: the functions of the CUDA driver that the shim and contexts.c call. Its
// kernels are those of src/pack/, run by the CPU when they are launched.
//
// It uses handles and addresses again at once, as the real one does. It aborts with one line where it is given a handle
// of a context that has ended, or where a kernel or a copy uses memory that no context holds.
#include "cuda_driver.hpp"

using namespace driver;

// The names of cuda.h are macros for their versions.
#pragma GCC visibility push(default)
extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = CUDA_VERSION, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = kGpus, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* gpu, int ordinal) { return *gpu = ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) { return std::snprintf(name, bytes, "none"), CUDA_SUCCESS; }
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice gpu) {
  *uuid = {};
  uuid->bytes[0] = static_cast<char>(gpu);
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetP2PAttribute(int* can, CUdevice_P2PAttribute, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult result, const char** name) {
  *name = result == CUDA_SUCCESS ? "CUDA_SUCCESS" : "an error";
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice gpu, unsigned* flags, int* is_active) {
  LOCKED;
  *flags = 0;
  *is_active = state().primary[gpu].life != 0;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice gpu) {
  LOCKED;
  Context& primary = state().primary[gpu];
  ++primary.n_retained;
  if (primary.life == 0) start(primary, gpu);
  *context = reinterpret_cast<CUcontext>(&primary);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice gpu) {
  LOCKED;
  Context& primary = state().primary[gpu];
  if (primary.n_retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.n_retained == 0 && primary.life != 0) end(primary);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset(CUdevice gpu) {
  LOCKED;
  end(state().primary[gpu]);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice gpu) {
#else
CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice gpu) {
#endif
  LOCKED;
  auto& all = state().created;
  Context& made = *std::find_if(all.begin(), all.end(), [](const Context& one) { return one.life == 0; });
  start(made, gpu);
  current().push_back(&made);
  *context = reinterpret_cast<CUcontext>(&made);
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy(CUcontext context) {
  LOCKED;
  end(living(context));
  if (current().back() == reinterpret_cast<Context*>(context)) current().pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  LOCKED;
  if (context != nullptr) living(context);
  current().back() = reinterpret_cast<Context*>(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  LOCKED;
  current().push_back(&living(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(current().back());
  current().pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  return *context = reinterpret_cast<CUcontext>(current().back()), CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* gpu) {
  LOCKED;
  return *gpu = here().gpu, CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return CUDA_SUCCESS; }

CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute* wanted, void** values, CUdeviceptr address) {
  LOCKED;
  const Found found = find(address);
  const bool is_known = found != state().allocations.end();
  const Allocation none{0, false, nullptr, 0}, &one = is_known ? found->second : none;
  for (unsigned i = 0; i < n; ++i) {
    switch (wanted[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put(values[i],
            !is_known ? 0u : static_cast<unsigned>(one.is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: put(values[i], 0u); break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: put(values[i], is_known ? one.context->gpu : -2); break;
      case CU_POINTER_ATTRIBUTE_CONTEXT: put(values[i], one.context); break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: put(values[i], is_known ? found->first : 0); break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: put(values[i], one.bytes); break;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID: put(values[i], one.id); break;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}
CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr address) {
  LOCKED;
  return find(address) != state().allocations.end() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  LOCKED;
  const std::uintptr_t at = take(bytes);
  if (at == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  state().allocations[at] = {bytes, true, &here(), ++state().last_id};
  *address = at;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  LOCKED;
  const Found found = find(address);
  if (found == state().allocations.end() || found->first != address || !found->second.is_device)
    refuse("memory is freed that is not there");
  remove(found);
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister_v2(void* pages, std::size_t bytes, unsigned) {
  LOCKED;
  const auto at = reinterpret_cast<std::uintptr_t>(pages);
  if (find(at) != state().allocations.end()) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  state().allocations[at] = {bytes, false, &here(), ++state().last_id};
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* pages) {
  LOCKED;
  static_cast<void>(here());
  const Found found = find(reinterpret_cast<std::uintptr_t>(pages));
  if (found == state().allocations.end() || found->second.is_device) refuse("pages are unpinned that are not pinned");
  remove(found);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  LOCKED;
  return copy(to, reinterpret_cast<std::uintptr_t>(from), bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  LOCKED;
  return copy(reinterpret_cast<std::uintptr_t>(to), from, bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  LOCKED;
  find(stream, Kind::stream);
  return copy(to, from, bytes), CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr*, CUipcMemHandle, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuIpcCloseMemHandle(CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  LOCKED;
  return *stream = static_cast<CUstream>(make(Kind::stream)), CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  LOCKED;
  return destroy(stream, Kind::stream), CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  LOCKED;
  return find(stream, Kind::stream), CUDA_SUCCESS;
}
CUresult cuStreamWriteValue64_v2(CUstream, CUdeviceptr, cuuint64_t, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  LOCKED;
  const Object* const one = find(stream, Kind::stream);
  return *context = reinterpret_cast<CUcontext>(one != nullptr ? one->context : &here()), CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  LOCKED;
  find(stream, Kind::stream);
  return *status = CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
// No graph is captured.
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph*,
                                   const CUgraphNode**, std::size_t*) {
  return cuStreamIsCapturing(stream, status);
}
CUresult cuUserObjectCreate(CUuserObject*, void*, CUhostFn, unsigned, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGraphRetainUserObject(CUgraph, CUuserObject, unsigned, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  LOCKED;
  find(stream, Kind::stream);
  return find(event, Kind::event), CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  LOCKED;
  return *event = static_cast<CUevent>(make(Kind::event)), CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  LOCKED;
  find(stream, Kind::stream);
  return find(event, Kind::event), CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  LOCKED;
  return find(event, Kind::event), CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) { return cuEventQuery(event); }

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  LOCKED;
  return *module = static_cast<CUmodule>(make(Kind::module)), CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  LOCKED;
  find(module, Kind::module);
  const device::Kernel* const kernel = kernel_named(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  return *function = static_cast<CUfunction>(make(Kind::function, kernel)), CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned tiles, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                        unsigned, CUstream stream, void** arguments, void**) {
  LOCKED;
  find(stream, Kind::stream);
  run(*find(function, Kind::function)->kernel, {tiles, threads}, arguments[0],
      *static_cast<const device::Done*>(arguments[1]));
  return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  LOCKED;
  return *graph = static_cast<CUgraph>(make(Kind::graph)), CUDA_SUCCESS;
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode*, CUgraph graph, const CUgraphNode*, std::size_t,
                                 const CUDA_KERNEL_NODE_PARAMS_v2* node) {
  LOCKED;
  Object& one = *find(graph, Kind::graph);
  one.kernel = find(node->func, Kind::function)->kernel;
  const auto* const params = static_cast<const std::byte*>(node->kernelParams[0]);
  one.params = {params, params + one.kernel->param_bytes};
  one.done = *static_cast<const device::Done*>(node->kernelParams[1]);
  one.grid = {node->gridDimX, node->blockDimX};
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  LOCKED;
  auto* const made = static_cast<Object*>(make(Kind::executable));
  *made = *find(graph, Kind::graph);
  made->kind = Kind::executable;
  return *executable = reinterpret_cast<CUgraphExec>(made), CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  LOCKED;
  find(stream, Kind::stream);
  const Object& one = *find(executable, Kind::executable);
  return run(*one.kernel, one.grid, one.params.data(), one.done), CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  LOCKED;
  return destroy(executable, Kind::executable), CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  LOCKED;
  return destroy(graph, Kind::graph), CUDA_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
