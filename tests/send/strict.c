/* One rank that breaks MPI's rules and checks the outcome. strict CASE KIND */
#include "strict.h"

static MPI_Comm comm;
static MPI_Comm quiet; /* its errors are returned */
static MPI_Comm nobody = MPI_COMM_NULL;

/* ---- an error handler that returns */

typedef struct Fault {
  const char* what;
  MPI_Datatype* type;
  MPI_Comm* comm;
  int peer, tag, error;
} Fault;

static Fault faults[] = {
    {"bad rank", &vector, &comm, 7, 1, MPI_ERR_RANK},
    {"bad tag", &vector, &comm, 0, -77, MPI_ERR_TAG},
    {"uncommitted type", &loose, &comm, 0, 1, MPI_ERR_TYPE},
    {"no communicator", &vector, &nobody, 0, 1, MPI_ERR_COMM},
};

typedef int (*MakeSend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
typedef int (*Send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*MakeReceive)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static const MakeSend make_sends[] = {MPI_Isend,     MPI_Ibsend,     MPI_Issend,     MPI_Irsend,
                                      MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init};
static const Send sends[] = {MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend};
static const MakeReceive make_receives[] = {MPI_Irecv, MPI_Recv_init};

/* The handler has been told once, and nothing has been sent or received. */
static void check_refused(const Fault* fault, const char* call, int n, const int* buffer) {
  int flag = 0;
  CHECK(calls_of_handler == 1, "%s %d, %s: %d times", call, n, fault->what, calls_of_handler);
  CHECK(handled == fault->error, "%s %d, %s: class %d", call, n, fault->what, handled);
  CHECK(holds(buffer, 0, 0, 5), "%s %d, %s", call, n, fault->what);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag, "%s %d, %s: a message was sent", call, n, fault->what);
  calls_of_handler = 0;
}

static void check_request(const Fault* fault, const char* call, int n, MPI_Request request) {
  CHECK(request == MPI_REQUEST_NULL, "%s %d, %s", call, n, fault->what);
}

static void refused(void) {
  int* buffer = buffer_of(5);
  int* other = buffer_of(5);
  set_handler(MPI_COMM_WORLD, return_handler); /* told of a communicator that there is not: one of the two */
  set_handler(MPI_COMM_SELF, return_handler);
  for (const Fault* fault = faults; fault < faults + 4; ++fault) {
    const int is_type = fault->type == &loose;
    for (int i = 0; i < 8; ++i) {
      if (is_type && i >= 4) continue; /* some libraries look at it only when it is started */
      MPI_Request request = MPI_REQUEST_NULL;
      make_sends[i](buffer, 1, *fault->type, fault->peer, fault->tag, *fault->comm, &request);
      check_request(fault, "nonblocking send", i, request);
      check_refused(fault, "nonblocking send", i, buffer);
    }
    for (int i = 0; i < 4; ++i) {
      sends[i](buffer, 1, *fault->type, fault->peer, fault->tag, *fault->comm);
      check_refused(fault, "send", i, buffer);
    }
    for (int i = 0; i < 2 - is_type; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      make_receives[i](buffer, 1, *fault->type, fault->peer, fault->tag, *fault->comm, &request);
      check_request(fault, "nonblocking receive", i, request);
      check_refused(fault, "nonblocking receive", i, buffer);
    }
    /* The status of a longer message is still there. */
    MPI_Status status;
    memset(&status, 0, sizeof status);
    MPI_Status_set_elements(&status, MPI_BYTE, 1000);
    MPI_Recv(buffer, 1, *fault->type, fault->peer, fault->tag, *fault->comm, &status);
    check_refused(fault, "receive", 0, buffer);
    MPI_Sendrecv(other, 1, vector, MPI_PROC_NULL, 1, buffer, 1, *fault->type, fault->peer, fault->tag, *fault->comm,
                 &status);
    check_refused(fault, "exchange", 0, buffer);
    MPI_Sendrecv(buffer, 1, *fault->type, fault->peer, fault->tag, other, 1, vector, MPI_PROC_NULL, 1, *fault->comm,
                 &status);
    check_refused(fault, "exchange", 1, buffer);
#if HAS_MPI_4
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isendrecv(buffer, 1, vector, 0, 1, other, 1, *fault->type, fault->peer, fault->tag, *fault->comm, &request);
    check_request(fault, "nonblocking exchange", 0, request);
    check_refused(fault, "nonblocking exchange", 0, buffer);
    MPI_Isendrecv(buffer, 1, *fault->type, fault->peer, fault->tag, other, 1, vector, 0, 1, *fault->comm, &request);
    check_request(fault, "nonblocking exchange", 1, request);
    check_refused(fault, "nonblocking exchange", 1, buffer);
#endif
  }
}

static void refused_pack(void) {
  int* buffer = buffer_of(5);
  char packed[INTS * sizeof(int)] = {1};
  for (int i = 0; i < 2; ++i) {
    int position = 0;
    const int size = i == 0 ? (int)sizeof packed : 8;
    MPI_Pack(buffer, 1, i == 0 ? loose : vector, packed, size, &position, comm);
    CHECK(calls_of_handler == 1 && position == 0 && packed[0] == 1, "%d times, at %d", calls_of_handler, position);
    MPI_Unpack(packed, size, &position, buffer, 1, i == 0 ? loose : vector, comm);
    CHECK(calls_of_handler == 2 && position == 0, "%d times, at %d", calls_of_handler, position);
    CHECK(holds(buffer, 0, 0, 5), "unpacked");
    calls_of_handler = 0;
  }
}

/* Receive 1 is too small for its message; the message of receive 2 comes later. */
static void one_in_error(const char* name, MPI_Comm where) {
  static int round = 0;
  const int is_all = strstr(name, "all") != NULL, tag = 10 * round++;
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int* in[3];
  int *out = buffer_of(9), indices[3], n = 0, flag = 0;
  for (int i = 0; i < 3; ++i) {
    in[i] = buffer_of(5);
    MPI_Irecv(in[i], 1, vector, 0, tag + i, where, &requests[i]);
  }
  MPI_Send(out, 1, vector, 0, tag, where);
  MPI_Send(out, 2, vector, 0, tag + 1, where);
  if (is_all) MPI_Send(out, 1, vector, 0, tag + 2, where); /* libraries may wait for all of them */
  if (strcmp(name, "Waitall") == 0) MPI_Waitall(3, requests, statuses);
  else if (strcmp(name, "Testall") == 0) MPI_Testall(3, requests, &flag, statuses);
  else
    for (int i = 0; i < 2 && (requests[0] != MPI_REQUEST_NULL || requests[1] != MPI_REQUEST_NULL); ++i) {
      if (strcmp(name, "Waitany") == 0) MPI_Waitany(3, requests, &n, statuses);
      if (strcmp(name, "Waitsome") == 0) MPI_Waitsome(3, requests, &n, indices, statuses);
      if (strcmp(name, "Testany") == 0) MPI_Testany(3, requests, &n, &flag, statuses);
      if (strcmp(name, "Testsome") == 0) MPI_Testsome(3, requests, &n, indices, statuses);
      if (strcmp(name, "Wait") == 0) MPI_Wait(&requests[i], statuses);
      if (strcmp(name, "Test") == 0) MPI_Test(&requests[i], &flag, statuses);
    }
  if (!is_all) MPI_Send(out, 1, vector, 0, tag + 2, where);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Wait(&requests[2], MPI_STATUS_IGNORE); /* pending, if the error was told by the MPI_Waitall */
  CHECK(holds(in[0], INTS, 9, 5), "%s, the good one", name);
  CHECK(holds(in[1], INTS, 9, 5) || holds(in[1], 0, 9, 5), "%s, the one in error", name);
  CHECK(holds(in[2], INTS, 9, 5), "%s, the late one", name);
}

static void late(void) {
  static const char* const names[] = {"Wait",    "Test",    "Waitall",  "Testall",
                                      "Waitany", "Testany", "Waitsome", "Testsome"};
  set_handler(MPI_COMM_WORLD, return_handler); /* whom MPICH tells of errors of several requests */
  for (int i = 0; i < 8; ++i) {
    one_in_error(names[i], comm);
    one_in_error(names[i], quiet);
  }
}

/* ---- requests */

static void attach(size_t bytes) { MPI_Buffer_attach(malloc(bytes), (int)bytes); }

static void complete(int how, MPI_Request* request) {
  int flag = 0, n = 0, index = -1;
  MPI_Status status;
  if (how == 0) MPI_Wait(request, &status);
  if (how == 1) MPI_Waitall(1, request, &status);
  if (how == 2) MPI_Waitany(1, request, &index, &status);
  if (how == 3) MPI_Waitsome(1, request, &n, &index, &status);
  while (how == 4 && !flag) MPI_Test(request, &flag, &status);
  while (how == 5 && !flag) MPI_Testall(1, request, &flag, &status);
  while (how == 6 && !flag) MPI_Testany(1, request, &index, &flag, &status);
  while (how == 7 && n == 0) MPI_Testsome(1, request, &n, &index, &status);
  while (how == 8 && !flag) MPI_Request_get_status(*request, &flag, &status);
  if (how == 8) MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* The program starts, completes and frees copies of the handle. */
static void copied(void) {
  int *out = buffer_of(0), *in = buffer_of(5);
  MPI_Request made, held;
  attach(1 << 20);
  MPI_Bsend_init(out, 1, vector, 0, 3, comm, &made);
  held = made;
  for (int turn = 1; turn < 30; ++turn) {
    int values[SPAN];
    for (int i = 0; i < SPAN; ++i) values[i] = turn;
    copy(out, values, sizeof values);
    MPI_Request copy_of_it = made;
    if (turn % 2) MPI_Start(&copy_of_it);
    else MPI_Startall(1, &copy_of_it);
    CHECK(copy_of_it == made, "Start has changed the handle, turn %d", turn);
    copy_of_it = made;
    if (turn % 10 == 9) MPI_Cancel(&copy_of_it);
    complete(turn % 9, &copy_of_it);
    CHECK(copy_of_it == made, "completion %d has changed the handle", turn % 9);
    MPI_Recv(in, 1, vector, 0, 3, comm, MPI_STATUS_IGNORE);
    CHECK(holds(in, INTS, turn, 5), "turn %d", turn);
  }
  MPI_Start(&made); /* freed while it is active: sent all the same */
  MPI_Request_free(&held);
  CHECK(held == MPI_REQUEST_NULL, "freed");
  MPI_Recv(in, 1, vector, 0, 3, comm, MPI_STATUS_IGNORE);
  CHECK(holds(in, INTS, 29, 5), "the last");
}

/* No room in the buffer: MPI_ERR_BUFFER from the call itself. */
static void no_room(void) {
  enum { LONG = 1 << 16 }; /* Open MPI has room for short ones elsewhere */
  MPI_Datatype type;
  MPI_Request request = MPI_REQUEST_NULL;
  int* out = allocated(2 * LONG * sizeof(int));
  int flag = 0;
  MPI_Type_vector(LONG, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  attach(MPI_BSEND_OVERHEAD + 16);
  CHECK(class_of(MPI_Ibsend(out, 1, type, 0, 3, quiet, &request)) == MPI_ERR_BUFFER, "Ibsend");
  CHECK(request == MPI_REQUEST_NULL, "a request");
  MPI_Ibsend(out, 1, type, 0, 3, comm, &request);
  CHECK(calls_of_handler == 1 && handled == MPI_ERR_BUFFER && request == MPI_REQUEST_NULL, "%d", calls_of_handler);
  MPI_Bsend_init(out, 1, type, 0, 3, quiet, &request);
  CHECK(class_of(MPI_Start(&request)) == MPI_ERR_BUFFER, "Start");
  MPI_Request_free(&request);
  MPI_Iprobe(0, 3, quiet, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag, "something was sent");
}

/* A freed receive is unpacked when the program can know of its arrival, by whatever call. */
static void freed_receive(int n, int* in) {
  int *out = buffer_of(8), *other = buffer_of(5), flag = 0, index = 0;
  MPI_Request freed, request = MPI_REQUEST_NULL;
  MPI_Message message;
  MPI_Status status;
  MPI_Irecv(in, 1, vector, 0, 6, comm, &freed);
  if (n >= 6) MPI_Irecv(other, 1, vector, 0, 7, comm, &request);
  MPI_Request_free(&freed);
  MPI_Send(out, 1, vector, 0, 6, comm);
  if (n != 0 && n != 5) MPI_Isend(out, 1, vector, 0, 7, comm, &freed);
  if (n == 0) return;
  if (n == 1) MPI_Probe(0, 7, comm, &status);
  if (n == 2)
    while (!flag) MPI_Iprobe(0, 7, comm, &flag, &status);
  if (n == 3) MPI_Mprobe(0, 7, comm, &message, &status);
  if (n == 4) MPI_Recv(other, 1, vector, 0, 7, comm, &status);
  if (n == 5) MPI_Barrier(comm);
  if (n == 6) MPI_Wait(&request, &status);
  if (n == 7) MPI_Waitall(1, &request, &status);
  if (n == 8) MPI_Waitany(1, &request, &index, &status);
  if (n == 9)
    while (!flag) MPI_Test(&request, &flag, &status);
  if (n == 10)
    while (!flag) MPI_Testall(1, &request, &flag, &status);
  if (n == 11)
    while (!flag) MPI_Testany(1, &request, &index, &flag, &status);
  if (n == 12)
    while (!flag) MPI_Request_get_status(request, &flag, &status);
}

static void freed_receives(void) {
  for (int n = 0; n <= 12; ++n) {
    int* in = buffer_of(5);
    freed_receive(n, in);
    CHECK(holds(in, INTS, 8, 5), "after call %d", n);
  }
}

/* ---- arguments */

/* Refused, by an error class that says so; a request under way is not harmed. */
#define REFUSED(call)                                                                                             \
  do {                                                                                                            \
    const int its_class = class_of(call);                                                                         \
    CHECK(its_class == MPI_ERR_ARG || its_class == MPI_ERR_REQUEST || its_class == MPI_ERR_COUNT, "%s: class %d", \
          #call, its_class);                                                                                      \
  } while (0)

static void null_arguments(void) {
  int *in = buffer_of(5), *out = buffer_of(6), flag = 0, index = 0, n = 0, indices[1];
  MPI_Request request;
  MPI_Status status;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int is_managed = 0; is_managed < 2; ++is_managed) {
    request = MPI_REQUEST_NULL;
    if (is_managed) MPI_Irecv(in, 1, vector, 0, 2, quiet, &request);
    REFUSED(MPI_Start(NULL));
    REFUSED(MPI_Startall(1, NULL));
    REFUSED(MPI_Startall(-1, &request));
    REFUSED(MPI_Wait(NULL, &status));
    REFUSED(MPI_Waitall(1, NULL, &status));
    REFUSED(MPI_Waitall(-1, &request, &status));
    REFUSED(MPI_Waitany(1, NULL, &index, &status));
    REFUSED(MPI_Waitany(1, &request, NULL, &status));
    REFUSED(MPI_Waitany(-1, &request, &index, &status));
    REFUSED(MPI_Waitsome(1, NULL, &n, indices, &status));
    REFUSED(MPI_Waitsome(1, &request, NULL, indices, &status));
    REFUSED(MPI_Waitsome(1, &request, &n, NULL, &status));
    REFUSED(MPI_Waitsome(-1, &request, &n, indices, &status));
    REFUSED(MPI_Test(NULL, &flag, &status));
    REFUSED(MPI_Test(&request, NULL, &status));
    REFUSED(MPI_Testall(1, NULL, &flag, &status));
    REFUSED(MPI_Testall(1, &request, NULL, &status));
    REFUSED(MPI_Testall(-1, &request, &flag, &status));
    REFUSED(MPI_Testany(1, NULL, &index, &flag, &status));
    REFUSED(MPI_Testany(1, &request, NULL, &flag, &status));
    REFUSED(MPI_Testany(1, &request, &index, NULL, &status));
    REFUSED(MPI_Testany(-1, &request, &index, &flag, &status));
    REFUSED(MPI_Testsome(1, NULL, &n, indices, &status));
    REFUSED(MPI_Testsome(1, &request, NULL, indices, &status));
    REFUSED(MPI_Testsome(1, &request, &n, NULL, &status));
    REFUSED(MPI_Testsome(-1, &request, &n, indices, &status));
    REFUSED(MPI_Request_free(NULL));
    REFUSED(MPI_Request_get_status(request, NULL, &status));
    REFUSED(MPI_Cancel(NULL));
    if (!is_open_mpi()) { /* whose MPI_STATUS_IGNORE is null */
      REFUSED(MPI_Wait(&request, NULL));
      REFUSED(MPI_Waitall(1, &request, NULL));
      REFUSED(MPI_Test(&request, &flag, NULL));
    }
    REFUSED(MPI_Isend(out, 1, vector, 0, 2, quiet, NULL));
    REFUSED(MPI_Send_init(out, 1, vector, 0, 2, quiet, NULL));
    REFUSED(MPI_Irecv(out, 1, vector, 0, 2, quiet, NULL));
    REFUSED(MPI_Recv_init(out, 1, vector, 0, 2, quiet, NULL));
    if (!is_open_mpi()) { /* which ends the program */
      REFUSED(MPI_Mrecv(out, 1, vector, NULL, &status));
      REFUSED(MPI_Imrecv(out, 1, vector, NULL, &request));
    }
    if (!is_managed) continue;
    MPI_Send(out, 1, vector, 0, 2, quiet);
    MPI_Wait(&request, &status);
    CHECK(holds(in, INTS, 6, 5), "the request under way");
  }
}

/* The handler of the message's communicator is told, and the message can still be received. */
static void mrecv(void) {
  int *out = buffer_of(4), *in = buffer_of(5), flag = 0;
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request sent, received = MPI_REQUEST_NULL;
    calls_of_handler = 0;
    MPI_Isend(out, 1, vector, 0, 8, comm, &sent);
    if (turn == 0) MPI_Mprobe(0, 8, comm, &message, MPI_STATUS_IGNORE);
    else
      while (!flag) MPI_Improbe(0, 8, comm, &flag, &message, MPI_STATUS_IGNORE);
    if (turn == 0) MPI_Mrecv(in, 1, loose, &message, MPI_STATUS_IGNORE);
    else MPI_Imrecv(in, 1, loose, &message, &received);
    CHECK(calls_of_handler == 1 && handled == MPI_ERR_TYPE, "%d times, class %d", calls_of_handler, handled);
    CHECK(message != MPI_MESSAGE_NULL && received == MPI_REQUEST_NULL, "turn %d", turn);
    MPI_Mrecv(in, 1, vector, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    CHECK(holds(in, INTS, 4, 5), "turn %d", turn);
  }
}

/* Arrays of many requests: each completes once, with its own bytes. */
static void many(void) {
  enum { N = 1000 };
  static MPI_Request requests[N];
  static int* in[N];
  static int indices[N], is_done[N];
  int* out = buffer_of(3);
  for (int how = 0; how < 4; ++how) {
    memset(is_done, 0, sizeof is_done);
    for (int i = 0; i < N; ++i) {
      if (how == 0) in[i] = buffer_of(5);
      MPI_Irecv(in[i], 1, vector, 0, i, comm, &requests[i]);
    }
    for (int k = 0; k < N; ++k) {
      const int i = (7 * k + 3) % N;
      int flag = 0, n = 0, index = -1;
      MPI_Send(out, 1, vector, 0, i, comm);
      if (how == 0) MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE);
      while (how == 1 && !flag) MPI_Testany(N, requests, &index, &flag, MPI_STATUS_IGNORE);
      while (how == 2 && n == 0) MPI_Testsome(N, requests, &n, indices, MPI_STATUSES_IGNORE);
      if (how == 3) MPI_Waitsome(N, requests, &n, indices, MPI_STATUSES_IGNORE);
      if (how >= 2) index = indices[0];
      CHECK(index == i && !is_done[i]++, "%d completed instead of %d", index, i);
      CHECK(requests[i] == MPI_REQUEST_NULL && holds(in[i], INTS, 3, 5), "request %d", i);
    }
  }
}

/* For a tool below: ten sends and ten persistent ones. */
static void pairs(void) {
  int *in = buffer_of(5), *out = buffer_of(1);
  MPI_Request sent;
  for (int i = 0; i < 20; ++i) {
    if (i % 2) MPI_Isend(out, 1, vector, 0, 1, comm, &sent);
    else MPI_Send_init(out, 1, vector, 0, 1, comm, &sent);
    if (i % 2 == 0) MPI_Start(&sent);
    MPI_Recv(in, 1, vector, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    if (i % 2 == 0) MPI_Request_free(&sent);
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"refused", refused},
               {"refused_pack", refused_pack},
               {"late", late},
               {"copied", copied},
               {"no_room", no_room},
               {"freed_receives", freed_receives},
               {"null_arguments", null_arguments},
               {"mrecv", mrecv},
               {"many", many},
               {"pairs", pairs}};
  if (argc < 3) return 2;
  kind = argv[2];
  MPI_Init(&argc, &argv);
  make_types();
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_dup(MPI_COMM_SELF, &quiet);
  set_handler(comm, return_handler);
  MPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) == 0) {
      cases[i].run();
      puts("ok");
    }
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
