#include "node/worker/warm/parent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/crc.hpp>

#include "base/os/timer.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/text.h"
#include "node/worker/spawn/descendants.h"

namespace toprun::warm {
namespace asio = boost::asio;
namespace {

constexpr std::uint32_t local_header = 0x04034b50;
constexpr std::uint32_t directory_entry = 0x02014b50;
constexpr std::uint32_t directory_end = 0x06054b50;
constexpr std::uint16_t version = 10;        // 1.0: a plain file
constexpr std::uint16_t first_day = 0x0021;  // 1980-01-01, the format's first

class Bytes {
 public:
  void add(std::initializer_list<std::uint16_t> words) {
    for (const std::uint16_t word : words) {
      bytes.push_back(static_cast<std::uint8_t>(word & 0xff));
      bytes.push_back(static_cast<std::uint8_t>(word >> 8));
    }
  }
  void add_long(std::uint32_t value) {
    add({static_cast<std::uint16_t>(value & 0xffff), static_cast<std::uint16_t>(value >> 16)});
  }
  void add(std::string_view text) { bytes.insert(bytes.end(), text.begin(), text.end()); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(bytes.size()); }

  std::vector<std::uint8_t> bytes;
};

// The fields that local header and directory have in common: version to extract … extra length.
void describe(Bytes& out, std::string_view name, std::string_view content) {
  boost::crc_32_type sum;
  sum.process_bytes(content.data(), content.size());
  out.add({version, 0, 0, 0, first_day});  // no flags, stored, midnight
  out.add_long(sum.checksum());
  out.add_long(static_cast<std::uint32_t>(content.size()));  // compressed
  out.add_long(static_cast<std::uint32_t>(content.size()));
  out.add({static_cast<std::uint16_t>(name.size()), 0});
}

// A ZIP archive with one uncompressed file, from which Python can import if the archive is in
// sys.path (zipimport). Format: PKWARE's APPNOTE 6.3, sections 4.3.7 (local header), 4.3.12
// (directory), 4.3.16 (end).
std::vector<std::uint8_t> archive_of(std::string_view name, std::string_view content) {
  Bytes out;
  out.add_long(local_header);
  describe(out, name, content);
  out.add(name);
  out.add(content);
  const std::uint32_t directory = out.size();
  out.add_long(directory_entry);
  out.add({version});  // made by
  describe(out, name, content);
  out.add({0, 0, 0, 0, 0});  // no comment, first disk, internal and external attributes
  out.add_long(0);           // the local header's offset
  out.add(name);
  const std::uint32_t directory_bytes = out.size() - directory;
  out.add_long(directory_end);
  out.add({0, 0, 1, 1});  // disks, entries
  out.add_long(directory_bytes);
  out.add_long(directory);
  out.add({0});
  return std::move(out.bytes);
}

// The text of node/worker/warm/bootstrap.py.
constexpr std::string_view bootstrap =
#include "bootstrap.inc"
    ;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* peer = "warm parent";
constexpr const char* module_file = "sitecustomize.py";
constexpr std::string_view path_variable = "PYTHONPATH=";
constexpr std::size_t longest_last_words = 4096;

std::string joined(std::span<const std::string> fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) text += '\0';
    text += fields[i];
  }
  return text;
}

std::vector<std::string> split_fields(std::span<const std::uint8_t> bytes) {
  std::vector<std::string> fields(1);
  for (const std::uint8_t byte : bytes) {
    if (byte == 0) {
      fields.emplace_back();
    } else {
      fields.back() += static_cast<char>(byte);
    }
  }
  return fields;
}

Result<void> send(int channel, std::span<const std::string> fields,
                  std::span<const int> descriptors = {}, const process::Beat& beat = {}) {
  const std::string text = joined(fields);
  return process::send_frame(channel,
                             {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
                             descriptors, peer, beat);
}

// Python finds modules in archives by a path only; this one ends with the descriptor.
Result<Fd> archive_in_memory() {
  const std::vector<std::uint8_t> archive = archive_of(module_file, bootstrap);
  return process::memory_file({reinterpret_cast<const char*>(archive.data()), archive.size()},
                              "toprun-warm");
}

std::vector<std::string> environment_for(const std::vector<std::string>& ranks, int archive,
                                         int channel, bool check) {
  std::vector<std::string> entries;
  std::string path = fmt::format("{}/proc/self/fd/{}", path_variable, archive);
  std::string_view how = check ? ":check" : "";
  for (const std::string& entry : ranks) {
    if (!entry.starts_with(path_variable)) {
      entries.push_back(entry);
    } else if (entry.size() > path_variable.size()) {
      path += ":" + entry.substr(path_variable.size());
    } else if (!check) {
      how = ":empty";
    }
  }
  entries.push_back(std::move(path));
  entries.push_back(fmt::format("TOPRUN_WARM_CHANNEL={}{}", channel, how));
  return entries;
}

std::string cpu_list(const std::vector<std::byte>& affinity) {
  std::string list;
  for (std::size_t cpu = 0; cpu < affinity.size() * 8; ++cpu) {
    const bool in_it = (std::to_integer<unsigned>(affinity[cpu / 8]) >> (cpu % 8) & 1u) != 0;
    if (in_it) list += fmt::format("{}{}", list.empty() ? "" : ",", cpu);
  }
  return list;
}

}  // namespace

Parent::Parent(spawn::Program command, std::vector<std::string> modules,
               const spawn::Inherited& inherited, std::string host, milliseconds limit)
    : command_(std::move(command)),
      modules_(std::move(modules)),
      inherited_(inherited),
      host_(std::move(host)),
      limit_(limit),
      began_(steady_clock::now()) {}

Parent::~Parent() {
  if (pid_ > 0) process::signal_group(pid_, SIGKILL);
}

Result<std::unique_ptr<Parent>> Parent::start(spawn::Program command,
                                              std::vector<std::string> modules,
                                              const spawn::Inherited& inherited, std::string host,
                                              milliseconds limit) {
  std::unique_ptr<Parent> parent(
      new Parent(std::move(command), std::move(modules), inherited, std::move(host), limit));
  TRY(parent->start_process(true));
  return parent;
}

// A Python that does not read PYTHONPATH (a wrapper with -E or -I) would run the script at once, so
// the first process has an empty script.
Result<void> Parent::start_process(bool check) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno("cannot make a socket");
  }
  Fd ours(ends[0]), theirs(ends[1]);
  auto archive = TRY(archive_in_memory());
  auto output = TRY(process::memory_file("", "toprun-warm-stdout"));
  auto errors = TRY(process::memory_file("", "toprun-warm-stderr"));
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return fail_errno("cannot open /dev/null");
  spawn::Program program = command_;
  if (check) program.argv = {command_.argv.front(), "-c", ""};
  program.environment = environment_for(command_.environment, archive.get(), theirs.get(), check);
  program.stdin_fd = null.get();
  program.stdout_fd = output.get();
  program.stderr_fd = errors.get();
  program.kept_fds = {theirs.get(), archive.get()};
  const std::span<spawn::Program> one(&program, 1);
  if (auto found = spawn::find_programs(one, host_); !found) return found;
  const auto pids = TRY(spawn::spawn(one, inherited_, host_));
  pid_ = pids.front();
  channel_ = std::move(ours);
  output_ = std::move(output);
  errors_ = std::move(errors);
  state_ = check ? State::checking : State::importing;
  if (check) return {};
  return send(channel_.get(), modules_);
}

void Parent::hear() {
  while (channel_ && process::readable_within(channel_.get(), milliseconds(0))) {
    auto frame = process::receive_frame(channel_.get(), process::frame_limit, peer);
    if (!frame || !*frame) {
      const std::string words = last_words();
      if (state_ == State::checking) {
        return refuse("this Python does not import from PYTHONPATH" +
                      (words.empty() ? "" : ": " + words));
      }
      return refuse("its process ended" + (words.empty() ? "" : ": " + words));
    }
    heard(split_fields((*frame)->bytes));
  }
}

void Parent::heard(const std::vector<std::string>& fields) {
  if (fields.front() == "refused") return refuse(fields.size() > 1 ? fields[1] : "");
  if (fields.front() != "ready") return refuse("its answer was not the expected one");
  if (state_ == State::checking) {
    if (auto started = start_process(false); !started) refuse(started.error().line());
  } else if (state_ == State::importing) {
    state_ = State::ready;
    imported_.assign(fields.begin() + 1, fields.end());
    import_time_ = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_);
  }
}

void Parent::refuse(std::string why) {
  state_ = State::refused;
  why_ = std::move(why);
  channel_.reset();
  if (pid_ > 0) process::signal_group(std::exchange(pid_, 0), SIGKILL);
}

void Parent::refuse_late() {
  refuse(fmt::format("its imports took longer than {:g} s",
                     std::chrono::duration<double>(limit_).count()));
}

void Parent::ended() {
  pid_ = 0;
  hear();  // its last message; a process that has checked is followed by another
  if (pid_ != 0 || state_ == State::refused) return;
  const std::string words = last_words();
  refuse("its process ended" + (words.empty() ? "" : ": " + words));
}

// The last line that it printed on stderr.
std::string Parent::last_words() const {
  struct stat status {};
  if (!errors_ || ::fstat(errors_.get(), &status) != 0) return "";
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string text(std::min(size, longest_last_words), '\0');
  const ssize_t n =
      ::pread(errors_.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

Result<std::vector<pid_t>> Parent::fork(std::span<const spawn::Program> ranks,
                                        const process::Beat& beat) {
  if (state_ != State::ready) {
    if (state_ != State::refused) refuse_late();
    return fail(why_);
  }
  if (!spawn::is_subreaper()) {
    return fail(
        "the kernel does not let toprun adopt orphaned processes (PR_SET_CHILD_SUBREAPER), so "
        "toprun could not get the exit status of ranks that another process forked");
  }
  const auto unlike = std::ranges::find_if(ranks, [this](const spawn::Program& rank) {
    return rank.argv != command_.argv || !rank.kept_fds.empty();
  });
  if (unlike != ranks.end()) {
    return fail(
        "the ranks cannot be forked from one process, because their command lines differ (for "
        "example by ${local_rank}) or they keep file descriptors that toprun has inherited");
  }
  const auto give_up = [this](const Error& error) -> std::unexpected<Error> {
    refuse(error.line());
    spawn::signal_descendants(SIGKILL);  // what it has forked already
    return std::unexpected(error);
  };
  const Error no_answer{"its process", fmt::format("no answer within {} s", fork_limit.count()), "",
                        exit_failure};
  const auto deadline = steady_clock::now() + fork_limit;
  for (const spawn::Program& rank : ranks) {
    if (steady_clock::now() > deadline) return give_up(no_answer);
    std::vector<std::string> fields{cpu_list(rank.affinity)};
    fields.insert(fields.end(), rank.environment.begin(), rank.environment.end());
    const int descriptors[] = {rank.stdin_fd, rank.stdout_fd, rank.stderr_fd};
    auto sent = send(channel_.get(), fields, descriptors, beat);
    if (!sent) return give_up(sent.error());
  }
  if (auto sent = send(channel_.get(), {}, {}, beat); !sent) return give_up(sent.error());
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  if (!process::readable_within(channel_.get(), left, beat)) return give_up(no_answer);
  const auto frame = process::receive_frame(channel_.get(), process::frame_limit, peer, beat);
  if (!frame || !*frame) return give_up({"its process ended", last_words(), "", exit_failure});
  const std::vector<std::string> fields = split_fields((*frame)->bytes);
  if (fields.front() == "refused") {
    return fail(fields.size() > 1 ? fields[1] : "it does not fork");
  }
  std::vector<pid_t> pids;
  for (const std::string& field : std::span(fields).subspan(1)) {
    pids.push_back(static_cast<pid_t>(parse_int(field).value_or(0)));
  }
  if (pids.size() != ranks.size() || std::ranges::min(pids) <= 0) {
    return give_up({"its process", "it did not name the ranks that it forked", "", exit_failure});
  }
  return pids;
}

std::string left_out(const std::string& host, const std::string& why) {
  return fmt::format("--warm is left out on {}: {}; its ranks start without a fork", host, why);
}

// The parent owns the descriptor and closes it when it refuses: the wait is cancelled before that.
asio::awaitable<void> settle(asio::io_context& io, std::shared_ptr<Parent> parent) {
  asio::steady_timer limit(io);
  while (!parent->settled()) {
    const auto channel = std::make_shared<asio::posix::stream_descriptor>(io, parent->descriptor());
    limit.expires_at(parent->deadline());
    limit.async_wait([channel](const boost::system::error_code& cancelled) {
      boost::system::error_code ignored;
      if (!cancelled) channel->cancel(ignored);
    });
    co_await channel->async_wait(asio::posix::stream_descriptor::wait_read, use_nothrow_awaitable);
    channel->release();
    if (std::chrono::steady_clock::now() < parent->deadline()) {
      parent->hear();
    } else {
      parent->refuse_late();
    }
  }
}

}  // namespace toprun::warm
