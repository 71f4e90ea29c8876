// The C face of the library for the Python package.
#include "face/api.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/counters.hpp"
#include "base/launcher.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "datatype/canonical.hpp"
#include "datatype/decode.hpp"
#include "device/device.hpp"
#include "device/fake/fake.hpp"
#include "device/stream_order.hpp"
#include "face/enqueue.hpp"
#include "face/float16.hpp"
#include "face/stream.hpp"
#include "machine/cuda_aware.hpp"
#include "machine/machine.hpp"
#include "measure/measure.hpp"
#include "measure/tune.hpp"
#include "mpi/active.hpp"
#include "mpi/real.hpp"
#include "mpi_config.h"
#include "pack/describe.hpp"
#include "peer/ids.hpp"
#include "peer/peer.hpp"
#include "preload/driver_frees.hpp"
#include "tempi_config.h"
#include "transfer/strategy.hpp"
#include "types/reader.hpp"

struct tempi_trial {
  tempi::measure::Trial trial;
};

namespace tempi::face {
namespace {

char* copied(const std::string& text) { return strdup(text.c_str()); }

const char* build_info() {
  return "version: " TEMPI_VERSION "\nbuild type: " TEMPI_BUILD_TYPE "\ncompiler: " TEMPI_COMPILER
         "\nMPI ABI: " TEMPI_MPI_ABI "\nbuilt against: " TEMPI_MPI_VERSION_TEXT "\nCUDA: " TEMPI_CUDA_VERSION "\n";
}

const char* mpi_library() {
  static const std::string path = mpi_library_path();
  return path.c_str();
}

bool mpi_is_up() {
  int begun = 0, ended = 0;
  real_pmpi().MPI_Initialized(&begun);
  real_pmpi().MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}

const char* cuda_aware() {
  if (mpi_library_path().empty()) return "";
  if (!TEMPI_MPI_ABI_OPENMPI && !mpi_is_up()) return "unknown before MPI_Init";  // MPICH ends a process that asks
  static thread_local std::string text;
  const machine::CudaAwareness found = machine::find_cuda_awareness();
  text = (found.aware ? "yes: " : "no: ") + found.reason;
  return text.c_str();
}

std::size_t option_rows(const tempi_option** rows) {
  static const std::vector<tempi_option> all = [] {
    std::vector<tempi_option> made;
    for (const OptionRow& row : options()) {
      made.push_back({row.name, row.value.c_str(), row.fallback, row.meaning, row.from_environment});
    }
    return made;
  }();
  *rows = all.data();
  return all.size();
}

const char* lines_of_warnings() {
  static const std::string all = [] {
    std::string lines;
    for (const std::string& warning : option_warnings()) lines += warning + "\n";
    return lines;
  }();
  return all.c_str();
}

std::size_t counter_rows(tempi_counter* rows, std::size_t capacity) {
  const std::vector<CounterRow> all = counters();
  for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i) {
    rows[i] = {name(all[i].function),
               text(all[i].outcome),
               all[i].calls,
               all[i].bytes,
               static_cast<double>(all[i].nanoseconds) * 1e-9,
               static_cast<double>(all[i].predicted_nanoseconds) * 1e-9};
  }
  return all.size();
}

tempi_explanation explain(std::uint64_t datatype, std::int64_t count) {
  try {
    MpiTypeReader reader;
    const datatype::Type type = datatype::decode(static_cast<Handle>(datatype), reader);
    const pack::Plan plan(datatype::canonicalise(type.tree));
    const pack::Repeat repeat{count, type.extent};
    const model::Features features = message::features_of(plan, repeat);
    return {nullptr,
            copied(datatype::describe(*type.tree)),
            copied(datatype::describe(*plan.tree)),
            copied(pack::describe_boxes(plan)),
            copied(pack::describe_plan(plan, repeat)),
            {features.bytes, features.blocks, features.touched, features.pages, pack::is_plain_copy(plan, repeat),
             plan.traffic.is_indexed}};
  } catch (const std::exception& error) {
    tempi_explanation none{};
    none.error = copied(error.what());
    return none;
  }
}

int is_active() { return active(); }
int fake_copy(void* dst, const void* src, std::size_t bytes) { return device::fake_copy(dst, src, bytes) ? 0 : 1; }
std::uint64_t fake_unfinished() { return device::fake_unfinished(); }
std::uint64_t comm_id(std::uint64_t comm) { return peer::comm_id(static_cast<Handle>(comm)); }

char* measured(const tempi_measurement* what, double* seconds, std::size_t* n_samples) {
  try {
    const std::vector<double> samples =
        measure::measure({what->what, what->strategy, what->datatype, what->count, what->parts, what->peer,
                          what->max_seconds, what->max_samples});
    std::copy(samples.begin(), samples.end(), seconds);
    *n_samples = samples.size();
    return nullptr;
  } catch (const std::exception& error) {
    return copied(error.what());
  }
}

char* profile() {
  const model::Profile* const found = machine::profile();
  return copied(found != nullptr ? found->path : "");
}

char* machine() {
  std::string lines;
  for (const auto& [name, value] : machine::machine_facts()) lines.append(name).append(": ").append(value).append("\n");
  return copied(lines);
}

tempi_trial* trial_open(std::uint64_t datatype, int unpacks, char** error) {
  try {
    return new tempi_trial{{datatype, unpacks != 0 ? pack::Direction::unpack : pack::Direction::pack}};
  } catch (const std::exception& reason) {
    *error = copied(reason.what());
    return nullptr;
  }
}

Tuning tuning_of(const std::uint32_t* values) {
  Tuning tuning;
  for (std::size_t i = 0; i < kKnobs; ++i) {
    if (!tuning.set(static_cast<Knob>(i), values[i]))
      throw std::runtime_error(std::string("no kernel was built for this value of ") + kKnobRows[i].name);
  }
  return tuning;
}

char* trial_measure(tempi_trial* trial, const std::uint32_t* values, double max_seconds, double* seconds,
                    std::size_t* n_samples) {
  try {
    const std::vector<double> samples = trial->trial.measure(tuning_of(values), {max_seconds, *n_samples});
    std::copy(samples.begin(), samples.end(), seconds);
    *n_samples = samples.size();
    return nullptr;
  } catch (const std::exception& error) {
    return copied(error.what());
  }
}

void trial_close(tempi_trial* trial) { delete trial; }

// Memory is looked for, not used: no stream is waited for.
void* allocate_beside(const void* address, std::size_t bytes) try {
  const device::OrderedByMarks ordered;
  device::Device* const device = device::current();
  const device::Location where = device != nullptr ? device->locate(address) : device::Location{};
  if (!where.gpu_reaches()) return nullptr;
  return device::Scope(*device, where.context).allocate(bytes);
} catch (const std::exception&) {
  return nullptr;
}

void deallocate(void* address) try {
  const device::OrderedByMarks ordered;
  device::Device* const device = device::current();
  const device::Location where = device != nullptr ? device->locate(address) : device::Location{};
  if (!where.gpu_reaches()) return;  // the driver has shut down
  device::Scope(*device, where.context).deallocate(address);
} catch (const std::exception& error) {
  log(LogLevel::info, std::string("device memory is not freed: ") + error.what());
}

bool is_mpi_up() {
  int began = 0, ended = 0;
  if (real_pmpi().MPI_Initialized == nullptr) return false;
  real_pmpi().MPI_Initialized(&began);
  real_pmpi().MPI_Finalized(&ended);
  return began != 0 && ended == 0;
}

char* direct() {
  if (const std::string option = model::direct_is_off_by(); !option.empty()) return copied("no: " + option);
  if (is_mpi_up() && !peer::counts_creations()) return copied("no: MPI was initialised without it");
  if (!device::may_come()) return copied("no: there is no GPU driver, or TEMPI_DEVICE leaves GPUs out");
  if (job_on_node().empty()) return copied("to oneself; not between processes: no launcher names their job here");
  return copied("yes: between processes of a node, and to oneself");
}

int reaches(int ordinal, int other) {
  device::Device* const device = device::current();
  return device != nullptr && device->reaches(ordinal, other) ? 1 : 0;
}

int is_on_this_node(int rank) { return peer::is_on_this_node(rank) ? 1 : 0; }

int order(const void* address, void* stream, char** error) {
  *error = nullptr;
  try {
    return order_after_array(address, stream) ? 1 : 0;
  } catch (const std::exception& reason) {
    *error = copied(reason.what());
    return 0;
  }
}

int fake_stream_copy(void* dst, const void* src, std::size_t bytes, void* stream) {
  return device::fake_stream_copy(dst, src, bytes, stream) ? 0 : 1;
}
int fake_stream_fill(void* dst, int value, std::size_t bytes, void* stream) {
  return device::fake_stream_fill(dst, value, bytes, stream) ? 0 : 1;
}
int fake_stream_synchronize(void* stream) { return device::fake_stream_synchronize(stream) ? 0 : 1; }
int fake_stream_fail(void* stream) { return device::fake_stream_fail(stream) ? 0 : 1; }
// As cudaFree: a free passes TEMPI.
void fake_deallocate(void* address) {
  device::fake_deallocate(address);
  if (const TempiAfterFree after = tempi_after_free.load()) after(reinterpret_cast<std::uintptr_t>(address));
}

int fake_stream_begin_capture(void* stream) { return device::fake_stream_begin_capture(stream) ? 0 : 1; }
int fake_graph_launch(void* graph, void* stream) { return device::fake_graph_launch(graph, stream) ? 0 : 1; }

constexpr tempi_api_table kTable = {
    TEMPI_API_VERSION,
    build_info,
    mpi_library,
    cuda_aware,
    is_active,
    option_rows,
    lines_of_warnings,
    counter_rows,
    reset_counters,
    explain,
    device::fake_allocate,
    fake_deallocate,
    fake_copy,
    fake_unfinished,
    comm_id,
    measured,
    profile,
    machine,
    trial_open,
    trial_measure,
    trial_close,
    allocate_beside,
    deallocate,
    direct,
    reaches,
    is_on_this_node,
    device::fake_end_context,
    set_stream,
    stream,
    order,
    start_enqueue,
    wait_enqueue,
    why_no_channel,
    note_float16_type,
    note_float16_operation,
    device::fake_stream_create,
    device::fake_stream_destroy,
    fake_stream_copy,
    fake_stream_fill,
    fake_stream_synchronize,
    fake_stream_fail,
    fake_stream_begin_capture,
    device::fake_stream_end_capture,
    fake_graph_launch,
    device::fake_graph_destroy,
};

}  // namespace
}  // namespace tempi::face

extern "C" const tempi_api_table* tempi_api(void) { return &tempi::face::kTable; }
