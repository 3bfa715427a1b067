#include "cli/verbs/jobs/top_feed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json/json_text.h"
#include "base/os/fd.h"
#include "base/os/pool.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "cli/jobs/job_summary.h"
#include "observe/live/client.h"

namespace toprun::cli {

using nlohmann::json;
using snapshot::Picture;

struct PictureFeed::State {
  Fd news{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  std::condition_variable ending_changed;
  bool ending = false;
  Pictured pictured;
  pid_t command = 0;
  bool has_reported = false;  // of a picture

  void tell(std::optional<Picture> picture, std::optional<Error> trouble, bool is_over) {
    const std::lock_guard lock(mutex);
    has_reported = has_reported || picture;
    if (picture) pictured.picture = std::move(picture);
    pictured.trouble = std::move(trouble);
    pictured.is_over = is_over;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(news.get(), &one, sizeof one);
  }
  void tell_waiting(std::vector<std::string> lines) {
    const std::lock_guard lock(mutex);
    pictured.waits = std::move(lines);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(news.get(), &one, sizeof one);
  }
  // False: no more is needed.
  bool pause(std::chrono::duration<double> time) {
    std::unique_lock lock(mutex);
    ending_changed.wait_for(lock, time, [this] { return ending; });
    return !ending;
  }
};

namespace {

constexpr std::chrono::seconds picture_limit{20};

// The user that cancelled a job is in its story, which is in the folder of its files, where its
// nodes' logs are; the job itself knows a signal alone.
void add_cancel(Picture& picture) {
  const auto& cause = model::last_attempt(picture.run).cause;
  if (!cause || cause->kind != model::CauseKind::interrupted) return;
  if (const auto words = cancellation_of(picture)) picture.cancelled = *words;
}
constexpr std::size_t longest_line = 256u << 20;
constexpr std::size_t longest_complaint = 16u << 10;

Result<pid_t> start(const std::vector<std::string>& command, const Environment& environment,
                    const process::Start& how) {
  const auto program = process::find_program(command.front(), environment);
  if (!program) return fail("cannot run " + command.front(), "the program does not exist");
  return process::start(*program, command, environment, how);
}

// Up to a line's end; the rest stays. False: the end.
bool read_more(int fd, std::string& text, std::size_t most) {
  std::array<char, 65'536> chunk;
  const ssize_t n = ::read(fd, chunk.data(), chunk.size());
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  text.append(chunk.data(), static_cast<std::size_t>(n));
  if (text.size() > most) text.erase(0, text.size() - most);
  return true;
}

// "srun: error: n0: task 0: Exited with exit code 1"
bool repeats_the_exit_code(std::string_view line) {
  return line.starts_with("srun: error: ") && line.contains(": Exited with exit code ");
}

// Tells of the newest whole line. False: it shows the job's end. The first `seen` bytes hold no
// line's end: a line of many ranks is megabytes, which come in a hundred parts.
bool tell_lines(PictureFeed::State& state, std::string& lines, std::size_t seen) {
  if (lines.find('\n', seen) == std::string::npos) return true;
  const std::size_t last = lines.rfind('\n');
  const std::size_t before = last == 0 ? std::string::npos : lines.rfind('\n', last - 1);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  auto picture = picture_of(lines.substr(first, last - first));
  lines.erase(0, last + 1);
  if (!picture) {
    state.tell(std::nullopt, picture.error(), false);
    return true;
  }
  const bool is_over = !picture->run.running_at;
  state.tell(*std::move(picture), std::nullopt, is_over);
  return !is_over;
}

// A connection may end before the job does: its reader was stopped for a while.
void read_socket(PictureFeed::State& state, const RunningJob& job) {
  do {
    auto body = pictures_of(job);
    if (!body) {
      state.tell(std::nullopt, body.error(), false);
      continue;
    }
    if (!*body) return state.tell(std::nullopt, std::nullopt, true);
    std::string lines;
    for (std::size_t seen = 0; read_more((*body)->get(), lines, longest_line);
         seen = lines.size()) {
      if (!tell_lines(state, lines, seen)) return;
    }
  } while (state.pause(before_another_try));
}

// A command that prints pictures.
struct Printing {
  pid_t pid = 0;
  Fd out, err;
};

Result<Printing> start_printing(PictureFeed::State& state, const std::vector<std::string>& command,
                                const Environment& environment) {
  auto out = TRY(process::make_pipe());
  auto err = TRY(process::make_pipe());
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::lock_guard lock(state.mutex);
  if (state.ending) return fail("cannot show the job", "the job's toprun is ending");
  const auto pid = TRY(start(command, environment,
                             {.in = nothing.get(),
                              .out = out.write.get(),
                              .err = err.write.get(),
                              .signals = process::Start::Signals::all_default,
                              .own_group = true}));
  state.command = pid;
  return Printing{pid, std::move(out.read), std::move(err.read)};
}

// Until its end; then why it failed.
Result<void> read_command(PictureFeed::State& state, const Printing& printing) {
  const auto& [pid, out, err] = printing;
  std::string lines;
  std::string complaints;
  bool out_open = true;
  bool err_open = true;
  while (out_open || err_open) {
    std::array<pollfd, 2> waiting = {pollfd{out_open ? out.get() : -1, POLLIN, 0},
                                     pollfd{err_open ? err.get() : -1, POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    const std::size_t seen = lines.size();
    if (waiting[0].revents != 0) out_open = read_more(out.get(), lines, longest_line);
    if (waiting[1].revents != 0) err_open = read_more(err.get(), complaints, longest_complaint);
    tell_lines(state, lines, seen);
  }
  const int code = process::exit_code(process::await_end(pid));
  {
    const std::lock_guard lock(state.mutex);
    state.command = 0;
  }
  if (code == 0) return {};
  const std::string why = join(complaint(complaints, most_complaints), "; ");
  return fail("cannot show the job", why.empty() ? fmt::format("exit code {}", code) : why);
}

void tell_the_end(PictureFeed::State& state, const Result<void>& ended) {
  state.tell(std::nullopt, ended ? std::nullopt : std::optional(ended.error()), true);
}

// Whether it is worth another try: the job's root agent may not listen yet.
bool may_listen_later(PictureFeed::State& state, const Approach& approach) {
  const std::lock_guard lock(state.mutex);
  return approach.is_young && !state.has_reported;
}

void wait_and_read(PictureFeed::State& state, const std::function<Result<Approach>()>& approach,
                   const Environment& environment) {
  do {
    const auto way = approach();
    if (!way) return tell_the_end(state, std::unexpected(way.error()));
    if (!way->waits.empty()) {
      state.tell_waiting(way->waits);
      continue;
    }
    state.tell_waiting({});
    const auto printing = start_printing(state, way->command, environment);
    if (!printing) return tell_the_end(state, std::unexpected(printing.error()));
    const auto ended = read_command(state, *printing);
    if (ended || !may_listen_later(state, *way)) return tell_the_end(state, ended);
  } while (state.pause(between_approaches));
}

}  // namespace

Result<PictureFeed> PictureFeed::of(const RunningJob& job) {
  const auto state = std::make_shared<State>();
  auto thread = quiet_thread([state, job] { read_socket(*state, job); });
  if (!thread) return fail("cannot show the job", "the system cannot start a thread");
  thread->detach();
  return PictureFeed(state);
}

Result<PictureFeed> PictureFeed::from(const std::vector<std::string>& command,
                                      const Environment& environment) {
  const auto state = std::make_shared<State>();
  auto started = TRY(start_printing(*state, command, environment));
  auto thread =
      quiet_thread([state, printing = std::make_shared<const Printing>(std::move(started))] {
        tell_the_end(*state, read_command(*state, *printing));
      });
  PictureFeed feed(state);
  if (!thread) return fail("cannot show the job", "the system cannot start a thread");
  thread->detach();
  return feed;
}

Result<PictureFeed> PictureFeed::once_begun(std::function<Result<Approach>()> approach,
                                            const Environment& environment) {
  const auto state = std::make_shared<State>();
  auto thread = quiet_thread([state, approach = std::move(approach), environment] {
    wait_and_read(*state, approach, environment);
  });
  if (!thread) return fail("cannot show the job", "the system cannot start a thread");
  thread->detach();
  return PictureFeed(state);
}

// A step that is asked to end ends what it started on the other node.
PictureFeed::~PictureFeed() {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  state_->ending = true;
  state_->ending_changed.notify_all();
  if (state_->command > 0) process::signal_command(state_->command, SIGTERM);
}

int PictureFeed::descriptor() const {
  return state_->news.get();
}

Pictured PictureFeed::take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(state_->news.get(), &count, sizeof count);
  const std::lock_guard lock(state_->mutex);
  Pictured& now = state_->pictured;
  return {std::exchange(now.picture, std::nullopt), now.trouble, now.waits, now.is_over};
}

Result<std::optional<std::string>> picture_text(const RunningJob& job) {
  auto answer = TRY(live::ask(job.socket.path, {"GET", "/picture"}, picture_limit));
  if (!answer) return std::nullopt;
  if (answer->status != 200) {
    return fail(fmt::format("cannot get a snapshot of job {}", name_of(job)),
                answer->status == 404 ? "the job runs under another version of toprun"
                                      : "the job did not answer in time");
  }
  return std::move(answer->body);
}

Result<std::optional<Fd>> pictures_of(const RunningJob& job) {
  return live::follow(job.socket.path, {"GET", "/pictures"}, picture_limit);
}

Result<Picture> picture_of(const std::string& text) {
  const json object = json_in(text);
  if (object.is_discarded()) return fail("cannot read the job's snapshot", "it is not JSON");
  auto picture = snapshot::picture_in(object);
  if (picture) add_cancel(*picture);
  return picture;
}

std::optional<std::string> cancellation_of(const Picture& picture) {
  if (picture.node_log.empty()) return {};
  const jobs::JobStory story = jobs::read_story(picture.node_log.raw());
  const auto* const cancel = jobs::cancel_since(story, picture.run.started);
  if (cancel == nullptr) return {};
  return jobs::cancel_words(*cancel, picture.now.value_or(cancel->at));
}

Result<int> run_in_front(const std::vector<std::string>& command, const Environment& environment) {
  const auto pid =
      TRY(start(command, environment, {.signals = process::Start::Signals::all_default}));
  return process::exit_code(process::await_end(pid));
}

Result<int> run_beside_root(const std::vector<std::string>& command,
                            const Environment& environment) {
  auto [reading, writing] = TRY(process::make_pipe());
  const auto pid = start(command, environment,
                         {.err = writing.get(), .signals = process::Start::Signals::all_default});
  writing.reset();
  if (!pid) return std::unexpected(pid.error());
  std::string text;
  while (read_more(reading.get(), text, longest_complaint)) {
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;
         text.erase(0, end + 1)) {
      const std::string_view line = std::string_view(text).substr(0, end + 1);
      if (!repeats_the_exit_code(line)) write_all(STDERR_FILENO, line);
    }
  }
  write_all(STDERR_FILENO, text);
  return process::exit_code(process::await_end(*pid));
}

}  // namespace toprun::cli
