#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/text/clock.h"

namespace toprun::jobs {

inline constexpr std::size_t max_line_bytes = 64u << 10;  // longer lines are shown in pieces

// Reads the text that was appended to a file since the last call. A LogTail opens the file again at
// each call, because a network file system might not show another node's writes in an open file. If
// the file became shorter or was replaced, the file is read from its start.
class LogTail {
 public:
  // Receives each complete line without its line end. Returns false if the line must not be shown.
  using LineFilter = std::function<bool(std::string_view line)>;

  // Each line is shown with `prefix`. If `prefix` is empty, `whole_lines` is false and `filter` is
  // unset, read_new() returns bytes as they arrive, even if a line is not complete.
  LogTail(std::string path, std::string prefix, bool whole_lines, LineFilter filter = {});

  // Appends new text, ready to print, to `text`; at most a few MiB. Returns false if there is no
  // new text, or the file does not exist (yet).
  bool read_new(std::string& text);
  // Returns the unfinished last line, with a line end added.
  std::string rest();
  const std::string& path() const { return path_; }

 private:
  std::string shown(std::string_view bytes);
  std::string shown_line(std::string_view line) const;

  const std::string path_;
  const std::string prefix_;
  const bool whole_lines_;
  const LineFilter filter_;
  std::uint64_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::string begun_;  // an unfinished line
  bool ended_ = true;  // the last byte of the output was a line end
};

// Shortens a text that arrives in parts to its last lines.
class LastLines {
 public:
  // nullopt: holds back no text.
  explicit LastLines(std::optional<std::size_t> most) : most_(most) {}
  // Returns the text to show now: the whole text if there is no limit, else an empty text.
  std::string add(std::string text);
  // Returns the last lines that were held back. Called at the end of the text.
  std::string take();

 private:
  const std::optional<std::size_t> most_;
  std::string held_;
};

// Finds the lines of the engine's file that are in no host's file (HOST.out). Such lines are from
// the batch script and from the engine's programs. A rank's line is in both files; the line is
// shown only once, from the host's file. Lines are matched by how often they occur, not by their
// position, because the engine interleaves the lines of several hosts.
//
// Remainder's use of memory is limited, even if a job runs for long. If more lines than the limit
// arrive between a line and its copy in the other file, the line is shown twice.
class Remainder {
 public:
  struct Limits {
    // limit for different lines of HOST.out whose copies in the engine's file are not yet found;
    // above the limit, the oldest lines are forgotten
    std::size_t host_lines = 1'000'000;
    std::size_t waiting_bytes = 16u << 20;  // limit for the engine's lines; above the limit, the
                                            // oldest lines are shown early
  };

  Remainder() : Remainder(Limits{}) {}
  explicit Remainder(const Limits& limits) : limits_(limits) {}
  Remainder(const Remainder&) = delete;
  Remainder& operator=(const Remainder&) = delete;

  // Adds a line of a HOST.out, without its line end.
  void add_host_line(std::string_view line);
  // Adds a line of the engine's file that was read at time `now`. `shown`: the text to show for
  // this line.
  void add_engine_line(std::string_view line, std::string shown, SteadyTime now);
  // These functions return add_host_line() and add_engine_line() as callbacks for a LogTail. The
  // callbacks must not be called after this object is destroyed. Lines of the engine's file are
  // shown only by take().
  std::function<bool(std::string_view)> host_lines();
  std::function<bool(std::string_view)> engine_lines(std::string prefix);
  // Returns the engine's lines, read before `until`, that are in no HOST.out so far. If a returned
  // line is written to a HOST.out later, the user sees the line twice.
  std::string take(SteadyTime until);

 private:
  struct Waiting {
    std::size_t hash;
    std::string shown;
    SteadyTime read;
    // Set if the line consists of a rank's unfinished line and Slurm's message. `begun` is the hash
    // of the rank's part. `message` is Slurm's part; if a HOST.out contains the rank's part, only
    // `message` is shown.
    std::size_t begun = 0;
    std::string message = {};
  };
  using Counts = std::unordered_map<std::size_t, std::uint64_t>;
  bool take_twin(Counts& counts, std::size_t hash);

  Limits limits_;
  // Hashes of hosts' lines that are not yet found in the engine's file. When younger_ reaches half
  // the limit, older_ is dropped and younger_ becomes older_.
  Counts younger_;
  Counts older_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace toprun::jobs
