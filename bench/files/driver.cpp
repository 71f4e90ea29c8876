// A checkpoint: a process writes a buffer to a file, and reads it back. Calls with the buffer of KIND, and with pinned
// host memory of the same bytes, take turns.
//   write, read        MPI_File_write_at, MPI_File_read_at
//   iwrite, iread      MPI_File_iwrite_at, MPI_File_iread_at, and MPI_Wait
// Every byte is checked. `ratio`: the time with KIND, divided by that with pinned memory: the median of all turns.
// Usage: files_driver KIND FILE BYTES ROW_BYTES REPEATS    ROW_BYTES: rows with gaps of their size; 0: no gaps
#include <mpi.h>

#include "common/main.hpp"
#include "common/memory.hpp"
#include "common/timing.hpp"

namespace tempi::bench {
namespace {

using Words = std::vector<std::uint64_t>;
constexpr std::int64_t kPiece = 64 << 20;  // most bytes of one step of a check, unless a row is longer
constexpr std::int64_t kWord = sizeof(std::uint64_t);

struct Setting {
  std::string kind, file;
  std::int64_t bytes, row_bytes;
  int repeats;
};

// The word of the file with this number.
std::uint64_t value(std::int64_t number) { return (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15u; }

// A buffer of the datatype; the bytes of the file are those of its rows.
class Buffer {
 public:
  Buffer(const std::string& kind, std::int64_t bytes, std::int64_t row_bytes)
      : memory_(kind), bytes_(bytes), stride_(row_bytes > 0 ? 2 : 1), at_(memory_.allocate(stride_ * bytes)) {
    const std::int64_t row = row_bytes > 0 ? row_bytes : std::min(bytes, kRow);
    MPI_Datatype of_row;
    MPI_Type_contiguous(static_cast<int>(row), MPI_BYTE, &of_row);
    MPI_Type_create_resized(of_row, 0, stride_ * row, &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&of_row);
    count_ = static_cast<int>(bytes / row);
    row_ = row;
  }

  void fill(bool is_zero) {
    each_piece([&](std::int64_t first) {
      if (is_zero) std::fill(expected_.begin(), expected_.end(), 0);
      memory_.copy(at_ + first, reinterpret_cast<const char*>(expected_.data()), bytes_of(expected_));
    });
    memory_.fence();
  }
  bool is_right() {
    bool all = true;
    each_piece([&](std::int64_t first) {
      found_.resize(expected_.size());
      memory_.copy(reinterpret_cast<char*>(found_.data()), at_ + first, bytes_of(found_));
      all = all && found_ == expected_;
    });
    return all;
  }

  char* at() const { return at_; }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  static constexpr std::int64_t kRow = 1 << 20;

  static std::int64_t bytes_of(const Words& words) { return static_cast<std::int64_t>(words.size()) * kWord; }

  // Calls fn(first) for each piece of whole rows. expected_ has the words of the piece; gaps are zero.
  template <class Fn>
  void each_piece(const Fn& fn) {
    const std::int64_t a_row = stride_ * row_, n_rows = bytes_ / row_, most = std::max<std::int64_t>(1, kPiece / a_row);
    for (std::int64_t row = 0; row < n_rows; row += most) {
      const std::int64_t here = std::min(most, n_rows - row);
      expected_.resize(static_cast<std::size_t>(here * a_row / kWord));
      if (stride_ > 1) std::fill(expected_.begin(), expected_.end(), 0);
      for (std::int64_t i = 0; i < here; ++i) {
        std::uint64_t* const words = &expected_[static_cast<std::size_t>(i * a_row / kWord)];
        for (std::int64_t word = 0; word < row_ / kWord; ++word) words[word] = value((row + i) * row_ / kWord + word);
      }
      fn(row * a_row);
    }
  }

  Memory memory_;
  const std::int64_t bytes_, stride_;
  char* const at_;
  MPI_Datatype type_;
  int count_;
  std::int64_t row_;
  Words expected_{}, found_{};  // members, because an allocation takes longer than a check
};

class Driver {
 public:
  explicit Driver(const Setting& setting)
      : setting_(setting),
        own_(setting.kind, setting.bytes, setting.row_bytes),
        pinned_(setting.kind == "host" ? "host" : "pinned", setting.bytes, 0) {
    MPI_File_open(MPI_COMM_SELF, setting.file.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file_);
    MPI_File_set_errhandler(file_, MPI_ERRORS_ARE_FATAL);
  }
  ~Driver() { MPI_File_close(&file_); }

  void run() {
    own_.fill(false), pinned_.fill(false);
    tell("write",
         [&](const Buffer& one) { MPI_File_write_at(file_, 0, one.at(), one.count(), one.type(), MPI_STATUS_IGNORE); });
    tell("read",
         [&](const Buffer& one) { MPI_File_read_at(file_, 0, one.at(), one.count(), one.type(), MPI_STATUS_IGNORE); });
    tell("iwrite", [&](const Buffer& one) {
      MPI_Request request;
      MPI_File_iwrite_at(file_, 0, one.at(), one.count(), one.type(), &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    tell("iread", [&](const Buffer& one) {
      MPI_Request request;
      MPI_File_iread_at(file_, 0, one.at(), one.count(), one.type(), &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
  }

 private:
  template <class Access>
  void tell(const char* way, const Access& access) {
    access(pinned_);
    access(own_);
    std::vector<double> own, pinned, ratios;
    for (int i = 0; i < setting_.repeats; ++i) {
      pinned.push_back(timed(access, pinned_));
      own.push_back(timed(access, own_));
      ratios.push_back(own.back() / pinned.back());
    }
    const bool is_right = is_written_and_read();
    std::printf("%s,%.0f,%.0f,%.3f,%d\n", way, summarise(own).median_us, summarise(pinned).median_us,
                summarise(ratios).median_us, is_right ? 1 : 0);
    std::fflush(stdout);
  }

  template <class Access>
  static double timed(const Access& access, const Buffer& buffer) {
    const auto begin = Clock::now();
    access(buffer);
    return us_since(begin);
  }

  // The last bytes that were written or read are read again: into pinned memory, and into zeros of the kind.
  bool is_written_and_read() {
    const bool is_kept = own_.is_right();
    own_.fill(true), pinned_.fill(true);
    MPI_File_read_at(file_, 0, pinned_.at(), pinned_.count(), pinned_.type(), MPI_STATUS_IGNORE);
    MPI_File_read_at(file_, 0, own_.at(), own_.count(), own_.type(), MPI_STATUS_IGNORE);
    return is_kept && own_.is_right() && pinned_.is_right();
  }

  const Setting setting_;
  Buffer own_, pinned_;
  MPI_File file_;
};

void run_all(int argc, char** argv) {
  if (argc != 6) throw std::runtime_error("KIND FILE BYTES ROW_BYTES REPEATS");
  const Setting setting{argv[1], argv[2], std::stoll(argv[3]), std::stoll(argv[4]), std::stoi(argv[5])};
  if (setting.row_bytes % kWord != 0 || setting.bytes % kWord != 0) throw std::runtime_error("no multiple of 8 bytes");
  if (setting.row_bytes > 0 && setting.bytes % setting.row_bytes != 0) throw std::runtime_error("no whole rows");
  if (setting.kind != "host") static const Gpu context(0);  // CUDA-aware libraries look for one in MPI_Init
  MPI_Init(&argc, &argv);
  Driver(setting).run();
  MPI_Finalize();
}

}  // namespace
}  // namespace tempi::bench

int main(int argc, char** argv) {
  return tempi::bench::main_of("files_driver", [&] { tempi::bench::run_all(argc, argv); });
}
