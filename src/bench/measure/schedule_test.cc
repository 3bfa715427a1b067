#include "bench/measure/schedule.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <numeric>
#include <thread>

#include "base/os/fd.h"
#include "bench/measure/pattern.h"

namespace toprun::measure {
namespace {

using bench::Collective;
using std::chrono::milliseconds;

constexpr milliseconds limit{20'000};

// Connections between all positions of a group, as Mesh makes them.
class Wires {
 public:
  Wires(std::size_t size, std::size_t stripes) {
    for (std::size_t a = 0; a < size; ++a) {
      for (std::size_t b = a + 1; b < size; ++b) {
        for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
          int ends[2];
          EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
          sockets_[{a, b, stripe}] = Fd(ends[0]);
          sockets_[{b, a, stripe}] = Fd(ends[1]);
        }
      }
    }
  }
  int socket(std::size_t from, std::size_t to, std::size_t stripe) const {
    return sockets_.at({from, to, stripe}).get();
  }

 private:
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Fd> sockets_;
};

struct Case {
  Collective collective;
  std::size_t size = 2;
  std::size_t elements = 1000;  // of a part
  Type type = Type::float32;
  Op op = Op::sum;
  std::size_t stripes = 1;
  std::size_t root = 0;
};

// One position's memory and work.
struct Member {
  Member(const Case& requested, std::size_t position)
      : ring{position, requested.size, requested.root}, element(facts_of(requested.type).bytes) {
    const std::size_t part = requested.elements * element;
    const Lengths need = lengths(requested.collective, part, requested.size);
    send.resize(std::max(need.send, need.receive) + 1);
    receive.resize(need.receive + 1);
    scratch.resize(need.scratch + 1);
  }

  Buffers buffers(const Case& requested, bool is_in_place) {
    const std::size_t part = requested.elements * element;
    if (!is_in_place) return {send.data(), receive.data(), scratch.data(), part, element};
    const InPlace where = in_place(requested.collective, part, ring);
    return {send.data() + where.send, send.data() + where.receive, scratch.data(), part, element};
  }

  RingPosition ring;
  std::size_t element;
  std::vector<std::byte> send;
  std::vector<std::byte> receive;
  std::vector<std::byte> scratch;
};

void run(const Case& requested, const Wires& wires, Member& member, const Buffers& buffers) {
  std::vector<Lane> lanes;
  for (Planned& planned : plan(requested.collective, member.ring, buffers, requested.stripes)) {
    const auto at = [&](std::size_t peer) {
      if (peer == requested.size) return -1;
      return wires.socket(member.ring.position, peer, planned.stripe);
    };
    planned.lane.out_socket = at(planned.to);
    planned.lane.in_socket = at(planned.from);
    lanes.push_back(std::move(planned.lane));
  }
  keep_own(requested.collective, member.ring, buffers);
  const auto done =
      transfer(lanes, combine_of(requested.type, requested.op), member.element, limit);
  ASSERT_TRUE(done) << done.error().line();
  if (requested.op == Op::avg) {
    const auto bytes = lengths(requested.collective, buffers.part, requested.size).receive;
    divide(requested.type, {buffers.receive, bytes}, requested.size);
  }
}

// Elements that are wrong in all results together.
std::uint64_t wrong(const Case& requested, bool is_in_place) {
  const Wires wires(requested.size, requested.stripes);
  std::vector<std::uint64_t> found(requested.size);
  std::vector<std::thread> threads;
  for (std::size_t position = 0; position < requested.size; ++position) {
    threads.emplace_back([&, position] {
      Member member(requested, position);
      const Buffers buffers = member.buffers(requested, is_in_place);
      const Check check(requested.collective, requested.type, requested.op, member.ring);
      check.fill(buffers);
      run(requested, wires, member, buffers);
      found[position] = check.wrong(buffers);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
}

constexpr Collective all[] = {
    Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
    Collective::broadcast,  Collective::reduce,     Collective::gather,
    Collective::scatter,
};

TEST(Schedule, EveryCollectiveGivesTheRightResultAtAnySizeAndRoot) {
  for (const Collective collective : all) {
    for (const std::size_t size : std::initializer_list<std::size_t>{1, 2, 3, 5, 8}) {
      for (const std::size_t elements :
           std::initializer_list<std::size_t>{0, 1, 2, 7, 1000, 300'001}) {
        if (elements > 1000 && size > 3) continue;
        for (const bool is_in_place : {false, true}) {
          const Case requested{collective, size, elements, Type::float32, Op::sum, 1, size - 1};
          EXPECT_EQ(wrong(requested, is_in_place), 0u)
              << bench::facts_of(collective).name << " of " << size << ", " << elements
              << (is_in_place ? " in place" : "");
        }
      }
    }
  }
}

TEST(Schedule, ExchangesThatCannotRunInPlace) {
  for (const Collective collective : {Collective::alltoall, Collective::sendrecv}) {
    for (const std::size_t size : std::initializer_list<std::size_t>{1, 2, 4, 7}) {
      EXPECT_EQ(wrong({collective, size, 1000}, false), 0u) << size;
    }
  }
}

TEST(Schedule, AMessageMayGoOverSeveralConnections) {
  for (const Collective collective : all) {
    for (const std::size_t elements : std::initializer_list<std::size_t>{1, 3, 10'001}) {
      EXPECT_EQ(wrong({collective, 3, elements, Type::float32, Op::sum, 4}, false), 0u);
    }
  }
  EXPECT_EQ(wrong({Collective::alltoall, 3, 10'001, Type::float32, Op::sum, 4}, false), 0u);
  // Each of them carries a share.
  for (const Collective collective : {Collective::all_reduce, Collective::alltoall}) {
    Member member({collective, 2, 1000}, 0);
    const Buffers buffers = member.buffers({collective, 2, 1000}, false);
    const auto planned = plan(collective, member.ring, buffers, 4);
    ASSERT_EQ(planned.size(), 4u);
    for (const Planned& one : planned) EXPECT_GT(one.lane.out.front().bytes, 0u);
  }
}

TEST(Schedule, EveryTypeWithEveryReduction) {
  for (const TypeFacts& type : types()) {
    for (const OpName& op : ops()) {
      for (const Collective collective :
           {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce}) {
        EXPECT_EQ(wrong({collective, 5, 1003, type.type, op.op}, false), 0u)
            << type.name << " " << op.name;
      }
    }
  }
}

// Otherwise the tests above could not fail.
TEST(Schedule, AWrongElementIsCounted) {
  const Case requested{Collective::all_reduce, 1, 1000};
  Member member(requested, 0);
  const Buffers buffers = member.buffers(requested, false);
  const Check check(requested.collective, requested.type, requested.op, member.ring);
  check.fill(buffers);
  keep_own(requested.collective, member.ring, buffers);
  EXPECT_EQ(check.wrong(buffers), 0u);
  store(requested.type, buffers.receive, 7, 42);
  store(requested.type, buffers.receive, 999, 42);
  EXPECT_EQ(check.wrong(buffers), 2u);
}

TEST(Lane, SaysWhenBytesHadComeIn) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const Fd near(ends[0]);
  const Fd far(ends[1]);
  std::array<std::byte, 4> target{};
  Lane lane;
  lane.in_socket = near.get();
  lane.in.assign(2, {target.data(), nullptr, target.size()});
  const auto arrival_of = [&](std::size_t mark_bytes) {
    Arrival arrival{mark_bytes, {}, {}};
    EXPECT_EQ(::send(far.get(), "12345678", 8, 0), 8);
    EXPECT_TRUE(transfer(std::span(&lane, 1), nullptr, 1, milliseconds(10'000), &arrival));
    return arrival;
  };
  const Arrival half = arrival_of(4);
  ASSERT_TRUE(half.mark && half.all);
  EXPECT_LT(*half.mark, *half.all);
  const Arrival whole = arrival_of(8);
  EXPECT_EQ(whole.mark, whole.all);
  const Arrival more = arrival_of(9);
  EXPECT_FALSE(more.mark);
  EXPECT_TRUE(more.all);
}

TEST(Lane, SaysWhoIsWaitedForWhenNothingMoves) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const Fd near(ends[0]);
  Fd far(ends[1]);
  std::array<std::byte, 8> target{};
  Lane lane;
  lane.in_socket = near.get();
  lane.from = "rank 1 on n1";
  lane.in = {{target.data(), nullptr, target.size()}};
  const auto stalled = transfer(std::span(&lane, 1), nullptr, 1, milliseconds(10));
  ASSERT_FALSE(stalled);
  EXPECT_EQ(stalled.error().line(),
            "waiting for bytes from rank 1 on n1: no data was transferred for 10 ms");
  far.reset();
  const auto closed = transfer(std::span(&lane, 1), nullptr, 1, milliseconds(10));
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().line(), "receiving from rank 1 on n1: connection closed by peer");
}

}  // namespace
}  // namespace toprun::measure
