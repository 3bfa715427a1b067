#include "node/prepare/staging.h"

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <filesystem>

#include <boost/asio/co_spawn.hpp>

#include "base/os/console.h"
#include "base/os/files.h"
#include "base/os/mounts.h"
#include "base/os/timer.h"
#include "base/os/uncaught.h"
#include "base/text/clock.h"
#include "node/link/preamble.h"
#include "node/prepare/stage/copy_cache.h"
#include "node/prepare/stage/scan.h"

namespace toprun::prepare {
namespace asio = boost::asio;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::string_view no_threads = " is given no threads (ulimit -u, -v)";

bool gives_threads() {
  auto thread = quiet_thread([] {});
  if (thread) thread->join();
  return thread.has_value();
}

std::string absolute_path(const std::string& path) {
  std::error_code failed;
  std::string whole = std::filesystem::absolute(path, failed).lexically_normal().string();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

bool is_local(const std::string& folder) {
  const auto text = read_file("/proc/self/mountinfo");
  if (!text) return true;
  std::error_code failed;
  const std::string whole = std::filesystem::canonical(folder, failed).string();
  const auto mounts = parse_mounts(*text);
  const Mount* const mount = mount_of(mounts, whole);
  return mount == nullptr || !is_shared(mount->type).value_or(false);
}

Result<std::string> folder_for_copies(const plan::Job& job) {
  if (const auto& named = job.options.stage_to) {
    if (is_local(*named)) return *named;
    return fail("cannot use " + *named, "it is on a network file system",
                "with --stage-to, choose a folder on the node's own disk or in its memory");
  }
  const std::string usual = job.environment.non_empty("TMPDIR").value_or("/tmp");
  return is_local(usual) ? usual : "/dev/shm";
}

std::optional<stage::Hash> parse_key(const std::string& hex) {
  stage::Hash key{};
  std::size_t size = 0;
  const int failed =
      sodium_hex2bin(key.data(), key.size(), hex.data(), hex.size(), nullptr, &size, nullptr);
  if (failed != 0 || size != key.size()) return std::nullopt;
  return key;
}

stage::Upstream upstream_of(const model::StoreAddress& source) {
  stage::Upstream upstream{source.agent, source.host, {}, source.port};
  for (const std::string& text : source.addresses) {
    if (const auto address = hosts::Address::parse(text)) upstream.addresses.push_back(*address);
  }
  return upstream;
}

// Hashes that an earlier run has computed are kept beside this node's copies.
Result<stage::Source> scan(const plan::Job& job, const std::string& path) {
  std::error_code failed;
  const std::string whole = std::filesystem::canonical(path, failed).string();
  if (failed) return fail("cannot read " + path, failed.message());
  std::optional<stage::Stamped> known;
  std::string kept;
  if (const auto base = folder_for_copies(job)) {
    if (const auto cache = stage::CopyCache::open(*base)) {
      kept = cache->path() + "/" + stage::key_of(path) + ".hashes";
      const auto bytes = read_plain_file(kept, 2 * stage::most_manifest_bytes);
      if (bytes) {
        if (auto stamped = stage::Stamped::decode(*bytes)) known = *std::move(stamped);
      }
    }
  }
  auto source = stage::scan(whole, known ? &*known : nullptr);
  if (source && !kept.empty()) {
    static_cast<void>(replace_file(kept, source->stamped.encode()));  // else it costs time
  }
  return source;
}

// What came of fetching a copy and mounting it. Error: there is none for the ranks.
struct Taken {
  Result<stage::Fetched> copy;
  std::shared_ptr<const spawn::View> view = {};
  std::string moved_to = {};  // without mounts
  bool path_is_there = true;  // the environment itself
};

// A virtual environment finds its packages beside its own Python, wherever that lies; what a conda
// environment's programs and libraries know of their place is compiled in.
bool can_move(const plan::Job& job, const std::string& path) {
  std::error_code failed;
  return !job.program.empty() && job.program.front().starts_with(path + "/") &&
         std::filesystem::exists(path + "/pyvenv.cfg", failed);
}

Taken take_copy(stage::Share& share, const plan::Job& job, stage::Order order) {
  std::error_code failed;
  const bool is_there = std::filesystem::exists(order.environment, failed);
  auto base = folder_for_copies(job);
  if (!base) {
    share.close({base.error().line(), false});
    return {std::unexpected(std::move(base.error())), {}, {}, is_there};
  }
  order.base = *std::move(base);
  auto fetched = stage::fetch(order, share);
  if (!fetched) return {std::move(fetched), {}, {}, is_there};
  auto view = spawn::View::make(fetched->path, order.environment);
  if (view) return {std::move(fetched), *std::move(view), {}, is_there};
  if (!can_move(job, order.environment)) {
    return {std::unexpected(std::move(view.error())), {}, {}, is_there};
  }
  std::string moved_to = fetched->path;
  return {std::move(fetched), {}, std::move(moved_to), is_there};
}

void offer(stage::Share& share, Result<stage::Source> source) {
  if (!source) return share.close({source.error().line(), true});
  auto manifest = std::make_shared<const stage::Manifest>(std::move(source->stamped.manifest));
  std::string bytes = manifest->encode();
  if (bytes.size() > stage::most_manifest_bytes) {
    return share.close({"it has too many files to be staged", true});
  }
  const stage::Hash digest = stage::hash_of(bytes);
  const std::size_t chunks = manifest->hashes.size();
  share.list(std::make_shared<const stage::Share::List>(
      stage::Share::List{std::move(manifest), std::move(bytes), digest}));
  share.open(std::move(source->tree), std::vector<bool>(chunks, true), true);
}

}  // namespace

Staging::Staging(asio::io_context& io, std::shared_ptr<const plan::Job> job,
                 link::Identity identity)
    : io_(io),
      job_(std::move(job)),
      identity_(std::move(identity)),
      path_(absolute_path(job_->options.stage)),
      own_(io, {.threads = 1}),
      visits_(io, {.threads = most_stage_visits}),
      entrance_(io, [this](stage::Visit visit) { serve(std::move(visit)); }),
      has_threads_(gives_threads()),
      progress_timer_(io),
      settled_timer_(io, SteadyTime::max()) {}

Staging::~Staging() {
  share_->stop();
}

std::string Staging::become_source() {
  const std::string hex = link::random_hex(stage::hash_bytes);
  set_key(parse_key(hex));
  if (!has_threads_) {
    share_->close({job_->place.node_name + std::string(no_threads), true});
    return hex;
  }
  own_.run<bool>(
      stage_limit,
      [share = share_, job = job_, path = path_] {
        offer(*share, scan(*job, path));
        return true;
      },
      [](const Pool::Answer<bool>&) {});
  asio::co_spawn(io_, tell_progress(), end_of_task);
  return hex;
}

asio::awaitable<void> Staging::tell_progress() {
  constexpr std::uint64_t mib = 1 << 20;
  std::uint64_t reported = 0;
  while (true) {
    progress_timer_.expires_after(tell_staging_every);
    co_await progress_timer_.async_wait(use_nothrow_awaitable);
    const std::uint64_t sent = share_->sent_bytes;
    const auto list = share_->list_within(milliseconds(0));
    if (sent == reported || !list) continue;
    reported = sent;
    say(fmt::format("--stage: {} has sent {} MiB to the next node; {} has received {} MiB",
                    job_->place.node_name, sent / mib, path_, list->manifest->bytes() / mib));
  }
}

std::string Staging::our_line(link::Role role) const {
  return link::Preamble{identity_.version,    role,  identity_.job, identity_.agent,
                        link::random_hex(32), "none"}
      .line();
}

void Staging::visit(Fd socket, std::string preamble) {
  if (!socket || !has_threads_) return;
  entrance_.enter({std::move(socket), std::move(preamble), our_line(link::Role::agent)});
}

void Staging::set_key(std::optional<stage::Hash> key) {
  key_ = key;
  if (key_) entrance_.open(*key_);
}

void Staging::serve(stage::Visit visit) {
  const auto held = std::make_shared<stage::Visit>(std::move(visit));
  visits_.run<bool>(
      stage_limit,
      [share = share_, key = *key_, held] {
        stage::serve(std::move(*held), *share, key);
        return true;
      },
      [](const Pool::Answer<bool>&) {});
}

asio::awaitable<Result<void>> Staging::settled(const model::StagePart& part) {
  if (!key_) set_key(parse_key(part.key));
  if (!key_)
    co_return fail("for --stage, the root agent sent a key that does not have the right form");
  if (!outcome_ && !std::exchange(is_fetching_, true)) {
    asio::co_spawn(io_, fetch_once(part), end_of_task);
  }
  while (!outcome_) co_await settled_timer_.async_wait(use_nothrow_awaitable);
  co_return *outcome_;
}

asio::awaitable<void> Staging::fetch_once(model::StagePart part) {
  if (!has_threads_) {
    conclude({milliseconds(0), 0, job_->place.node_name + std::string(no_threads)}, true);
    co_return;
  }
  const auto began = steady_clock::now();
  stage::Order order{path_, {}, {}, *key_, our_line(link::Role::stage)};
  for (const auto& source : part.sources) order.upstreams.push_back(upstream_of(source));
  std::function<Taken()> work = [share = share_, job = job_, order = std::move(order)] {
    return take_copy(*share, *job, order);
  };
  auto answer = co_await own_.answer<Taken>(std::move(work), stage_limit);
  if (!answer) {
    answer = Taken{
        fail("no copy", fmt::format("the copy has not arrived after {} min", stage_limit.count()))};
  }
  model::Staged staged;
  staged.took = duration_cast<milliseconds>(steady_clock::now() - began);
  if (answer->copy) {
    staged.bytes = answer->copy->received_bytes;
    view_ = std::move(answer->view);
    moved_to_ = std::move(answer->moved_to);
    copy_ = *std::move(answer->copy);
  } else {
    staged.why_not = answer->copy.error().line();
  }
  conclude(std::move(staged), answer->path_is_there);
}

void Staging::conclude(model::Staged staged, bool path_is_there) {
  outcome_.emplace();
  if (!staged.why_not.empty() && !path_is_there) {
    outcome_ = fail(
        fmt::format("{} has neither the original of {} nor a copy", job_->place.node_name, path_),
        staged.why_not);
  }
  news_ = std::move(staged);
  settled_timer_.cancel();
}

void Staging::enter(Workplace& place) const {
  place.view = view_;
  if (!moved_to_.empty()) move(place, path_, moved_to_);
}

}  // namespace toprun::prepare
