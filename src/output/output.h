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

#include "base/error.h"
#include "base/fd.h"
#include "output/console.h"

namespace toprun::output {

// Where one stream of one worker goes.
struct StreamPlan {
  bool console = true;              // shown
  std::optional<std::string> file;  // and/or to this file, created or truncated, byte for byte
  std::shared_ptr<Fd> opened = {};  // it, where it was opened by then (open_log())
  std::string prefix;               // put before every line that is shown or filtered; may be empty
  int colour = 0;                   // of the prefix, on a console that shows colours; any ≥ 0
  int rank = 0;                     // named by the label of a folded line
  bool as_terminal = false;         // a terminal, where the console is one that shows it
  bool filtered = false;            // lines that OutputPlan's filter picks go to its file too
};

// The one file for all workers' lines that hold one of the needles; none if the path is empty.
struct FilteredFile {
  std::string path;
  std::vector<std::string> needles;
  std::shared_ptr<Fd> opened = {};
};

// What the workers of one node have in common.
struct OutputPlan {
  std::shared_ptr<Console> console;
  bool fold = false;                           // equal lines of several ranks are shown once
  std::optional<std::uint64_t> log_max_bytes;  // a log is rotated before it grows larger
  FilteredFile filtered_out;
  FilteredFile filtered_err;
};

// Carries what the workers of one node print from their pipes to the console and to files, whole
// lines only, and keeps the end of it. Nothing is lost and nothing piles up: while a console or a
// file does not take more, the pipes are not read, and when it does, all get their turn. A console
// that is closed and a disk that is full are said once; the workers do not notice.
class Output {
 public:
  // An unfinished line is shown after this silence (a prompt, a progress bar).
  static constexpr std::chrono::milliseconds unfinished_line_limit{200};
  // … of a worker with a terminal: somebody may be typing, and wait for the echo.
  static constexpr std::chrono::milliseconds unfinished_line_limit_of_terminal{20};
  // After a read the pipe rests so long: many lines then cost one read, one write and one wake-up.
  static constexpr std::chrono::milliseconds rest{2};
  static constexpr std::size_t read_bytes = 64 * 1024;
  static constexpr int reads_per_round = 4;
  // What each stream that waited for room may read before the next one's turn.
  static constexpr std::size_t turn_bytes = 16 * 1024;
  static constexpr int pipe_bytes = 256 * 1024;        // the kernel may give less
  static constexpr std::size_t pty_read_bytes = 4096;  // all that one read of a terminal gives

  // What a worker gets as its stdout and stderr.
  struct Ends {
    Fd out;
    Fd err;
  };

  Output(boost::asio::io_context& io, OutputPlan plan);
  ~Output();  // what the files have not taken yet is lost
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Adds the next worker: the first is number 0.
  Result<Ends> add(const StreamPlan& out, const StreamPlan& err);
  // Begins to read; the ends that add() gave must be closed on this side by then.
  void start();

  // Reads what is in the pipes of a worker. True if all is read: at once after its death this is
  // all that the worker itself ever printed, though a process that it left may still hold the pipe.
  // False if a console or file has no room for it at present, unless it may go `past_limits`, which
  // takes no more memory than the pipe did.
  bool drain(std::size_t worker, bool past_limits = false);
  std::string_view tail(std::size_t worker) const;
  // The console's terminal has another size now.
  void resize();

  // Calls `flushed` once, when every pipe is at its end and everything is written.
  void finish(std::function<void()> flushed);
  // Gives up on pipes that are empty but not at their end: somebody beyond our reach holds them.
  void close_held_pipes();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace toprun::output
