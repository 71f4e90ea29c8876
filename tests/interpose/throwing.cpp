// One rank whose error handlers do not return: each leaves the MPI call by an exception of C++, or by longjmp. Behind
// each error the program sends further messages, and starts the persistent requests that it has had all along. Requests
// that a call was completing when its handler jumped are not looked at again.
//
// throwing HOW KIND: "throw", "jump"; "host", or a kind of the fake device's memory
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "face/api.h"

namespace {

constexpr int kInts = 16, kStride = 3, kTag = 5, kOtherTag = 6, kNoTag = 7;

#define CHECK(is_so, what)                                                        \
  do {                                                                            \
    if (!(is_so)) {                                                               \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #is_so, (what).c_str()); \
      std::fflush(stdout);                                                        \
      _exit(1);                                                                   \
    }                                                                             \
  } while (0)

struct MpiError : std::runtime_error {
  explicit MpiError(int its_code) : std::runtime_error("an error of MPI"), code(its_code) {}
  int code;
};

bool jumps = false;
std::string kind = "host";
std::jmp_buf place;
int n_handled = 0, handled = MPI_SUCCESS;  // errors, and the code of the last one
MPI_Datatype vector_type;

const tempi_api_table* tempi() {
  const auto table = reinterpret_cast<const tempi_api_table* (*)()>(dlsym(RTLD_DEFAULT, "tempi_api"));
  return table != nullptr && kind != "host" ? table() : nullptr;
}

// Room for `n` vectors.
class Buffer {
 public:
  explicit Buffer(int n, int value = 0) : n_(n) {
    const std::size_t bytes = sizeof(int) * size();
    at_ = static_cast<int*>(tempi() != nullptr ? tempi()->fake_allocate(kind.c_str(), 0, bytes) : std::malloc(bytes));
    write(value);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { tempi() != nullptr ? tempi()->fake_deallocate(at_) : std::free(at_); }
  int* get() const { return at_; }
  void write(int value) {
    std::vector<int> all(size(), value);
    copy(at_, all.data());
  }
  bool holds(int value) const {
    std::vector<int> all(size());
    copy(all.data(), at_);
    for (int i = 0; i < kInts; ++i) {
      if (all[static_cast<std::size_t>(i * kStride)] != value) return false;
    }
    return true;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_) * kInts * kStride; }
  void copy(void* to, const void* from) const {
    if (tempi() != nullptr) tempi()->fake_copy(to, from, size() * sizeof(int));
    else std::memcpy(to, from, size() * sizeof(int));
  }
  int n_;
  int* at_;
};

[[noreturn]] void leave(int code) {
  ++n_handled;
  handled = code;
  if (jumps) std::longjmp(place, 1);
  throw MpiError(code);
}
void of_comm(MPI_Comm*, int* code, ...) { leave(*code); }
void of_window(MPI_Win*, int* code, ...) { leave(*code); }
void of_file(MPI_File*, int* code, ...) { leave(*code); }

void handle(MPI_Comm comm, MPI_Comm_errhandler_function* function = of_comm) {
  MPI_Errhandler made;
  MPI_Comm_create_errhandler(function, &made);
  MPI_Comm_set_errhandler(comm, made);
  MPI_Errhandler_free(&made);
}

int class_of(int code) {
  int its_class = code;
  MPI_Error_class(code, &its_class);
  return its_class;
}

// ---- what works behind an error

struct Persistent {
  Buffer sent{1}, received{1};
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  Persistent() {
    MPI_Send_init(sent.get(), 1, vector_type, 0, kTag, MPI_COMM_SELF, &requests[0]);
    MPI_Recv_init(received.get(), 1, vector_type, 0, kTag, MPI_COMM_SELF, &requests[1]);
  }
  void run(int value, const std::string& what) {
    sent.write(value);
    MPI_Startall(2, requests.data());
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    CHECK(received.holds(value), what + ": a persistent message");
  }
  void end() {
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
};
Persistent* persistent;

void go_on(const std::string& what) {
  static int value = 100;
  const Buffer sent(1, ++value), received(1);
  MPI_Request request;
  MPI_Irecv(received.get(), 1, vector_type, 0, kOtherTag, MPI_COMM_SELF, &request);
  MPI_Send(sent.get(), 1, vector_type, 0, kOtherTag, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(received.holds(value), what + ": a message");
  persistent->run(++value, what);
  MPI_Barrier(MPI_COMM_SELF);
}

struct Counts {
  explicit Counts(int& n) : n_(n) { ++n_; }
  ~Counts() { --n_; }
  int& n_;
};

// The call is left once, with that error; frames of the program are unwound.
template <class Call>
void fails(const std::string& what, int error, const Call& call) {
  n_handled = 0;
  static int n_frames;
  n_frames = 0;
  bool is_left = false;
  if (jumps) {
    if (setjmp(place) == 0) call();
    is_left = n_handled > 0;
  } else {
    try {
      const Counts counts(n_frames);
      call();
    } catch (const MpiError& thrown) {
      is_left = thrown.code == handled;
    }
    CHECK(n_frames == 0, what);
    CHECK(std::uncaught_exceptions() == 0, what);
  }
  CHECK(is_left, what + ": the call returns");
  CHECK(n_handled == 1, what + ": " + std::to_string(n_handled) + " errors");
  if (error != MPI_SUCCESS) CHECK(class_of(handled) == error, what + ": class " + std::to_string(class_of(handled)));
  go_on(what);
}

// ---- messages

// Two vectors, which arrive before a receive is posted: else Open MPI 5.0.11 reports no truncation of a message from
// the rank itself.
void send_first(const Buffer& sent, int tag, MPI_Request* request) {
  MPI_Isend(sent.get(), 2, vector_type, 0, tag, MPI_COMM_SELF, request);
  for (int flag = 0; !flag;) MPI_Iprobe(0, tag, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

void truncated() {
  const Buffer sent(2, 1), received(2);
  const auto send = [&](MPI_Request* request) { send_first(sent, kTag + 10, request); };
  const auto post = [&](MPI_Request* request) {
    MPI_Irecv(received.get(), 1, vector_type, 0, kTag + 10, MPI_COMM_SELF, request);
  };
  MPI_Request request, receive;
  send(&request);
  fails("MPI_Recv", MPI_ERR_TRUNCATE,
        [&] { MPI_Recv(received.get(), 1, vector_type, 0, kTag + 10, MPI_COMM_SELF, MPI_STATUS_IGNORE); });
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  send(&request);
  post(&receive);
  fails("MPI_Wait", MPI_ERR_TRUNCATE, [&] { MPI_Wait(&receive, MPI_STATUS_IGNORE); });
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  send(&request);
  post(&receive);
  fails("MPI_Test", MPI_ERR_TRUNCATE, [&] {
    for (int flag = 0; !flag;) MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
  });
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  send(&request);
  post(&receive);
  fails("MPI_Waitany", MPI_ERR_TRUNCATE, [&] {
    int index;
    MPI_Waitany(1, &receive, &index, MPI_STATUS_IGNORE);
  });
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  std::array<MPI_Request, 2> both;
  std::array<MPI_Status, 2> statuses;
  const Buffer other(1, 3), arrived(1);
  send(&request);
  post(&both[0]);
  MPI_Irecv(arrived.get(), 1, vector_type, 0, kTag + 11, MPI_COMM_SELF, &both[1]);
  MPI_Send(other.get(), 1, vector_type, 0, kTag + 11, MPI_COMM_SELF);
  fails("MPI_Waitall", MPI_SUCCESS, [&] { MPI_Waitall(2, both.data(), statuses.data()); });
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (!jumps) {
    MPI_Wait(&both[1], MPI_STATUS_IGNORE);  // MPICH leaves it pending
    CHECK(arrived.holds(3), std::string("the other receive of MPI_Waitall"));
  }
}

// Persistent receives that fail once, and are started again.
void truncated_persistent() {
  const Buffer sent(2, 1), right(1, 2), received(1);
  MPI_Request receive, request;
  MPI_Recv_init(received.get(), 1, vector_type, 0, kTag + 20, MPI_COMM_SELF, &receive);
  send_first(sent, kTag + 20, &request);
  MPI_Start(&receive);
  fails("MPI_Wait, persistent", MPI_ERR_TRUNCATE, [&] { MPI_Wait(&receive, MPI_STATUS_IGNORE); });
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Start(&receive);
  MPI_Send(right.get(), 1, vector_type, 0, kTag + 20, MPI_COMM_SELF);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  if (!jumps) CHECK(received.holds(2), std::string("a persistent receive behind its error"));
  MPI_Request_free(&receive);
}

void wrong_ranks() {
  const Buffer sent(1, 1), received(1);
  MPI_Request request = MPI_REQUEST_NULL;
  fails("MPI_Send", MPI_ERR_RANK, [&] { MPI_Send(sent.get(), 1, vector_type, kNoTag, kTag, MPI_COMM_SELF); });
  fails("MPI_Ssend", MPI_ERR_RANK, [&] { MPI_Ssend(sent.get(), 1, vector_type, kNoTag, kTag, MPI_COMM_SELF); });
  fails("MPI_Isend", MPI_ERR_RANK,
        [&] { MPI_Isend(sent.get(), 1, vector_type, kNoTag, kTag, MPI_COMM_SELF, &request); });
  fails("MPI_Irecv", MPI_ERR_RANK,
        [&] { MPI_Irecv(received.get(), 1, vector_type, kNoTag, kTag, MPI_COMM_SELF, &request); });
  fails("MPI_Send_init", MPI_ERR_RANK,
        [&] { MPI_Send_init(sent.get(), 1, vector_type, kNoTag, kTag, MPI_COMM_SELF, &request); });
  fails("MPI_Sendrecv", MPI_ERR_RANK, [&] {
    MPI_Sendrecv(sent.get(), 1, vector_type, kNoTag, kTag, received.get(), 1, vector_type, 0, kTag, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  });
  fails("MPI_Probe", MPI_ERR_RANK, [&] { MPI_Probe(kNoTag, kTag, MPI_COMM_SELF, MPI_STATUS_IGNORE); });
}

// ---- other calls

void collective() {
  const Buffer sent(1, 1), received(1);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  fails("MPI_Barrier", MPI_ERR_COMM, [] { MPI_Barrier(MPI_COMM_NULL); });
  fails("MPI_Bcast", MPI_ERR_ROOT, [&] { MPI_Bcast(received.get(), 1, vector_type, kNoTag, MPI_COMM_SELF); });
  fails("MPI_Allgather", MPI_ERR_COMM,
        [&] { MPI_Allgather(sent.get(), 1, vector_type, received.get(), 1, vector_type, MPI_COMM_NULL); });
  fails("MPI_Allreduce", MPI_ERR_OP,
        [&] { MPI_Allreduce(sent.get(), received.get(), 1, MPI_INT, MPI_OP_NULL, MPI_COMM_SELF); });
  fails("MPI_Ibcast", MPI_ERR_ROOT,
        [&] { MPI_Ibcast(received.get(), 1, vector_type, kNoTag, MPI_COMM_SELF, &request); });
  fails("MPI_Comm_dup", MPI_ERR_COMM, [&] { MPI_Comm_dup(MPI_COMM_NULL, &made); });
  fails("MPI_Comm_split", MPI_ERR_COMM, [&] { MPI_Comm_split(MPI_COMM_NULL, 0, 0, &made); });
}

void packing() {
  const Buffer sent(1, 1), packed(1);
  int position = 0;
  fails("MPI_Pack", MPI_SUCCESS,
        [&] { MPI_Pack(sent.get(), 1, vector_type, packed.get(), 1, &position, MPI_COMM_NULL); });
  fails("MPI_Type_commit", MPI_ERR_TYPE, [] {
    MPI_Datatype none = MPI_DATATYPE_NULL;
    MPI_Type_commit(&none);
  });
}

// One that the shim does not stand in for.
void others() {
  int rank = 0;
  fails("MPI_Comm_rank", MPI_ERR_COMM, [&] { MPI_Comm_rank(MPI_COMM_NULL, &rank); });
}

void windows() {
  std::array<int, 4> memory{};
  const Buffer sent(1, 1);
  MPI_Win win;
  MPI_Win_create(memory.data(), sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Errhandler made;
  MPI_Win_create_errhandler(of_window, &made);
  MPI_Win_set_errhandler(win, made);
  MPI_Errhandler_free(&made);
  MPI_Win_fence(0, win);
  fails("MPI_Put", MPI_ERR_RANK, [&] { MPI_Put(sent.get(), 1, MPI_INT, kNoTag, 0, 1, MPI_INT, win); });
  MPI_Put(sent.get(), 1, MPI_INT, 0, 2, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(memory[2] == 1, std::string("a put behind an error"));
  MPI_Win_free(&win);
}

void files() {
  std::string name = "/tmp/tempi_throwing_XXXXXX";
  close(mkstemp(name.data()));
  const Buffer sent(1, 1);
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Errhandler made;
  MPI_File_create_errhandler(of_file, &made);
  MPI_File_set_errhandler(file, made);
  MPI_Errhandler_free(&made);
  fails("MPI_File_write", MPI_SUCCESS, [&] { MPI_File_write(file, sent.get(), 1, vector_type, MPI_STATUS_IGNORE); });
  fails("MPI_File_write_at", MPI_SUCCESS,
        [&] { MPI_File_write_at(file, 0, sent.get(), 1, vector_type, MPI_STATUS_IGNORE); });
  MPI_File_close(&file);
  unlink(name.c_str());
}

// ---- handlers that call MPI

void within(MPI_Comm* comm, int* code, ...) {
  const int outer = *code;
  try {
    int rank = 0;
    handle(MPI_COMM_SELF);
    MPI_Send(&rank, 1, MPI_INT, kNoTag, kTag, MPI_COMM_SELF);
    CHECK(false, std::string("the inner call returns"));
  } catch (const MpiError& inner) {
    CHECK(class_of(inner.code) == MPI_ERR_RANK, std::string("the inner error"));
  }
  --n_handled;
  handle(*comm, within);
  leave(outer);
}

void nested() {
  const Buffer received(1);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  handle(comm, within);
  fails("MPI_Bcast, whose handler has caught another error", MPI_ERR_ROOT,
        [&] { MPI_Bcast(received.get(), 1, vector_type, kNoTag, comm); });
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  jumps = std::strcmp(argv[1], "jump") == 0;
  kind = argv[2];
  MPI_Init(&argc, &argv);
  handle(MPI_COMM_SELF);
  handle(MPI_COMM_WORLD);
  MPI_Type_vector(kInts, 1, kStride, MPI_INT, &vector_type);
  MPI_Type_commit(&vector_type);
  persistent = new Persistent;
  go_on("no error");
  for (int round = 0; round < 3; ++round) {
    truncated();
    truncated_persistent();
    wrong_ranks();
    collective();
    packing();
    others();
    windows();
    files();
    if (!jumps) nested();
  }
  persistent->end();
  MPI_Type_free(&vector_type);
  MPI_Finalize();
  std::puts("ok");
  return 0;
}
