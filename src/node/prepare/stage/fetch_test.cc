// Tests agents that pass an environment on over loopback: whole, through chains that break, and
// from sources that change or lie.
#include "node/prepare/stage/fetch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/os/os_testing.h"
#include "node/link/preamble.h"
#include "node/prepare/stage/scan.h"
#include "node/prepare/stage/stage_testing.h"

namespace toprun::stage {
namespace {

using namespace std::chrono_literals;

const Waits quick{1'000ms, 1'000ms, 20ms, 1'000ms};

Hash job_key() {
  return hash_of("the job's");
}

std::string line_of(link::Role role, const std::string& agent) {
  return link::Preamble{"0.1.0", role, "job", agent, link::random_hex(32), "none"}.line();
}

// An agent of the job: a port, and a thread for each connection.
class Agent {
 public:
  explicit Agent(std::string host, Hash key = job_key())
      : host_(std::move(host)),
        key_(key),
        listener_(*hosts::listen_on(0, hosts::Reach::this_host)) {
    thread_ = std::thread([this] { accept(); });
  }
  ~Agent() { stop(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void stop() {
    if (!thread_.joinable()) return;
    share.stop();
    stopped_ = true;
    thread_.join();
    for (std::thread& visit : visits_) visit.join();
    listener_.reset();
  }
  Upstream as_upstream() const {
    return {agent_, host_, {hosts::loopback()}, hosts::port_of(listener_)};
  }
  std::size_t visits() const { return count_; }
  const std::string& id() const { return agent_; }

  Share share;

 private:
  void accept() {
    while (!stopped_) {
      pollfd waiting{listener_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 10) <= 0) continue;
      Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) continue;
      ++count_;
      visits_.emplace_back([this, held = std::make_shared<Fd>(std::move(socket))] {
        std::string line;
        for (char c = 0; c != '\n' && ::read(held->get(), &c, 1) == 1;) line += c;
        const std::string ours = line_of(link::Role::agent, agent_);
        ::send(held->get(), ours.data(), ours.size(), MSG_NOSIGNAL);
        serve({std::move(*held), line, ours}, share, key_, quick);
      });
    }
  }

  const std::string agent_ = link::new_agent_id();
  const std::string host_;
  const Hash key_;
  Fd listener_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::size_t> count_ = 0;
  std::vector<std::thread> visits_;
  std::thread thread_;
};

struct FetchTest : testing::Test {
  FetchTest() {
    make_environment(environment);
    std::filesystem::create_directory(temporary.path() / "n1");
    std::filesystem::create_directory(temporary.path() / "n2");
  }

  void offer(Share& share) {
    auto source = scan(environment, nullptr);
    ASSERT_TRUE(source) << source.error().line();
    const auto manifest = std::make_shared<const Manifest>(source->stamped.manifest);
    std::string bytes = manifest->encode();
    const Hash digest = hash_of(bytes);
    share.list(std::make_shared<const Share::List>(Share::List{manifest, bytes, digest}));
    share.open(std::move(source->tree), std::vector<bool>(manifest->hashes.size(), true), true);
  }
  Order order(const std::string& node, std::vector<Upstream> upstreams) {
    return {environment,
            temporary.path() / node,
            std::move(upstreams),
            job_key(),
            line_of(link::Role::stage, link::new_agent_id()),
            quick,
            10ms};
  }
  std::string error_of(const Order& from) {
    Share share;
    const auto fetched = fetch(from, share);
    EXPECT_FALSE(fetched);
    EXPECT_TRUE(share.refusal());
    return fetched ? "" : fetched.error().line();
  }

  const TemporaryFolder temporary;
  const std::filesystem::path environment = temporary.path() / "env";
};

TEST_F(FetchTest, FromTheRoot) {
  Agent root("n0");
  offer(root.share);
  Share share;
  const auto fetched = fetch(order("n1", {root.as_upstream()}), share);
  ASSERT_TRUE(fetched) << fetched.error().line();
  EXPECT_EQ(seen(fetched->path), seen(environment));
  EXPECT_EQ(fetched->from, "n0");
  EXPECT_EQ(fetched->received_bytes, root.share.sent_bytes);
  Share again;
  const auto second = fetch(order("n1", {root.as_upstream()}), again);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->received_bytes, 0u);
  EXPECT_EQ(second->from, "");
}

TEST_F(FetchTest, ThroughANodeThatReceivesItAtTheSameTime) {
  Agent root("n0");
  Agent middle("n1");
  std::optional<Result<Fetched>> last;
  std::thread follower([&] {
    Share share;
    last = fetch(order("n2", {middle.as_upstream(), root.as_upstream()}), share);
  });
  std::thread receiver(
      [&] { EXPECT_TRUE(fetch(order("n1", {root.as_upstream()}), middle.share)); });
  // Both wait for the root, which is not ready yet.
  while (root.visits() + middle.visits() < 2) std::this_thread::yield();
  offer(root.share);
  receiver.join();
  follower.join();
  ASSERT_TRUE(*last) << last->error().line();
  EXPECT_EQ(seen((*last)->path), seen(environment));
  EXPECT_EQ((*last)->from, "n1");
  EXPECT_EQ(root.visits(), 1u);
}

TEST_F(FetchTest, GoesOnWithTheNextWhereTheChainBreaks) {
  Agent root("n0");
  offer(root.share);
  // The node before has the beginning, and dies.
  Agent broken("n1");
  auto source = scan(environment, nullptr);
  const auto manifest = std::make_shared<const Manifest>(source->stamped.manifest);
  std::vector<bool> some(manifest->hashes.size());
  std::fill_n(some.begin(), some.size() / 2, true);
  const std::string bytes = manifest->encode();
  broken.share.list(
      std::make_shared<const Share::List>(Share::List{manifest, bytes, hash_of(bytes)}));
  broken.share.open(std::move(source->tree), some, false);
  std::optional<Result<Fetched>> fetched;
  Share share;
  std::thread receiver([&] {
    fetched = fetch(order("n2", {broken.as_upstream(), root.as_upstream()}), share);
  });
  const auto half = static_cast<std::uint32_t>(some.size() / 2 - 1);
  while (!share.is_open_within(1s) || !share.has_within(half, 1s)) {
  }
  broken.stop();
  receiver.join();
  ASSERT_TRUE(*fetched) << fetched->error().line();
  EXPECT_EQ(seen((*fetched)->path), seen(environment));
  EXPECT_EQ((*fetched)->from, "n0");
  EXPECT_EQ(broken.share.sent_bytes + root.share.sent_bytes, (*fetched)->received_bytes);
  EXPECT_GT(broken.share.sent_bytes, 0u);
}

TEST_F(FetchTest, ANodeWithoutACopyIsPassedOver) {
  Agent root("n0");
  offer(root.share);
  Agent without("n1");
  without.share.close({"no room", false});
  Agent busy("n2");
  busy.share.set_waiting(true);
  Share share;
  const auto fetched =
      fetch(order("n1", {without.as_upstream(), busy.as_upstream(), root.as_upstream()}), share);
  ASSERT_TRUE(fetched) << fetched.error().line();
  EXPECT_EQ(fetched->from, "n0");
}

TEST_F(FetchTest, NobodyIsThere) {
  Upstream nobody;
  {
    Agent gone("n0");
    nobody = gone.as_upstream();
  }
  EXPECT_NE(error_of(order("n1", {nobody})).find("n0: cannot connect"), std::string::npos);
}

TEST_F(FetchTest, WhoHasNotTheKeyGetsNothing) {
  Agent root("n0", hash_of("another job's"));
  offer(root.share);
  EXPECT_NE(error_of(order("n1", {root.as_upstream()})).find("n0: "), std::string::npos);
  EXPECT_EQ(root.share.sent_bytes, 0u);
}

TEST_F(FetchTest, AnotherAgentAtTheAddressIsNotTakenForIt) {
  Agent root("n0");
  offer(root.share);
  Upstream other = root.as_upstream();
  other.agent = link::new_agent_id();
  EXPECT_NE(error_of(order("n1", {other})).find("another program answers"), std::string::npos);
}

TEST_F(FetchTest, TheSourceFails) {
  Agent root("n0");
  root.share.close({"cannot read /env: Permission denied", true});
  EXPECT_EQ(error_of(order("n1", {root.as_upstream()})), "cannot read /env: Permission denied");
  EXPECT_EQ(root.visits(), 1u);  // there is no other node to ask
}

TEST_F(FetchTest, AFileChangesAfterItWasHashed) {
  Agent root("n0");
  offer(root.share);
  write(environment / "lib/m/7.py", "longer or shorter than before");
  EXPECT_NE(error_of(order("n1", {root.as_upstream()})).find("m/7.py has changed while"),
            std::string::npos);
}

TEST_F(FetchTest, AFileChangesAndLooksTheSame) {
  Agent root("n0");
  offer(root.share);
  struct stat status {};
  const std::string path = environment / "lib/m/7.py";
  ::lstat(path.c_str(), &status);
  write(path, content(100, 'b'));
  const timespec times[] = {status.st_mtim, status.st_mtim};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  EXPECT_NE(error_of(order("n1", {root.as_upstream()})).find("m/7.py has changed while"),
            std::string::npos);
}

TEST_F(FetchTest, TheFolderForCopiesIsMissing) {
  Agent root("n0");
  offer(root.share);
  EXPECT_NE(error_of(order("none", {root.as_upstream()})).find("--stage-to"), std::string::npos);
  EXPECT_EQ(root.visits(), 0u);
}

TEST(Wire, HeadsOfOtherKindsAreRefused) {
  const Head head{Record::data, 7, 1u << 30};
  const auto read = decode_head(encode(head));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, head.kind);
  EXPECT_EQ(read->length, head.length);
  EXPECT_EQ(read->number, head.number);
  EXPECT_FALSE(decode_head(std::string(head_bytes, '\0')));
  EXPECT_FALSE(decode_head(std::string(head_bytes, '\x7f')));
  EXPECT_FALSE(decode_head("short"));
}

}  // namespace
}  // namespace toprun::stage
