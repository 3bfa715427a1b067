#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/prepare/prefetch/prefetch_record.h"

namespace toprun::prefetch {

// Reads the files in a record, so that imports find them in the page cache. Several threads call
// work(), each thread once, and each thread takes one piece of a file after another. Pieces of
// shared libraries are in one queue, and pieces of small files in another. Half of the threads
// begin with one queue and half with the other, because an import needs both kinds from its
// beginning. Data that is already in the page cache is not read. Paths that are neither regular
// files nor folders are skipped.
class Reading {
 public:
  // The number of bytes that a thread reads with one request. Each thread needs this much memory.
  static constexpr std::size_t piece_bytes = 1u << 20;

  explicit Reading(const Record& record);

  // Checks a few dozen pieces, evenly spread: true if all of these are in the page cache. Opens the
  // files of these pieces.
  bool is_cached() const;
  // Reads pieces until no piece is left, or until stop() is called. `thread`: the thread's number.
  void work(std::size_t thread);
  void stop() { stopped_ = true; }

  struct Done {
    std::size_t files = 0;  // files that were read at least in part
    std::uint64_t bytes = 0;
  };
  Done done() const { return {files_, bytes_}; }

 private:
  struct Piece {
    std::size_t path = 0;  // the index of the piece's path
    Entry::Kind kind = Entry::Kind::whole;
    Range range = {};
  };
  void take(const std::vector<Piece>& row, std::atomic<std::size_t>& next,
            std::vector<char>& buffer);
  void read(const Piece& piece, std::vector<char>& buffer);

  std::vector<std::string> paths_;
  std::vector<std::atomic_flag> touched_;  // indexed by path
  std::vector<Piece> small_, libraries_;
  std::atomic<std::size_t> next_small_ = 0, next_library_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::size_t> files_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
};

}  // namespace toprun::prefetch
