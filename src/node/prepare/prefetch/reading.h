#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/prepare/prefetch/record.h"

namespace toprun::prefetch {

// Reads what a record names, so that imports find it in the page cache. Several threads call
// work(), each once; the first that comes takes the next piece. Libraries and small files are two
// rows, and half of the threads begin with each: an import needs both from its beginning.
// What is in the page cache already is passed over, and so is what is neither a regular file nor a
// folder.
class Reading {
 public:
  // Bytes that one request asks for; a thread holds as much memory.
  static constexpr std::size_t piece_bytes = 1u << 20;

  explicit Reading(const Record& record);

  // Whether a sample of its pieces is in the page cache. It opens some dozen files.
  bool is_cached() const;
  // Returns when nothing is left to read, or soon after stop().
  void work(std::size_t thread);
  void stop() { stopped_ = true; }

  struct Done {
    std::size_t files = 0;  // those with a part that was read
    std::uint64_t bytes = 0;
  };
  Done done() const { return {files_, bytes_}; }

 private:
  struct Piece {
    std::size_t path = 0;  // its number
    Entry::Kind kind = Entry::Kind::whole;
    Range range = {};
  };
  void take(const std::vector<Piece>& row, std::atomic<std::size_t>& next,
            std::vector<char>& buffer);
  void read(const Piece& piece, std::vector<char>& buffer);

  std::vector<std::string> paths_;
  std::vector<std::atomic_flag> touched_;  // by path
  std::vector<Piece> small_, libraries_;
  std::atomic<std::size_t> next_small_ = 0, next_library_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::size_t> files_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
};

}  // namespace toprun::prefetch
