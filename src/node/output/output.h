#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/os/fd.h"
#include "base/text/clock.h"
#include "base/text/error.h"
#include "node/output/console.h"
#include "node/output/tail.h"

namespace toprun::output {

// The destinations of one stream of one worker.
struct StreamPlan {
  bool console = true;  // shown on the console
  std::optional<std::string>
      file;  // also or only written to this file, created or truncated, byte for byte
  std::shared_ptr<Fd> opened = {};  // that file, if open_log() has opened it already
  std::string prefix;               // put before every line that is shown or filtered; may be empty
  int colour = 0;  // the prefix's colour on a console that shows colours; any number ≥ 0
  int rank = 0;    // named by the label of a folded line
  bool as_terminal = false;  // the stream is a terminal, if the console shows it on one
  bool filtered = false;     // lines that match OutputPlan's filter also go to the filter's file
};

// The one file for all workers' lines that contain one of the needles; none if the path is empty.
struct FilteredFile {
  std::string path;
  std::vector<std::string> needles;
  std::shared_ptr<Fd> opened = {};
};

// Output settings that all workers of a node share.
struct OutputPlan {
  std::shared_ptr<Console> console;
  bool fold = false;                           // equal lines of several ranks are shown once
  std::optional<std::uint64_t> log_max_bytes;  // a log is rotated before it exceeds this size
  FilteredFile filtered_out;
  FilteredFile filtered_err;
};

// Carries the output of one node's workers from their pipes to the console and to files, in whole
// lines, and keeps its end for the report. Nothing is lost and memory is bounded: while a console
// or a file is blocked, the pipes are not read; afterwards all streams are read in turn. A closed
// console or a full disk is reported once; the workers do not notice it.
class Output {
 public:
  // An unfinished line (a prompt, a progress bar) is shown after this silence.
  static constexpr std::chrono::milliseconds unfinished_line_limit{200};
  // The same for a worker with a terminal: a user may be typing and waiting for the echo.
  static constexpr std::chrono::milliseconds unfinished_line_limit_of_terminal{20};
  // Pause after reading a pipe: many lines then cost one read, one write and one wake-up.
  static constexpr std::chrono::milliseconds rest{2};
  static constexpr std::size_t read_bytes = 64 * 1024;
  static constexpr int reads_per_round = 4;
  // The bytes that a stream that waited for room may read before the next stream's turn.
  static constexpr std::size_t turn_bytes = 16 * 1024;
  static constexpr int pipe_bytes = 256 * 1024;  // the kernel may give less
  static constexpr std::size_t pty_read_bytes =
      4096;  // the most that one read of a terminal returns

  // The stdout and stderr of a worker.
  struct Ends {
    Fd out;
    Fd err;
  };

  Output(boost::asio::io_context& io, OutputPlan plan);
  ~Output();  // text that the files have not taken yet is lost
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Adds the next worker; the first has number 0.
  Result<Ends> add(const StreamPlan& out, const StreamPlan& err);
  // Starts reading. The caller must have closed its copies of the ends that add() returned.
  void start();

  // Reads the pipes of a worker. True if they are empty now: just after the worker's death, its own
  // output is then complete, though a process that it left may still hold the pipe. False if a
  // console or file has no room. `past_limits` ignores that limit; this takes no more memory than
  // the pipe did.
  bool drain(std::size_t worker, bool past_limits = false);
  const Tail& tail(std::size_t worker) const;
  // When the last of its output was read; unset: none yet.
  std::optional<SteadyTime> last_read(std::size_t worker) const;
  // Copies the new size of the console's terminal to the workers' terminals.
  void resize();

  // Calls `flushed` once, when every pipe is at its end and all text is written.
  void finish(std::function<void()> flushed);
  // Closes pipes that are empty but not at their end: a process outside our control holds them.
  void close_held_pipes();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace toprun::output
