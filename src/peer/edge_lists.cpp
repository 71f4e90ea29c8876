#include "peer/edge_lists.hpp"

#include <algorithm>
#include <array>
#include <climits>

#include "base/error.hpp"
#include "mpi/real.hpp"
#include "mpi/weights.hpp"

namespace tempi::peer {
namespace {

constexpr int kNoWeights = 0;             // MPI needs an address where there are no edges
constexpr int kMostEdges = INT_MAX / 16;  // of a list: MPI counts the bytes of a vertex's lists

// Lengths: of the lists of one vertex.
struct Head {
  int n_in, in_is_weighted, n_out, out_is_weighted;
};

void append(std::vector<int>& words, const EdgeList& list) {
  words.insert(words.end(), list.ranks.begin(), list.ranks.end());
  words.insert(words.end(), list.weights.begin(), list.weights.end());
}

// Takes a list from the words at `next`, and moves on.
EdgeList taken(std::vector<int>::const_iterator& next, int n, bool is_weighted) {
  EdgeList list{is_weighted};
  list.ranks.assign(next, next + n);
  next += n;
  if (is_weighted) list.weights.assign(next, next + n), next += n;
  return list;
}

std::size_t words_of(const Head& head) {
  const auto words = [](int n, int is_weighted) { return static_cast<std::size_t>(n) * (is_weighted != 0 ? 2 : 1); };
  return words(head.n_in, head.in_is_weighted) + words(head.n_out, head.out_is_weighted);
}

void exchange(const Ordered& ordered, const void* mine, std::size_t n_sent, void* theirs, std::size_t n_received) {
  const int code = real_pmpi().MPI_Sendrecv(mine, static_cast<int>(n_sent), type_byte(), ordered.former_rank(), 0,
                                            theirs, static_cast<int>(n_received), type_byte(), ordered.source(), 0,
                                            ordered.comm(), MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) throw Error(ErrorKind::unexpected, "the neighbours of a process were not received");
}

}  // namespace

const int* EdgeList::weights_argument() const {
  if (!is_weighted) return unweighted();
  return weights.empty() ? &kNoWeights : weights.data();
}

std::optional<EdgeList> edge_list(int n, const int* ranks, const int* weights, int size) {
  if (n < 0 || n > kMostEdges || (n > 0 && (ranks == nullptr || weights == nullptr || weights == weights_empty())))
    return std::nullopt;
  EdgeList list{weights != unweighted(), {ranks, ranks + n}};
  if (list.is_weighted && n > 0) list.weights.assign(weights, weights + n);
  const auto is_rank = [&](int rank) { return rank >= 0 && rank < size; };
  const bool is_usual = std::all_of(list.ranks.begin(), list.ranks.end(), is_rank) &&
                        std::all_of(list.weights.begin(), list.weights.end(), [](int weight) { return weight >= 0; });
  return is_usual ? std::optional(list) : std::nullopt;
}

EdgeLists moved(const EdgeLists& mine, const Ordered& ordered) {
  const Head sent{static_cast<int>(mine.in.ranks.size()), mine.in.is_weighted ? 1 : 0,
                  static_cast<int>(mine.out.ranks.size()), mine.out.is_weighted ? 1 : 0};
  Head head{};
  exchange(ordered, &sent, sizeof sent, &head, sizeof head);
  std::vector<int> words, received(words_of(head));
  append(words, mine.in);
  append(words, mine.out);
  exchange(ordered, words.data(), words.size() * sizeof(int), received.data(), received.size() * sizeof(int));
  auto next = received.cbegin();
  EdgeLists lists;
  lists.in = taken(next, head.n_in, head.in_is_weighted != 0);
  lists.out = taken(next, head.n_out, head.out_is_weighted != 0);
  return lists;
}

}  // namespace tempi::peer
