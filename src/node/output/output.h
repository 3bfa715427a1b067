#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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
  bool console = true;              // shown on the console
  std::optional<std::string> file;  // the file to which the stream is written unchanged, with or
                                    // without the console; the file is created or truncated
  std::shared_ptr<Fd> opened = {};  // the same file, if open_log() has opened it already
  std::string prefix;               // comes before every line that is shown or filtered; may be
                                    // empty
  int colour = 0;  // the prefix's colour on a console that shows colours; any number ≥ 0
  int rank = 0;    // the rank in the label of a folded line
  // Whether this stream of the worker is a pseudo-terminal. This has an effect only if the console
  // shows the stream on a terminal.
  bool as_terminal = false;
  bool filtered = false;  // lines that match OutputPlan's filter also go to the filter's file
};

// The file for those lines of all workers that contain one of the search texts (needles). An empty
// path means that there is no file.
struct FilteredFile {
  std::string path;
  std::vector<std::string> needles;
  std::shared_ptr<Fd> opened = {};
};

// Output settings that all workers of a node share.
struct OutputPlan {
  std::shared_ptr<Console> console;
  bool fold = false;  // equal lines from several ranks are shown once
  // A log is rotated before its size exceeds this limit.
  std::optional<std::uint64_t> log_max_bytes;
  FilteredFile filtered_out;
  FilteredFile filtered_err;
};

// Copies the output of one node's workers from their pipes to the console and to files, in whole
// lines. Keeps the end of each worker's output (tail()), to explain a failure. No output is lost,
// and memory is limited, because the pipes are not read while a console or a file is blocked. Once
// the console and files accept data again, all streams are read in turn. A closed console or a full
// disk is reported once; the workers are not affected.
class Output {
 public:
  // If a worker is silent for this time, its unfinished line (a prompt, a progress bar) is shown.
  static constexpr std::chrono::milliseconds unfinished_line_limit{200};
  // The same limit for a worker whose streams are pseudo-terminals. This limit is shorter, because
  // a user may type and wait for the echo.
  static constexpr std::chrono::milliseconds unfinished_line_limit_of_terminal{20};
  // How long a pipe is left alone after it was read. In this time lines collect, so that many lines
  // need only one read, one write and one wake-up.
  static constexpr std::chrono::milliseconds rest{2};
  static constexpr std::size_t read_bytes = 64 * 1024;
  static constexpr int reads_per_round = 4;
  // How many bytes are read from one stream before the next stream is read. This applies after a
  // blocked console or file accepts data again.
  static constexpr std::size_t turn_bytes = 16 * 1024;
  static constexpr int pipe_bytes = 256 * 1024;  // the kernel may provide less
  static constexpr std::size_t pty_read_bytes =
      4096;  // the maximum that one read of a terminal returns

  // The ends of a worker's pipes (or pseudo-terminals) that become its stdout and stderr.
  struct Ends {
    Fd out;
    Fd err;
  };

  Output(boost::asio::io_context& io, OutputPlan plan);
  ~Output();  // text that the files have not accepted yet is lost
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Adds the next worker (the first is number 0) and returns the ends to which the worker writes.
  Result<Ends> add(const StreamPlan& out, const StreamPlan& err);
  // Starts reading. Before start(), the caller must close its copies of the ends that add()
  // returned.
  void start();

  // Reads the pipes of a worker. Returns true if the pipes are empty now. After the worker's death,
  // its own output is then complete, even if a process that it started still holds the pipe.
  // Returns false if the console or a file accepts no more data. With `past_limits`, reads on in
  // this case too, which needs memory only for the pipes' content.
  bool drain(std::size_t worker, bool past_limits = false);
  const Tail& tail(std::size_t worker) const;
  // Returns when output of the worker was last read; unset if there was no output yet.
  std::optional<SteadyTime> last_read(std::size_t worker) const;
  // Copies the new size of the console's terminal to the workers' terminals.
  void resize();

  // Calls `flushed` once, when every pipe is at its end and all text is written.
  void finish(std::function<void()> flushed);
  // Closes pipes that are empty but not at their end, because another process that toprun cannot
  // end still holds them.
  void close_held_pipes();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace toprun::output
