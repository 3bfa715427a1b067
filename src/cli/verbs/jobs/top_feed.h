#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/os/fd.h"
#include "base/text/error.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "observe/snapshot/picture.h"

namespace toprun::cli {

// The pause between two queries about whether a job has begun.
inline constexpr std::chrono::seconds between_approaches{2};
// How long to wait before reconnecting, if a connection ends before the job ends.
inline constexpr std::chrono::milliseconds before_another_try{500};

// The data received from a running job.
struct Pictured {
  std::optional<snapshot::Picture> picture;  // the newest picture
  std::optional<Error> trouble;              // why there is no picture
  std::vector<std::string> waits;            // lines: why the job has not begun
  bool is_over = false;  // no more pictures will arrive: the job or the connection has ended
};

// Receives the pictures of a running job. A picture is the job's state at one time. Uses a separate
// thread, which may outlive this object.
class PictureFeed {
 public:
  // Reads from the job's socket.
  static Result<PictureFeed> of(const RunningJob& job);
  // Reads from a command that prints the job's pictures, one per line.
  static Result<PictureFeed> from(const std::vector<std::string>& command,
                                  const Environment& environment);
  // Waits until the job has started to run. Then reads from the command that `approach` returns.
  static Result<PictureFeed> once_begun(std::function<Result<Approach>()> approach,
                                        const Environment& environment);
  PictureFeed(PictureFeed&&) = default;
  PictureFeed& operator=(PictureFeed&&) = delete;
  ~PictureFeed();

  // Readable when data have arrived.
  int descriptor() const;
  Pictured take();

  struct State;

 private:
  explicit PictureFeed(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;  // shared with the thread; null after a move
};

// Returns the job's current picture (its state), as JSON on one line; nullopt if the job has ended.
Result<std::optional<std::string>> picture_text(const RunningJob& job);
// Returns a stream of the job's pictures (its states as JSON), one per line, until the job's end;
// nullopt if the job has ended.
Result<std::optional<Fd>> pictures_of(const RunningJob& job);
Result<snapshot::Picture> picture_of(const std::string& text);

// Returns which user cancelled the job, and when, in words; nullopt: the job's files do not say.
std::optional<std::string> cancellation_of(const snapshot::Picture& picture);

// Runs the command and waits until the command ends. The command shares this process's stdin,
// stdout and stderr. Returns the command's exit code.
Result<int> run_in_front(const std::vector<std::string>& command, const Environment& environment);
// Like run_in_front(), for a command from command_beside_root(). Does not show the line in which
// srun repeats the command's exit code.
Result<int> run_beside_root(const std::vector<std::string>& command,
                            const Environment& environment);

}  // namespace toprun::cli
