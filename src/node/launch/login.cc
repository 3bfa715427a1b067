#include "node/launch/login.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/clock.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"
#include "engines/login/login.h"

namespace toprun::launch {
namespace asio = boost::asio;
using engines::LoginTrouble;
namespace {

constexpr std::array<std::string_view, 2> machines = {"x86_64", "aarch64"};
constexpr std::size_t head_bytes = 64u << 10;

std::string path_for(std::string_view machine) {
  const auto own = process::own_path();
  return own ? (own->parent_path() / fmt::format("toprun-{}", machine)).string() : std::string();
}

std::string head_of(const std::string& path) {
  std::string head(head_bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

constexpr std::chrono::milliseconds unfinished_after{50};  // the agent has held it back already
// A connection that ssh shares (ControlPersist) keeps the pipes open beyond its end.
constexpr std::chrono::milliseconds drain_limit{500};
constexpr std::string_view here = "this host";
constexpr int code_of_ssh = 255;

struct Pipes {
  process::Pipe in, out, err;
};

Result<Pipes> make_pipes() {
  Pipes pipes;
  for (process::Pipe* pipe : {&pipes.in, &pipes.out, &pipes.err}) *pipe = TRY(process::make_pipe());
  return pipes;
}

void keep_end(std::string& kept, std::string_view bytes) {
  kept += bytes;
  if (kept.size() > max_login_words_bytes) kept.erase(0, kept.size() - max_login_words_bytes);
}

}  // namespace

// The programs are not read, because most hosts have them already, and the linker's digest
// identifies them.
Result<std::vector<LoginProgram>> login_programs() {
  struct stat status {};
  if (::stat(process::own_program, &status) != 0) return fail_errno("cannot read toprun's program");
  engines::Binary own{process::this_machine(), process::build_id(),
                      static_cast<std::size_t>(status.st_size)};
  if (own.id.empty()) {
    return fail("toprun's program has no build id",
                "the ELF note with the build id was removed from the program",
                "build toprun again");
  }
  std::vector<LoginProgram> programs{{std::move(own), process::own_program}};
  for (const std::string_view machine : machines) {
    const std::string path = path_for(machine);
    if (machine == programs.front().binary.machine || ::stat(path.c_str(), &status) != 0) continue;
    std::string id = process::build_id_in(head_of(path));
    if (id.empty()) continue;
    programs.push_back(
        {{std::string(machine), std::move(id), static_cast<std::size_t>(status.st_size)}, path});
  }
  return programs;
}

engines::LoginTrouble no_program_for(std::string_view machine) {
  const std::string shown = printable(machine);
  if (std::ranges::find(machines, machine) == machines.end()) {
    return {
        fmt::format("the host is a machine of the kind {}, and toprun is built for {} only", shown,
                    join(std::vector<std::string>(machines.begin(), machines.end()), " and ")),
        "leave HOST out"};
  }
  return {
      fmt::format("the host is a machine of the kind {}, and toprun has no program for it", shown),
      fmt::format("put the toprun of {} beside this one, as {}", shown, path_for(machine))};
}

Login::Login(asio::io_context& io, output::Terminal& terminal, engines::EngineKind engine,
             std::string name, std::function<Bytes(std::string_view)> program,
             std::function<void()> changed)
    : terminal_(terminal),
      engine_(engine),
      name_(std::move(name)),
      program_(std::move(program)),
      changed_(std::move(changed)),
      out_(io, false),
      err_(io, true),
      in_(io),
      limit_(io),
      unfinished_(io),
      drained_(io) {}

void Login::start(const std::vector<std::string>& argv, const Environment& environment,
                  const spawn::Inherited& inherited) {
  const auto give_up = [this](const Error& error) {
    trouble_ = LoginTrouble{error->why.empty() ? error->what : error->what + ": " + error->why,
                            error->fix};
    end();
  };
  auto pipes = make_pipes();
  if (!pipes) return give_up(pipes.error());
  spawn::Program program{{},
                         argv,
                         environment.entries(),
                         pipes->in.read.get(),
                         pipes->out.write.get(),
                         pipes->err.write.get()};
  const std::span one(&program, 1);
  if (auto found = spawn::find_programs(one, std::string(here)); !found) {
    return give_up(found.error());
  }
  const auto pids = spawn::spawn(one, inherited, std::string(here));
  if (!pids) return give_up(pids.error());
  pid_ = pids->front();
  in_.assign(pipes->in.write.release());
  out_.pipe.assign(pipes->out.read.release());
  err_.pipe.assign(pipes->err.read.release());
  become(State::connecting, login_limit);
  for (Stream* stream : {&out_, &err_}) {
    stream->open = true;
    read(*stream);
  }
}

void Login::become(State state, std::chrono::seconds limit) {
  state_ = state;
  limit_.expires_after(limit);
  if (state != State::up) {
    limit_.async_wait([self = shared_from_this(), limit](const boost::system::error_code& error) {
      if (!error) self->abandon(fmt::format("no answer within {}", duration_text(limit)));
    });
  }
  changed_();
}

void Login::read(Stream& stream) {
  stream.pipe.async_read_some(
      asio::buffer(stream.buffer),
      [self = shared_from_this(), &stream](const boost::system::error_code& error, std::size_t n) {
        if (error) {
          stream.open = false;
          return self->end_when_drained();
        }
        self->took(stream, {stream.buffer.data(), n});
      });
}

void Login::took(Stream& stream, std::string_view bytes) {
  const bool before = state_ != State::up && state_ != State::over;
  if (before && stream.is_err) keep_end(complaint_, bytes);
  if (before && !stream.is_err) bytes.remove_prefix(heard(bytes));
  if (state_ != State::up) return read(stream);
  std::string text = before && stream.is_err ? "" : stream.lines.add(bytes);
  if (stream.lines.holds_back() && !holds_) show_unfinished_soon();
  show(stream, std::move(text));
}

// Removes the lines that the agent writes only for the launcher.
void Login::take_marks(std::string& text) {
  if (reported_code_) return text.clear();  // what follows is the login program's own
  for (const std::string_view mark : {engines::login_joins, engines::login_kept}) {
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    joins_ = true;
    text.erase(at, mark.size());
    changed_();
  }
  if (const auto reported = publish::take_report(text)) {
    terminal_.show_below(launch_.line(*reported, terminal_.last_output()));
  }
  reported_code_ = engines::take_login_end(text);
}

// Reads more when the terminal has written the text.
void Login::show(Stream& stream, std::string text) {
  if (stream.is_err) take_marks(text);
  if (stream.is_err && holds_) keep_end(held_, std::exchange(text, {}));
  if (text.empty()) return read(stream);
  stream.waits = true;
  terminal_.show(name_, stream.is_err, std::move(text), [self = shared_from_this(), &stream] {
    stream.waits = false;
    self->read(stream);
  });
}

void Login::show_unfinished_soon() {
  unfinished_.expires_after(unfinished_after);
  unfinished_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error) return;
    for (Stream* stream : {&self->out_, &self->err_}) {
      std::string text = stream->lines.flush();
      if (!text.empty()) self->terminal_.show(self->name_, stream->is_err, std::move(text), [] {});
    }
  });
}

// How many of the bytes were for us; what follows them is the agent's output. Lines without our
// mark are of the user's login scripts.
std::size_t Login::heard(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::up) {
    const std::size_t end = bytes.find('\n', used);
    keep_end(words_, bytes.substr(used, end - used));
    if (end == std::string_view::npos) return bytes.size();
    used = end + 1;
    const std::string line = std::exchange(words_, {});
    const std::size_t mark = line.find(engines::login_mark);
    if (mark != std::string::npos)
      obey(std::string_view(line).substr(mark + engines::login_mark.size()));
  }
  return used;
}

void Login::obey(std::string_view line) {
  const std::vector<std::string_view> parts = words(line);
  if (parts.empty()) return;
  if (parts[0] == "need" && parts.size() > 1 && state_ == State::connecting) {
    tell(program_(parts[1]));
    become(State::copying, login_copy_limit);
  } else if (parts[0] == "other" && parts.size() > 1) {
    trouble_ = no_program_for(parts[1]);
  } else if (parts[0] == "run" && parts.size() >= 6) {
    if (parts[1] != "-") client_ = parts[1];
    if (parts[3] != "-") server_ = parts[3];
    path_ = line.substr(static_cast<std::size_t>(parts[5].data() - line.data()));
    become(State::starting, login_program_limit);
  } else if (parts[0] == "refused" && parts.size() > 2) {
    trouble_ = LoginTrouble{
        fmt::format("no space for toprun's program ({} bytes): {}", parts[1],
                    line.substr(static_cast<std::size_t>(parts[2].data() - line.data()))),
        "free some space there, or set XDG_CACHE_HOME on HOST to a folder with enough space"};
  } else if (parts[0] == "up") {
    if (parts.size() > 1 && parts[1] != "-") machine_ = parts[1];
    if (parts.size() > 2 && parts[2] != "-" && server_.empty()) server_ = parts[2];
    become(State::up, {});
  }
}

void Login::tell(Bytes bytes) {
  unsent_.push_back(std::move(bytes));
  if (unsent_.size() == 1) write_next();
}

// If the reader has ended, its end is reported elsewhere.
void Login::write_next() {
  asio::async_write(
      in_, asio::buffer(*unsent_.front()),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
        if (error) return self->unsent_.clear();
        self->unsent_.pop_front();
        if (!self->unsent_.empty()) self->write_next();
      });
}

void Login::abandon(std::string why) {
  if (is_over() || state_ == State::waiting) return;
  if (!why.empty() && !trouble_) trouble_ = LoginTrouble{std::move(why), ""};
  process::signal_process(pid_, SIGTERM);  // not once it has ended and only its output is awaited
}

void Login::ended(int status) {
  status_ = status;
  pid_ = -1;
  await_drained();
  end_when_drained();
}

void Login::await_drained() {
  drained_.expires_after(drain_limit);
  drained_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->is_over()) return;
    if (self->out_.waits || self->err_.waits) return self->await_drained();
    self->end();
  });
}

void Login::end_when_drained() {
  if (status_ && !out_.open && !err_.open && !is_over()) end();
}

void Login::end() {
  boost::system::error_code ignored;
  for (asio::steady_timer* timer : {&limit_, &unfinished_, &drained_}) timer->cancel();
  in_.close(ignored);
  const bool was_up = state_ == State::up;
  if (was_up) exit_code_ = code_of_agent();
  for (Stream* stream : {&out_, &err_}) {
    stream->pipe.close(ignored);
    std::string text = stream->lines.flush();
    if (stream->is_err && holds_) text = exit_code_ ? held_ + text : std::string();
    if (!text.empty()) terminal_.show(name_, stream->is_err, std::move(text), [] {});
  }
  if (!was_up && !trouble_) trouble_ = why_not_up();
  state_ = State::over;
  changed_();
}

// ssh's own exit codes are 255; those of kubectl and runai may be any, so an agent behind them that
// did not say how it ended was killed, or its connection broke.
std::optional<int> Login::code_of_agent() const {
  if (reported_code_ || engine_ != engines::EngineKind::ssh) return reported_code_;
  if (!status_ || WIFSIGNALED(*status_) || WEXITSTATUS(*status_) == code_of_ssh) return {};
  return WEXITSTATUS(*status_);
}

LoginTrouble Login::why_not_up() const {
  const bool by_ssh = engine_ == engines::EngineKind::ssh;
  if (path_.empty()) {
    return by_ssh ? engines::ssh_trouble(complaint_) : engines::exec_trouble(complaint_);
  }
  const std::string last =
      by_ssh ? last_words(complaint_) : last_words(engines::without_exec_end(complaint_));
  return {
      fmt::format("the copy of toprun at {} does not run: {}", path_, last),
      lower(last).contains("exec format error")
          ? "HOST has another architecture than this machine: start toprun on a machine like HOST"
          : fmt::format("remove this copy on that host: rm {}", path_)};
}

}  // namespace toprun::launch
