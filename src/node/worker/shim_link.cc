#include "node/worker/shim_link.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/os/console.h"

namespace toprun::worker {
using nlohmann::json;
namespace {

constexpr const char* peer = "container's shim";

// Returns an invalid value if the bytes are not CBOR. The parser throws for impossibly large sizes,
// although exceptions are turned off.
json parsed(std::span<const std::uint8_t> bytes) {
  try {
    return json::from_cbor(bytes.begin(), bytes.end(), true, false);
  } catch (const json::exception&) {
    return {};
  }
}

}  // namespace

Result<void> send_frame(int socket, const json& message, std::span<const int> descriptors) {
  return process::send_frame(socket, json::to_cbor(message), descriptors, peer);
}

Result<std::optional<ShimFrame>> receive_frame(int socket, std::chrono::milliseconds limit) {
  auto frame = TRY(process::receive_frame(socket, limit, peer));
  if (!frame) return std::nullopt;
  ShimFrame received{parsed(frame->bytes), std::move(frame->descriptors)};
  if (!received.message.is_object()) return fail(peer, "it sent no message");
  return received;
}

ShimDoor::ShimDoor(std::string path, Fd listening)
    : path_(std::move(path)), listening_(std::move(listening)) {}

Result<ShimDoor> ShimDoor::open(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail("cannot listen at " + path, "the path is too long", "set TMPDIR to a shorter path");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listening) return fail_errno("cannot make a socket");
  if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listening.get(), 1) != 0) {
    return fail_errno("cannot listen at " + path);
  }
  return ShimDoor(path, std::move(listening));
}

Result<Fd> ShimDoor::admit(std::chrono::milliseconds limit) const {
  if (!process::readable_within(listening_.get(), limit))
    return fail_errno(ETIMEDOUT, "container's shim");
  Fd connection(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return fail_errno("cannot accept at " + path_);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail_errno("cannot tell which user connected to " + path_);
  }
  if (peer.uid != ::getuid() && peer.uid != 0) {
    return fail("another user connected to " + path_, fmt::format("user id {}", peer.uid));
  }
  return connection;
}

Result<ShimFrame> ShimLink::hear_hello(const Fd& connection, const std::string& host) {
  auto hello = TRY(receive_frame(connection.get()));
  if (!hello) return fail("container on " + host, "its shim ended at once");
  return *std::move(hello);
}

ShimLink::ShimLink(boost::asio::io_context& io, Fd connection, const ShimFrame& hello,
                   std::string host)
    : host_(std::move(host)),
      inside_(host_ + " in the container"),
      socket_(io, connection.release()) {
  const auto entries = hello.message.value("environment", std::vector<std::string>());
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) {
      environment_.set(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
}

Result<void> ShimLink::enter(const std::string& folder) {
  TRY(ask({{"order", "enter"}, {"folder", folder}}, "entered"));
  return {};
}

Result<std::vector<Seen>> ShimLink::look(const std::vector<std::string>& paths) {
  const auto answer = TRY(ask({{"order", "look"}, {"paths", paths}}, "seen"));
  std::vector<Seen> seen;
  for (const json& bits : answer.at("seen")) {
    seen.push_back({bits.at(0).get<bool>(), bits.at(1).get<bool>(), bits.at(2).get<bool>(),
                    bits.at(3).get<bool>(), bits.at(4).get<bool>()});
  }
  return seen;
}

Result<std::vector<pid_t>> ShimLink::start(std::vector<spawn::Program> programs) {
  for (const spawn::Program& program : programs) {
    std::vector<std::uint8_t> affinity;
    for (const std::byte byte : program.affinity) {
      affinity.push_back(std::to_integer<std::uint8_t>(byte));
    }
    const int descriptors[] = {program.stdin_fd, program.stdout_fd, program.stderr_fd};
    order({{"order", "program"},
           {"argv", program.argv},
           {"environment", program.environment},
           {"affinity", affinity}},
          descriptors);
  }
  auto answer = TRY(ask({{"order", "start"}, {"host", inside_}}, "pids", shim_start_limit));
  childless_ = false;  // reports until now are of processes before these
  auto pids = answer.at("pids").get<std::vector<pid_t>>();
  if (const auto cold = answer.value("cold", ""); !cold.empty()) say(cold);
  running_.insert(pids.begin(), pids.end());
  return pids;
}

Result<Warmth> ShimLink::warm_up(const spawn::Program& command,
                                 const std::vector<std::string>& modules) {
  return ask_warmth({{"order", "warm_up"},
                     {"argv", command.argv},
                     {"environment", command.environment},
                     {"modules", modules},
                     {"host", inside_}});
}

Result<Warmth> ShimLink::warmth() {
  return ask_warmth({{"order", "warmth"}});
}

Result<Warmth> ShimLink::ask_warmth(const json& message) {
  const auto answer = TRY(ask(message, "warmth"));
  const json& warmth = answer.at("warmth");
  return Warmth{warmth.at(0).get<bool>(), warmth.at(1).get<std::string>(),
                std::chrono::milliseconds(warmth.at(2).get<std::int64_t>()),
                warmth.at(3).get<std::vector<std::string>>()};
}

void ShimLink::watch() {
  if (!std::exchange(watched_, true)) await();
}

void ShimLink::close() {
  lost_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void ShimLink::unwatch() {
  watched_ = false;
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

Children::Reaped ShimLink::reap() {
  while (!lost_ &&
         process::readable_within(socket_.native_handle(), std::chrono::milliseconds(0))) {
    if (!receive_report()) lose();
  }
  Reaped reaped = std::exchange(reports_, {});
  reaped.childless = childless_;
  return reaped;
}

void ShimLink::signal_groups(std::span<const pid_t> leaders, int signal) {
  order_signal({{"order", "signal"},
                {"pids", std::vector(leaders.begin(), leaders.end())},
                {"signal", signal}});
}

void ShimLink::notify_groups(std::span<const pid_t> leaders, int signal) {
  order_signal({{"order", "signal"},
                {"pids", std::vector(leaders.begin(), leaders.end())},
                {"signal", signal},
                {"only_handlers", true}});
}

void ShimLink::signal_all(int signal) {
  order_signal({{"order", "signal_all"}, {"signal", signal}});
}

std::vector<std::string> ShimLink::describe_all() {
  if (lost_ || !process::takes_more(socket_.native_handle())) return {};
  const auto answer = ask({{"order", "describe"}}, "left", shim_words_limit);
  return answer ? answer->at("left").get<std::vector<std::string>>() : std::vector<std::string>();
}

// If the socket takes no more, hundreds of unread orders wait: the shim and its ranks are frozen.
void ShimLink::order_signal(const json& message) {
  if (!lost_ && process::takes_more(socket_.native_handle())) order(message);
}

void ShimLink::order(const json& message, std::span<const int> descriptors) {
  if (lost_) return;
  if (!send_frame(socket_.native_handle(), message, descriptors)) lose();
}

// Sends an order and waits for its answer; keeps the shim's reports on ranks that come meanwhile.
Result<json> ShimLink::ask(const json& message, const char* answer,
                           std::chrono::milliseconds limit) {
  const auto gone = [this] {
    return fail("container on " + host_, "its shim does not answer", "see the runtime's messages");
  };
  order(message);
  while (!lost_) {
    auto frame = receive_frame(socket_.native_handle(), limit);
    if (!frame || !*frame) {
      lose();
      break;
    }
    json& report = (*frame)->message;
    if (report.contains(answer)) return std::move(report);
    if (const auto failed = report.find("failed"); failed != report.end()) {
      const auto [what, why, fix, exit_code] =
          failed->get<std::tuple<std::string, std::string, std::string, int>>();
      return std::unexpected(Error(what, why, fix, exit_code));
    }
    if (!handle_report(report)) lose();
  }
  return gone();
}

// Receives one report. False: no more will come.
bool ShimLink::receive_report() {
  const auto frame = receive_frame(socket_.native_handle());
  return frame && *frame && handle_report((*frame)->message);
}

// Handles a report of the shim. False: it is not our shim's.
bool ShimLink::handle_report(const json& report) {
  try {
    for (const json& one : report.value("ended", json::array())) {
      const Ended ended{one.at(0).get<pid_t>(), one.at(1).get<int>()};
      running_.erase(ended.pid);
      reports_.ended.push_back(ended);
    }
    childless_ = report.value("childless", false);
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

void ShimLink::lose() {
  if (std::exchange(lost_, true)) return;
  if (!running_.empty()) {
    say("container on " + host_ + ": it ended, and its ranks with it; see the runtime's messages");
  }
  for (const pid_t pid : std::exchange(running_, {})) reports_.ended.push_back({pid, SIGKILL});
  childless_ = true;
}

void ShimLink::await() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [weak = weak_from_this()](const boost::system::error_code& error) {
                       const auto self = weak.lock();
                       if (!self || error || !self->watched_) return;
                       const auto tell = self->on_change;
                       if (tell) tell();
                       if (self->watched_ && !self->lost_) self->await();
                     });
}

}  // namespace toprun::worker
