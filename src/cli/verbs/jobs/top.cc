#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/style.h"
#include "base/text/error.h"
#include "base/text/text.h"
#include "cli/jobs/job_summary.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/known_job.h"
#include "cli/verbs/jobs/running_jobs.h"
#include "cli/verbs/jobs/top_feed.h"
#include "cli/verbs/run.h"
#include "cli/verbs/run_verbs.h"
#include "engines/queue.h"
#include "observe/report/columns.h"
#include "observe/top/frame.h"

namespace toprun::cli {
namespace {

// Second screen, no cursor, no wrapped lines; and back.
constexpr std::string_view take_terminal = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave_terminal = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view to_the_top = "\x1b[H";
constexpr std::string_view erase_line = "\x1b[K";
constexpr std::string_view erase_below = "\r\n\x1b[J";
constexpr TerminalSize usual_size{.columns = 80, .rows = 24};

// Draws on the whole terminal. A Screen uses the control sequences of ECMA-48 and xterm's alternate
// screen, which all usual terminals support. The previous content of the terminal is restored when
// this object is destroyed.
class Screen {
 public:
  static Result<Screen> open(int in, int out) {
    termios settings{};
    if (::tcgetattr(in, &settings) != 0) return fail_errno("cannot read the terminal's settings");
    Screen screen(in, out, settings);
    screen.take_again();
    return screen;
  }
  Screen(Screen&& other) noexcept
      : in_(other.in_),
        out_(other.out_),
        settings_(other.settings_),
        is_ours_(std::exchange(other.is_ours_, false)) {}
  Screen& operator=(Screen&&) = delete;
  ~Screen() { give_back(); }

  TerminalSize size() const {
    const TerminalSize size = terminal_size(out_);
    return size.columns > 0 && size.rows > 0 ? size : usual_size;
  }
  // More lines than the terminal has would scroll it.
  void draw(const std::vector<std::string>& lines) {
    const std::size_t rows = size().rows;
    std::string text(to_the_top);
    for (std::size_t i = 0; i < std::min(lines.size(), rows); ++i) {
      if (i > 0) text += "\r\n";
      text.append(erase_line).append(lines[i]);
    }
    if (lines.size() < rows) text += erase_below;
    if (text == drawn_) return;
    write_all(out_, text);  // the terminal may be gone: reading tells
    drawn_ = std::move(text);
  }
  // Releases the terminal for another program, or for the shell while this program is suspended.
  void give_back() {
    if (!std::exchange(is_ours_, false)) return;
    write_all(out_, leave_terminal);
    ::tcsetattr(in_, TCSANOW, &settings_);
  }
  // Ctrl-C and Ctrl-Z stay signals; Ctrl-S does not stop the drawing.
  void take_again() {
    termios requested = settings_;
    requested.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    requested.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    requested.c_cc[VMIN] = 1;
    requested.c_cc[VTIME] = 0;
    ::tcsetattr(in_, TCSANOW, &requested);
    write_all(out_, take_terminal);
    drawn_.clear();
    is_ours_ = true;
  }

 private:
  Screen(int in, int out, termios settings) : in_(in), out_(out), settings_(settings) {}

  int in_;
  int out_;
  termios settings_;  // the terminal's original settings
  bool is_ours_ = false;
  std::string drawn_;
};

using options::FlagId;
using snapshot::Picture;

// A single ESC is the key, not the beginning of another one's bytes.
constexpr int escape_limit_ms = 50;
constexpr std::array handled = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

Asking asking_for(const std::string& job) {
  return {"top", fmt::format("cannot look at job {}", job)};
}

std::string text_of(const std::vector<std::string>& lines) {
  return join(lines, "\n") + '\n';
}

// What is left on the terminal when the job is over: its last state, and its last word.
std::string farewell(const Picture& picture, TerminalSize size, const Style& style,
                     top::Folds folds) {
  std::erase_if(folds, [](const auto& fold) { return !fold.second; });
  std::vector<std::string> lines = top::remains(picture, size, style, folds);
  // The last message of a job that was cancelled names the signal alone.
  if (!picture.messages.empty() && picture.cancelled.empty()) {
    const std::string last = printable(trim(picture.messages.back().text));
    for (std::string& line : report::wrapped(last, size.columns, 0))
      lines.push_back(std::move(line));
  }
  if (picture.run.running_at) lines.emplace_back("the job is over");
  return text_of(lines);
}

// The log's files that this user can read: with --redirects 1 there is only stdout's. Of several,
// those that have text.
std::vector<std::string> readable_files(const top::Log& log) {
  std::vector<std::string> files;
  timespec latest{};
  off_t most_bytes = 0;
  for (const std::string& path : log.files) {
    struct stat status {};
    if (::access(path.c_str(), R_OK) != 0 || ::stat(path.c_str(), &status) != 0) continue;
    if (status.st_size == 0 && !files.empty()) continue;
    if (most_bytes == 0) files.clear();
    const timespec& time = status.st_mtim;
    const bool is_newer =
        std::pair(time.tv_sec, time.tv_nsec) > std::pair(latest.tv_sec, latest.tv_nsec);
    files.insert(log.newest_first && is_newer ? files.begin() : files.end(), path);
    latest = time;
    most_bytes = std::max(most_bytes, status.st_size);
  }
  return files;
}

// The environment in which `less` shows which log it displays: the path has only the local rank.
// Other pagers ignore LESS. The user's own options follow, so they have precedence.
Environment with_title(Environment environment, const top::Log& log,
                       const std::vector<std::string>& files) {
  std::string title = fmt::format("rank {} on {}", log.rank, log.node);
  for (const std::string& path : files) {
    title += ", " + printable(std::filesystem::path(path).filename().string());
  }
  constexpr std::string_view end_of_option = "$", escaped = "?:.%\\";  // less(1), PROMPTS
  std::string prompt;
  for (const char c : title) {
    if (end_of_option.contains(c)) continue;
    if (escaped.contains(c)) prompt += '\\';
    prompt += c;
  }
  const std::string own = environment.get("LESS").value_or("");
  if (files.size() > 1) prompt += "\\: file %i of %m?x (\\:n\\: next).";
  environment.set("LESS", fmt::format("-Ps{}?e (END).${}", prompt, own));
  return environment;
}

// `toprun cancel` records the user only after the engine has begun to end the job.
std::optional<std::string> awaited_cancellation(const Picture& picture) {
  constexpr int most_looks = 10;
  constexpr std::chrono::milliseconds between_looks{100};
  for (int look = 0; look < most_looks; ++look) {
    if (auto words = cancellation_of(picture)) return words;
    if (picture.node_log.empty()) break;
    std::this_thread::sleep_for(between_looks);
  }
  return std::nullopt;
}

// Looks at a job on the terminal until its end, or its user's.
class Session {
 public:
  Session(PictureFeed feed, Screen screen, Fd signals, const Environment& environment)
      : feed_(std::move(feed)),
        screen_(std::move(screen)),
        signals_(std::move(signals)),
        environment_(environment),
        style_(style_of(STDOUT_FILENO, environment)),
        pager_(environment.non_empty("PAGER").value_or("less")) {}

  // Whether a picture of the job has arrived.
  bool has_seen() const { return has_picture_; }

  Result<int> run() {
    Result<int> result = 0;
    while (state_.wish != top::State::Wish::quit) {
      draw();
      std::array<pollfd, 3> waiting = {pollfd{STDIN_FILENO, POLLIN, 0},
                                       pollfd{signals_.get(), POLLIN, 0},
                                       pollfd{feed_.descriptor(), POLLIN, 0}};
      const int ready =
          ::poll(waiting.data(), waiting.size(), typed_.empty() ? -1 : escape_limit_ms);
      if (ready < 0 && errno != EINTR) break;
      if (ready == 0 || waiting[0].revents != 0) {
        if (waiting[0].revents != 0) {
          std::array<char, 256> bytes;
          const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
          if (n == 0 || (n < 0 && errno != EINTR)) break;  // the terminal is gone
          if (n > 0) typed_.append(bytes.data(), static_cast<std::size_t>(n));
        }
        for (const top::Key key : top::keys_in(typed_, ready == 0)) {
          state_ = has_picture_ ? top::after(std::move(state_), key, picture_, lines())
                                : top::after_while_waiting(std::move(state_), key);
          press();
        }
      }
      if (waiting[1].revents != 0) {
        if (const auto code = signalled()) return *code;
      }
      if (waiting[2].revents != 0 && is_over(result)) return result;
    }
    return 0;
  }

 private:
  void draw() {
    if (!has_picture_)
      return screen_.draw(top::waiting_screen(waits_, state_, screen_.size().columns));
    top::Frame frame = top::frame(picture_, std::move(state_), screen_.size(), style_);
    state_ = std::move(frame.state);
    screen_.draw(frame.lines);
  }
  bool is_over(Result<int>& result) {
    Pictured news = feed_.take();
    waits_ = std::move(news.waits);
    if (news.picture) {
      picture_ = *std::move(news.picture);
      has_picture_ = true;
    }
    if (news.trouble) state_.note = news.trouble->line();
    if (!news.is_over) return false;
    screen_.give_back();
    if (!has_picture_) {
      result = news.trouble ? Result<int>(std::unexpected(*news.trouble))
                            : Result<int>(print("the job is over\n"));
      return true;
    }
    // The engine may end what asks for pictures before the last one has come.
    if (picture_.run.running_at) {
      if (auto words = awaited_cancellation(picture_)) {
        picture_ = top::cancelled(std::move(picture_), *std::move(words));
        news.trouble.reset();
      }
    }
    result = print(farewell(picture_, screen_.size(), style_, state_.folds));
    if (news.trouble) result = std::unexpected(*news.trouble);
    return true;
  }
  void press() {
    if (state_.wish != top::State::Wish::log) return;
    state_.wish = top::State::Wish::none;
    open_log();
  }
  void open_log() {
    top::Log log = top::log_of(picture_, state_);
    if (log.path.empty()) {
      state_.note = "no log file of this rank: --redirects 3 or --tee 3 writes one";
      return;
    }
    const auto files = readable_files(log);
    if (files.empty()) {
      state_.note = log.node.raw() == hosts::host_name()
                        ? fmt::format("no rank has written {} yet", log.path)
                        : fmt::format("on {}: {} {}", log.node, pager_, log.path);
      return;
    }
    screen_.give_back();
    std::vector<std::string> command = {pager_};
    command.insert(command.end(), files.begin(), files.end());
    const auto code = run_in_front(command, with_title(environment_, log, files));
    screen_.take_again();
    if (!code) state_.note = code.error().line();
  }
  // An exit code: this program is to end.
  std::optional<int> signalled() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGTSTP) suspend();
    if (signal == SIGTSTP || signal == SIGCONT || signal == SIGWINCH) return std::nullopt;
    return 128 + signal;
  }
  void suspend() {
    screen_.give_back();
    ::raise(SIGSTOP);
    screen_.take_again();
  }
  std::size_t lines() const { return top::list_lines(picture_, screen_.size()); }

  PictureFeed feed_;
  Screen screen_;
  Fd signals_;
  const Environment& environment_;
  const Style style_;
  const std::string pager_;
  Picture picture_;
  bool has_picture_ = false;
  std::vector<std::string> waits_;  // why the job has not begun
  top::State state_;
  std::string typed_;  // bytes of a key that is not complete
};

// `unseen`: what follows an error before the first picture.
Result<int> look(Result<PictureFeed> feed, Fd signals, const Environment& environment,
                 const std::function<Result<int>(Error)>& unseen) {
  if (!feed) return unseen(std::move(feed.error()));
  auto screen = TRY(Screen::open(STDIN_FILENO, STDOUT_FILENO));
  Session session(*std::move(feed), std::move(screen), std::move(signals), environment);
  auto code = session.run();
  return code || session.has_seen() ? code : unseen(std::move(code.error()));
}

// Before any thread starts.
Result<Fd> signals() {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int signal : handled) ::sigaddset(&mask, signal);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  Fd fd(::signalfd(-1, &mask, SFD_CLOEXEC));
  if (!fd) return fail_errno("cannot watch for signals", more_open_files);
  return fd;
}

// `line` is the last whole one afterwards.
Result<int> print_lines(const Fd& body, std::string& line) {
  std::array<char, 65'536> bytes;
  std::string rest;
  for (;;) {
    const ssize_t n = ::read(body.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    rest.append(bytes.data(), static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos;) {
      line = rest.substr(0, end);
      rest.erase(0, end + 1);
      if (const int code = print_bytes(line + '\n'); code != 0) return code;
    }
  }
}

// A connection may end before the job does: this program was stopped for a while.
Result<int> print_pictures(const RunningJob& job) {
  for (bool is_over = false; !is_over;) {
    const auto body = TRY(pictures_of(job));
    if (!body) return 0;
    std::string last;
    if (const auto code = print_lines(*body, last); !code || *code != 0) return code;
    const auto picture = picture_of(last);
    is_over = picture && !picture->run.running_at;
    if (!is_over) std::this_thread::sleep_for(before_another_try);
  }
  return 0;
}

// Whether every node has told its figures twice: what is a rate, as of its CPUs, needs two.
bool has_rates(const Picture& picture) {
  return std::ranges::all_of(picture.nodes, [](const Picture::Node& node) {
    return node.age_s.has_value() && node.busy_cpus.has_value();
  });
}

// The nodes measure only while a user looks: the first picture may have no figures yet, and the
// second no rates.
Result<int> print_one(const RunningJob& job, const Style& style) {
  constexpr int most_pictures = 3;
  Result<Picture> picture =
      fail(fmt::format("cannot look at job {}", name_of(job)), "the job has ended");
  for (int taken = 1; taken <= most_pictures; ++taken) {
    const auto text = TRY(picture_text(job));
    if (text) picture = picture_of(*text);
    if (!picture) return std::unexpected(picture.error());
    if (!text || has_rates(*picture) || taken == most_pictures) break;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::clamp(1.5 * picture->interval_s, 0.5, 10.0)));
  }
  return print(text_of(top::whole(*picture, style)));
}

Result<PictureFeed> feed_from_afar(const std::string& id, const Environment& environment) {
  const std::vector<std::string> words = {"top", "--json"};
  std::error_code error;
  if (std::filesystem::is_regular_file(id, error)) {
    const auto command = TRY(command_beside_root(id, environment, asking_for(id), words));
    return PictureFeed::from(command, environment);
  }
  const auto approach = [id, environment, words] {
    return approach_root(id, environment, asking_for(id), words);
  };
  // toprun says what cannot be looked at before the screen is taken.
  TRY(approach());
  return PictureFeed::once_begun(approach, environment);
}

// `name`: for a command, quoted for a shell.
Result<int> print_last_state(const jobs::KnownJob& known, std::string_view name,
                             const Environment& environment) {
  const Style style = style_of(STDOUT_FILENO, environment);
  const Picture picture = snapshot::last_picture(known.report->run, known.id);
  const TerminalSize size = terminal_size(STDOUT_FILENO);
  const bool has_height = style.columns > 0 && size.rows > 0;
  std::vector<std::string> lines =
      has_height ? top::remains(picture, size, style) : top::whole(picture, style);
  const std::string last = fmt::format(
      "the job has ended: {}; this is its last state, by its report; toprun status {} shows more",
      jobs::summary_of(known).words, name);
  for (std::string& line : report::wrapped(last, has_height ? size.columns : 0, 0)) {
    lines.push_back(std::move(line));
  }
  return print(text_of(lines));
}

// nullopt: the file is not a report of a run that has ended.
std::optional<jobs::KnownJob> ended_job_of(const std::string& file) {
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return std::nullopt;
  auto report = jobs::read_report(file);
  if (!report || !*report || !model::reported_code((*report)->run)) return std::nullopt;
  jobs::KnownJob known;
  known.report = *std::move(report);
  return known;
}

bool has_ended(const jobs::KnownJob& known) {
  return !known.job || engines::has_ended(known.job->state);
}

// Of an array that has ended, the tasks with a last state.
std::vector<std::string> tasks_with_report(const std::vector<jobs::KnownJob>& all) {
  std::vector<std::string> tasks;
  if (!std::ranges::all_of(all, has_ended)) return tasks;
  for (const jobs::KnownJob& known : all) {
    if (known.report) tasks.push_back(known.id);
  }
  return tasks;
}

// Of a job that has ended: its last state by its report, and how it ended. Else why `top` failed.
Result<int> show_last_state(const std::string& id, const Environment& environment, Error why) {
  const auto parsed = jobs::job_id_in(id, environment);
  if (!parsed) return std::unexpected(std::move(why));
  jobs::FoundQueue queue = engines::find_queue_of(*parsed, environment);
  const auto all = jobs::find_known(*parsed, queue);
  if (!all) return std::unexpected(std::move(why));
  if (all->size() > 1) {
    auto tasks = tasks_with_report(*all);
    if (!tasks.empty()) return several_tasks(asking_for(id).what, std::move(tasks), "ran");
  }
  if (all->size() != 1 || !all->front().report) return std::unexpected(std::move(why));
  const jobs::KnownJob& known = all->front();
  const model::RunRecord& run = known.report->run;
  if (!has_ended(known) || !model::reported_code(run)) return std::unexpected(std::move(why));
  return print_last_state(known, id, environment);
}

// ssh did not reach the root agent's host.
Error not_reached(const std::string& file, std::string why, const Environment& environment) {
  return {asking_for(file).what, std::move(why), instead_of_ssh(file, "top", environment),
          exit_failure};
}

Result<int> look_from_afar(const std::string& id, const options::Call& call, bool on_terminal) {
  if (on_terminal) {
    auto watched = TRY(signals());
    return look(feed_from_afar(id, call.environment), std::move(watched), call.environment,
                [&](Error why) -> Result<int> {
                  if (is_file(id) && why->why.starts_with("ssh: ")) {
                    return std::unexpected(not_reached(id, why->why, call.environment));
                  }
                  return show_last_state(id, call.environment, std::move(why));
                });
  }
  std::vector<std::string> words = {"top"};
  if (call.has(FlagId::json)) words.emplace_back("--json");
  auto command = command_beside_root(id, call.environment, asking_for(id), words);
  if (!command && !call.has(FlagId::json)) {
    return show_last_state(id, call.environment, std::move(command.error()));
  }
  const auto code = TRY(run_beside_root(TRY(std::move(command)), call.environment));
  if (code != code_of_ssh || !is_file(id)) return code;
  const auto report = jobs::read_report(id);
  const std::string host =
      report && *report ? " to " + (*report)->run.root_host.shown() : std::string();
  return std::unexpected(not_reached(id, fmt::format("ssh{} failed", host), call.environment));
}

}  // namespace

Result<int> run_top(const options::Call& call) {
  const bool as_json = call.has(FlagId::json);
  const bool on_terminal = !as_json && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (on_terminal && call.environment.get("TERM").value_or("dumb") == "dumb") {
    return fail("top needs a terminal", "according to TERM, this terminal cannot move its cursor",
                "set TERM, or print one snapshot: toprun top | cat");
  }
  const std::string name = TRY(jobs::name_at(call.operand(), call.environment));
  if (const auto ended = as_json ? std::nullopt : ended_job_of(name)) {
    return print_last_state(*ended, jobs::id_word(name), call.environment);
  }
  const auto job = TRY(find_running_job(name, call.environment, asking_for(name)));
  if (!job) return look_from_afar(name, call, on_terminal);
  if (as_json) return print_pictures(*job);
  if (!on_terminal) return print_one(*job, style_of(STDOUT_FILENO, call.environment));
  auto watched = TRY(signals());
  return look(PictureFeed::of(*job), std::move(watched), call.environment,
              [](Error why) -> Result<int> { return std::unexpected(std::move(why)); });
}

}  // namespace toprun::cli
