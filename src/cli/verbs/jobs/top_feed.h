#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "observe/snapshot/picture.h"

namespace toprun::cli {

// Between two questions whether a job has begun.
inline constexpr std::chrono::seconds between_approaches{2};
// After a connection that ended before its job.
inline constexpr std::chrono::milliseconds before_another_try{500};

// What has come of a running job.
struct Pictured {
  std::optional<snapshot::Picture> picture;  // the newest
  std::optional<Error> trouble;              // why there is none
  std::vector<std::string> waits;            // lines: why the job has not begun
  bool is_over = false;  // there will be none: the job, or the way to it, has ended
};

// Gets the pictures of a running job on a thread of its own, which may be left behind.
class PictureFeed {
 public:
  // From the job's socket.
  static Result<PictureFeed> of(const RunningJob& job);
  // From a command that prints them, one in a line.
  static Result<PictureFeed> from(const std::vector<std::string>& command,
                                  const Environment& environment);
  // From the command that `approach` gives, once the job has begun.
  static Result<PictureFeed> once_begun(std::function<Result<Approach>()> approach,
                                        const Environment& environment);
  PictureFeed(PictureFeed&&) = default;
  PictureFeed& operator=(PictureFeed&&) = delete;
  ~PictureFeed();

  // Readable when something has come.
  int descriptor() const;
  Pictured take();

  struct State;

 private:
  explicit PictureFeed(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;  // with the thread; empty: moved
};

// The job's picture as it is now, as JSON on one line. nullopt: the job has ended.
Result<std::optional<std::string>> picture_text(const RunningJob& job);
// Its pictures, one a line, until its end. nullopt: the job has ended.
Result<std::optional<Fd>> pictures_of(const RunningJob& job);
Result<snapshot::Picture> picture_of(const std::string& text);

// Runs the command, which shares this process's stdin, stdout and stderr, to its end; its exit
// code.
Result<int> run_in_front(const std::vector<std::string>& command, const Environment& environment);
// The same for a command_beside_root(), without the line in which the engine repeats its exit code.
Result<int> run_beside_root(const std::vector<std::string>& command,
                            const Environment& environment);

}  // namespace toprun::cli
