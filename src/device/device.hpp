// The interface of a GPU. `cuda` is a real GPU. With `fake`, all other code can be tested without a GPU.
//
// Glossary
//   location    the kind of memory of an address, and its owner
//   queue       one in-order stream of work; every thread has its own queue for each context and lane
//   mark        a point in a queue, reached when all work queued before it is done
//   kernel      a grid of tiles; the GPU and the fake device use the same source of its body
//   scope       a context that the calling thread has entered; all work is queued through a scope
//   stream      a stream of the program; a scope may also queue work in it (stream_order.hpp)
//   share, map  a process shares its own allocation; another process of the node maps it and can then access its bytes
//
// On failure, every function that is not noexcept throws tempi::Error. If its comment names no other kind of error, the
// kind is device or no_memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tempi::device {

enum class MemoryKind : std::uint8_t {
  host,     // pageable: only the CPU can access it
  pinned,   // page-locked and mapped: CPU and GPUs access it at the same address
  managed,  // migrates: CPU and GPUs access it at the same address
  device,   // only the GPU can access it
};

const char* name(MemoryKind kind);

// A context of a GPU, from its creation to its end. The program may end it (cudaDeviceReset, cuCtxDestroy) with all its
// contents. A context that is created later is another Context, also if its handle has the same value. The value is
// opaque: cuda uses a record that is never freed, fake uses a number. It is null for host memory.
using Context = void*;

struct Location {
  MemoryKind kind = MemoryKind::host;
  int ordinal = -1;                   // the GPU, -1 for pageable memory
  Context context = nullptr;          // context of work on this memory
  std::uintptr_t begin = 0, end = 0;  // the allocation, if the driver knows it; empty for pageable memory
  std::uint64_t id = 0;               // of the allocation, never reused in the process; 0: host memory, or not known
  bool on_gpu() const { return kind == MemoryKind::device || kind == MemoryKind::managed; }
  bool cpu_reaches() const { return kind != MemoryKind::device; }
  bool gpu_reaches() const { return kind != MemoryKind::host; }
  bool operator==(const Location&) const = default;
};

// An allocation of device memory as another process of the node maps it. Plain data: it travels through shared memory.
struct SharedAllocation {
  std::array<std::byte, 64> handle{};  // cuda: CUipcMemHandle; fake: process and file
  std::array<std::byte, 16> gpu{};     // UUID of its GPU
  std::uint64_t id = 0;                // Location::id in its process
  std::uint64_t begin = 0, bytes = 0;  // in the address space of its process
};

// A kernel as the fake device runs it: the per-thread body, compiled for the CPU. The fake adds `shift` to addresses
// inside [begin, end), because the CPU cannot access the device addresses that programs hold. In a kernel with several
// phases (separated by barriers) all threads of a tile run the first phase, then all run the next.
struct AddressShift {
  std::uintptr_t begin = 0, end = 0;
  std::ptrdiff_t shift = 0;
  void (*outside)(std::uintptr_t address) = nullptr;  // called for every other address that a kernel uses
  // Called for wide accesses, which must lie inside one allocation.
  void (*wide)(std::uintptr_t address, std::size_t bytes) = nullptr;
};
struct KernelThread {
  std::uint32_t tile, thread, threads;  // the thread's number in its tile, and the number of threads of the tile
  int phase = 0;
  std::byte* shared = nullptr;  // memory of the tile
};
using HostBody = void (*)(const void* params, KernelThread thread, const AddressShift& shift);
// Runs a kernel that waits for kernels of other processes, with all its threads. Each call does the work that is
// possible now. False: the kernel has not ended.
using HostAttempt = bool (*)(const void* params, const AddressShift& shift);

struct Kernel {
  const char* symbol;          // extern "C" name in the device image
  std::uint32_t most_threads;  // per tile
  std::size_t param_bytes;
  HostBody host_body;
  int phases = 1;
  std::size_t shared_bytes = 0;        // of a tile
  bool tells_its_end = false;          // it takes a second argument (done.hpp)
  HostAttempt host_attempt = nullptr;  // in place of host_body
};

struct Grid {
  std::uint32_t tiles, threads;  // threads per tile

  bool operator==(const Grid&) const = default;
};

// Two queues for each thread and context. Work of one queue can run at the same time as work of the other.
enum class Lane : std::uint8_t { first, second };
inline constexpr std::array kLanes{Lane::first, Lane::second};

// Any thread may use it. The functions throw Error (device) if the work before the mark has failed.
class Mark {
 public:
  virtual ~Mark() = default;
  virtual bool reached() = 0;
  virtual void wait() = 0;
};
using MarkPtr = std::shared_ptr<Mark>;

// A stream of the program. cuda: a CUstream, of which null, 1 and 2 are the default ones; fake: fake_stream_create().
using StreamHandle = void*;
struct ProgramStream {
  StreamHandle handle;
  Context context;  // null: a default stream, which each context has
};

struct Facts {
  std::string gpu = "none";     // the first one's name
  int count = 0;                // that this process sees
  std::string driver = "none";  // version
};

class Scope;
class Device;

// yes: an option or a thread has asked for the order of MPI calls after work in the program's streams
// (stream_order.hpp).
enum class OrderAsked : std::uint8_t { unknown, no, yes };
extern std::atomic<OrderAsked> order_asked;
bool is_order_asked_here() noexcept;
inline bool calls_are_ordered() noexcept {
  return order_asked.load(std::memory_order_relaxed) != OrderAsked::no && is_order_asked_here();
}
// Waits for the work in these streams, unless the memory is pageable or an OrderedByMarks exists.
void await_streams(Device& device, const Location& location) noexcept;

// A back end derives from it. These functions may be trivial:
//   functions with a body   they need not be overridden
//   share()                 nothing: no message to another process is direct
//   has_atomics()           false: TEMPI_STREAM_TIMEOUT excludes channels between processes
//   is_capturing()          false: keep_with_graph() is never called
// On a GPU, kernels with Kernel::tells_its_end have a second parameter, a `Done`, whose flag may be null.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;

  // The location of `address`. Never initialises the driver and never fails: unknown memory is host memory. For GPU
  // memory, it first waits for the data of all synchronous copies, in any stream, that have returned to the program. If
  // calls are ordered after streams of the program, it also calls await_streams().
  Location locate(const void* address) noexcept {
    const Location found = find(address);
    if (calls_are_ordered()) await_streams(*this, found);
    return found;
  }

  // True: locate() would return `known`, as it has before. May be faster.
  bool is_still(const Location& known, const void* address) noexcept {
    if (calls_are_ordered()) await_streams(*this, known);
    return is_found_again(known, address);
  }

  // True: an allocation that locate() has found still exists. It does not wait, and does not order anything.
  virtual bool exists(const Location& known) noexcept = 0;

  // True if the program has ended the context, or the driver has shut down. Its memory, pinned pages, mappings and
  // queued work no longer exist: TEMPI forgets them, and does not free them. From then on, scopes of the context are
  // refused, and marks throw.
  virtual bool has_ended(Context context) noexcept = 0;

  // True: a kernel of the context has failed, so that none of its queued work runs. It has not ended.
  virtual bool has_failed(Context context) noexcept = 0;

  // Call it before a stream of the program waits for calls of a thread (InPlaceOfStream). It creates the queues that
  // the thread needs in this context, and `marks` marks, which are kept as long as the result. The thread must not
  // create them: a function of the driver that creates an object waits until a copy from or to pageable memory has
  // ended, and the copy may wait for the stream.
  virtual std::shared_ptr<const void> prepare_in_place(Context context, std::size_t marks) = 0;

  // The context that is the thread's current one; null: none.
  virtual Context program_context() noexcept = 0;

  // Releases contexts that exist only because TEMPI uses them.
  virtual void release_contexts() noexcept {}

  // Facts about the GPUs. Never initialises the driver: before the program has initialised it, there are no facts.
  virtual Facts facts() noexcept = 0;

  // The context that the CUDA runtime uses on a GPU, initialised now if need be.
  virtual Context primary(int ordinal) = 0;

  // True: a kernel on one GPU can access the memory of the other GPU. The ordinals are those of this process.
  virtual bool reaches(int ordinal, int other) noexcept = 0;

  // True: kernels on the GPU of `own` can use atomic operations on this memory of another process.
  // False: they cannot, or this is not known.
  virtual bool has_atomics(const Location& own, const SharedAllocation& other) noexcept = 0;

  // True: while a kernel waits for another process, kernels of other processes cannot run on this GPU. Constant.
  virtual bool waits_hold_gpu() const noexcept { return true; }

  // The stream of a handle of the program. Throws Error (stream) if the stream belongs to no existing context.
  virtual ProgramStream program_stream(StreamHandle handle) = 0;

  // The description by which another process can map the allocation (Scope::map). Empty: the memory cannot be shared,
  // because it is not device memory, or because the driver has no handle for it (cudaMallocAsync, virtual memory
  // management). Fast enough to be called for each message.
  virtual std::optional<SharedAllocation> share(const Location& location) noexcept = 0;

 private:
  friend class Scope;  // its comments explain the functions below

  virtual Location find(const void* address) noexcept = 0;
  virtual bool is_found_again(const Location& known, const void* address) noexcept { return find(address) == known; }
  virtual void enter(Context context, Lane lane) = 0;
  virtual void enter_stream(Context context, StreamHandle stream) = 0;
  virtual void leave(Context context) noexcept = 0;
  virtual void launch(const Kernel& kernel, Grid grid, const void* params) = 0;
  virtual void copy(void* dst, const void* src, std::size_t bytes) = 0;
  virtual void write_word(std::uint64_t* word, std::uint64_t value) = 0;
  virtual void finish() = 0;
  virtual MarkPtr mark() = 0;
  virtual MarkPtr mark_for_cpu() { return mark(); }
  virtual void wait_for(const Mark& mark) = 0;
  virtual bool is_capturing() = 0;
  virtual void keep_with_graph(std::shared_ptr<const void> object) = 0;
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* address) noexcept = 0;
  virtual void pin(void* pages, std::size_t bytes) = 0;
  virtual void unpin(void* pages) noexcept = 0;
  virtual std::uintptr_t map(const SharedAllocation& allocation) = 0;
  virtual void unmap(std::uintptr_t address) noexcept = 0;
};

// The device of this process, chosen by TEMPI_DEVICE, or null while there is none (no driver loaded, not initialised).
// Takes a few ns as long as the program has not loaded the driver.
Device* current() noexcept;

// True: this process may use a GPU later. Constant.
bool may_come() noexcept;

// While a Scope exists, its context is current for the calling thread. A Scope does not disturb a
// graph capture of the program. The constructor throws Error (device) if the context has ended. A
// function that needs a current context takes a Scope as proof. Only the innermost of nested scopes
// may be used. Copies and kernels go to the thread's own queue of the context and lane.
class Scope {
 public:
  Scope(Device& device, Context context, Lane lane = Lane::first) : device_(device), context_(context) {
    device_.enter(context_, lane);
  }
  // Copies and kernels go to a stream of the program; finish() and marks wait for all work in this stream, also that of
  // the program. `context`: the context of the memory and of the stream.
  Scope(Device& device, Context context, const ProgramStream& stream) : device_(device), context_(context) {
    device_.enter_stream(context_, stream.handle);
  }
  ~Scope() { device_.leave(context_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Device& device() const { return device_; }
  Context context() const { return context_; }

  void launch(const Kernel& kernel, Grid grid, const void* params) const { device_.launch(kernel, grid, params); }
  // Pageable memory on one side needs device or managed memory on the other. (CUDA refuses two pageable ones.)
  void copy(void* dst, const void* src, std::size_t bytes) const { device_.copy(dst, src, bytes); }
  // Writes a word in pinned memory. A thread that reads this value also sees all data that
  // earlier work of the queue has written.
  void write_word(std::uint64_t* word, std::uint64_t value) const { device_.write_word(word, value); }
  // A graph of the program is being captured from the stream: kernels and copies become parts of it; finish(), marks
  // and wait_for() are not allowed, and would end the capture.
  bool is_capturing() const { return device_.is_capturing(); }
  // While capturing: the object exists as long as the graph and all graphs that are made from it. Its destructor must
  // not call CUDA.
  void keep_with_graph(std::shared_ptr<const void> object) const { device_.keep_with_graph(std::move(object)); }
  void finish() const { device_.finish(); }  // returns when everything queued by this thread in this queue is done
  // After a failure: waits until no queued work runs, including the work that has failed, so that memory can be reused.
  void settle() const noexcept;
  MarkPtr mark() const { return device_.mark(); }
  MarkPtr mark_for_cpu() const { return device_.mark_for_cpu(); }    // for the CPU only; the CPU may see it earlier
  void wait_for(const Mark& mark) const { device_.wait_for(mark); }  // work queued from now on starts after the mark

  // Raw device memory for caches and pools. Freed memory must not be in use by queued work.
  void* allocate(std::size_t bytes) const { return device_.allocate(bytes); }
  void deallocate(void* address) const noexcept { device_.deallocate(address); }
  // Lets all GPUs access pages (host_pages.hpp) at the CPU's address, until unpin() or the end of this context. The
  // caller still owns the pages.
  void pin(void* pages, std::size_t bytes) const { device_.pin(pages, bytes); }
  void unpin(void* pages) const noexcept { device_.unpin(pages); }

  // Maps an allocation of another process for kernels and copies of this context; locate() also finds it. Returns the
  // address of its first byte in this process. Throws Error if the GPU cannot access it, if its process has ended, or
  // if it is an allocation of this process. It can take milliseconds. CUDA requires that all mappings of another
  // process are in one context of a GPU, and that every mapping ends before the owner frees the memory. If the owner
  // frees the memory earlier, it stays occupied until the last mapping ends, and bytes that are written there are lost.
  std::uintptr_t map(const SharedAllocation& allocation) const { return device_.map(allocation); }
  // Ends a mapping that map() returned. Each call of map() needs its own call of unmap(). No queued work may use the
  // memory. CUDA waits for all kernels of the context, and delays launches during this time.
  void unmap(std::uintptr_t address) const noexcept { device_.unmap(address); }

 private:
  Device& device_;
  Context context_;
};

}  // namespace tempi::device
