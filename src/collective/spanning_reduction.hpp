// Blocking reductions of GPU memory among processes of several nodes (TEMPI_REDUCE_NODES):
//
//   1. A kernel of each carrier reduces its part of the inputs of its node, in the order of the ranks, into pinned
//      memory.
//   2. The library reduces this memory among the carriers of equal place on all nodes, in an order of its choice.
//   3. A kernel of each carrier copies the result into the outputs of its node.
//
// Each node has as many carriers as the smallest node has members (nodes.hpp). Therefore, each part has one carrier on
// each node, also if the nodes differ in size, and the library computes with one input of each node. The kernels of
// carriers read and write the buffers of the other members. More kernels would make steps 1 and 3 faster, but step 2
// takes most of the time.
//
// A member cannot detect whether processes of other nodes run TEMPI: the option promises it. The members vote by a
// library call on a communicator of TEMPI.
//
// The library carries out nonblocking and persistent reductions, MPI_Scan and MPI_Exscan, on host
// memory.
//
// Invariants
//   The decision to vote depends only on arguments that MPI requires to be equal, and on earlier votes.
//   After the vote each carrier calls the library, also if its kernel has failed: its equals wait for it.
//   A carrier reads its part of an input before it writes the same part of an output. With
//   MPI_IN_PLACE, functions that scatter write to another part than they read. Therefore, all
//   kernels of step 1 on the node end before step 3.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "collective/carried.hpp"
#include "collective/gap.hpp"
#include "collective/member_buffers.hpp"
#include "collective/own_comm.hpp"
#include "collective/run.hpp"
#include "device/staging.hpp"

namespace tempi::collective {

class SpanningReduction {
 public:
  // All members are ranks of MPI_COMM_WORLD, some of another node, and the option is set.
  static bool is_wanted(const Group& group);

  // Nothing: the library handles the call on all members.
  std::optional<int> carry_out(const Call& call, const Group& group, const Ends& ends) noexcept;
  // The program frees the communicator.
  void communicator_ends();

 private:
  // The two votes between nodes take some 30 us or more. The library's reduction in host memory takes 100 us and more
  // for each 256 KiB, and two carriers save half of this time. For smaller inputs,
  // the votes would take about as long as the kernels save.
  static constexpr Count kLeastBytes = 512 << 10;

  struct Plan;
  // The communicators, boards and buffers that the members share once they have agreed.
  struct Members {
    Members(Nodes its_nodes, std::shared_ptr<OwnComm> its_all, std::shared_ptr<OwnComm> its_node,
            std::shared_ptr<OwnComm> its_equals);
    unsigned joined(unsigned own) const;

    Nodes nodes;
    std::shared_ptr<OwnComm> all, node, equals;  // equals: null if this process is no carrier
    std::unique_ptr<Consensus> consensus;        // of the node
    std::optional<MemberBuffers> buffers{};
  };

  bool agree_once(const Group& group);
  bool make_members(const Group& group, const Nodes& nodes);
  std::optional<int> execute(const Plan& plan, const Call& call, const Group& group);
  bool reduce_on_node(const Plan& plan) noexcept;
  int reduce_between_nodes(const Plan& plan) const;
  std::vector<MemberBuffers::Target> targets_of(const Plan& plan, const Piece& piece) const;
  bool spread_on_node(const Plan& plan) noexcept;

  std::unique_ptr<Members> members_{};
  bool has_given_up_ = false;
  std::uint64_t n_calls_ = 0;
  // The members vote only on calls of at least this number of bytes. With TEMPI_STRATEGY=direct, it is 0.
  Count least_bytes_ = kLeastBytes;
  std::array<Gap, kNodeReductions.size()> gaps_{};
};

}  // namespace tempi::collective
