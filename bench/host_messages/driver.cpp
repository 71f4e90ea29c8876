// Messages of derived datatypes in host memory: an ordinary MPI program that knows no shim; its input names the cases
// to time. Usage: mpirun -n 1|2 host_messages_driver --cases FILE Rank 0 reads "CASE SECONDS" lines from standard input
// and answers each with a row, until CASE is negative. One rank sends to itself (Irecv, Isend, Waitall), two send to
// and fro: half a round trip. Between lines both sleep, so that two jobs can take turns.
#include <cstring>
#include <iostream>

#include "common/main.hpp"
#include "common/memory.hpp"
#include "common/pair.hpp"
#include "common/pattern.hpp"

namespace tempi::bench {
namespace {

struct Order {
  std::int64_t index;  // negative: it was the last one
  double seconds;
};

// A case with a buffer to send from and one to receive into.
class Exchange {
 public:
  Exchange(const Case& c, const Pair& pair, bool is_alone)
      : case_(c),
        pair_(pair),
        is_alone_(is_alone),
        blocks_(c.irregular() ? irregular_blocks(c) : std::vector<Block>{}),
        extent_(extent_of(c, blocks_)),
        message_(make_message(c, blocks_)),
        out_(static_cast<std::size_t>(extent_.span_bytes)),
        in_(out_.size()) {}
  ~Exchange() { MPI_Type_free(&message_.type); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  std::int64_t payload() const { return extent_.payload_bytes; }

  bool arrives() {
    const Pattern sent(17), gaps(42);
    sent.expect(out_.data(), 0, extent_.span_bytes);
    gaps.expect(in_.data(), 0, extent_.span_bytes);
    std::vector<char> expected = in_;
    for_each_block(case_, blocks_, [&](const Block& block) {
      std::memcpy(expected.data() + block.offset, out_.data() + block.offset, static_cast<std::size_t>(block.length));
    });
    trip();
    return pair_.both(in_ == expected);
  }

  Sample time(double max_seconds) {
    const Sample s = pair_.rounds([this] { trip(); }, max_seconds);
    const int messages = is_alone_ ? 1 : 2;
    return {s.median_us / messages, s.min_us / messages, s.p90_us / messages, s.repeats};
  }

 private:
  void trip() {
    if (is_alone_) to_oneself();
    else if (pair_.leads()) pair_.send(out_.data(), message_), pair_.receive(in_.data(), message_);
    else pair_.receive(in_.data(), message_), pair_.send(out_.data(), message_);
  }
  void to_oneself() {
    MPI_Request requests[2];
    MPI_Irecv(in_.data(), message_.count, message_.type, 0, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out_.data(), message_.count, message_.type, 0, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }

  const Case& case_;
  const Pair& pair_;
  const bool is_alone_;
  std::vector<Block> blocks_;
  Extent extent_;
  Message message_;
  std::vector<char> out_, in_;
};

class Driver {
 public:
  explicit Driver(std::vector<Case> cases) : cases_(std::move(cases)) { MPI_Comm_size(MPI_COMM_WORLD, &n_ranks_); }

  void run() {
    if (pair_.leads()) print_header();
    for (Order order = next(); order.index >= 0; order = next()) {
      const Case& c = cases_.at(static_cast<std::size_t>(order.index));
      Exchange exchange(c, pair_, n_ranks_ == 1);
      const bool right = exchange.arrives();
      const Sample sample = exchange.time(order.seconds);
      if (pair_.leads()) print_row(c.id, "send", exchange.payload(), sample, right, "");
      std::fflush(stdout);
    }
  }

 private:
  // Rank 0 reads this; the other one must not spin meanwhile.
  Order next() const {
    Order order{-1, 0};
    pair_.alone([&] {
      if (!(std::cin >> order.index >> order.seconds)) order = {-1, 0};
    });
    MPI_Bcast(&order, sizeof order, MPI_BYTE, 0, MPI_COMM_WORLD);
    return order;
  }

  std::vector<Case> cases_;
  Pair pair_;
  int n_ranks_ = 0;
};

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  return tempi::bench::main_of("host_messages_driver", [&] {
    if (argc != 3) throw std::runtime_error("usage: host_messages_driver --cases FILE");
    MPI_Init(&argc, &argv);
    tempi::bench::Driver(tempi::bench::read_cases(argv[2])).run();
    MPI_Finalize();
  });
}
