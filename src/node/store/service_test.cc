#include "node/store/service.h"

#include <gtest/gtest.h>

#include <deque>

#include "node/store/client_testing.h"

namespace toprun::store {
namespace {

using namespace requests;
using Keys = std::vector<std::string>;
using Pairs = std::vector<KeyAndValue>;

constexpr std::uint8_t code_wait_canceled = 1;

std::string bytes(const Output& output) {
  std::array<iovec, 64> pieces;
  std::string text;
  const std::size_t count = output.gather(pieces, SIZE_MAX);
  for (std::size_t i = 0; i < count; ++i) {
    text.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  }
  return text;
}

// A connection without a socket.
class Party final : public Session {
 public:
  explicit Party(Service& service)
      : Session(service.attempt()), service_(service), replies_(service.ledger()) {}

  void deliver(std::string_view reply) override { replies_.put(reply); }
  void deliver(const Output& message) override { replies_.put(message); }

  // What the server answers, to this party.
  std::string say(std::string_view text) {
    turn = service_.take(*this, text, replies_, why);
    return heard();
  }
  // What was delivered to it since.
  std::string heard() {
    std::string text = bytes(replies_);
    replies_.clear();
    return text;
  }

  // Counts the memory of what it has not read, as the server does.
  void count() { replies_.charge(); }

  Service::Turn turn = Service::Turn::waiting;
  Refusal why = Refusal::none;

 private:
  Service& service_;
  Output replies_;
};

struct Store {
  explicit Store(const Limits& limits = {}) : service(Clients::served, limits) {}
  Service service;
};

std::string i64(std::int64_t number) {
  return integer(number);
}
std::string byte(std::uint8_t number) {
  return integer(number);
}
std::string big(char letter) {
  return std::string(20'000, letter);
}

struct Case {
  const char* name;
  std::string said;
  std::string heard;
};

// Every operation, as one connection sees it.
std::vector<Case> conversations() {
  const Pairs pairs = {{"m1", "one"}, {"m2", "two"}};
  return {
      {"ping", ping(7), integer<std::uint32_t>(7)},
      {"set, get", set("k", "v") + get("k"), counted("v")},
      {"get of an absent key", get("none"), counted("")},
      {"empty key and value", set("", "") + get("") + check(Keys{""}), counted("") + byte(0)},
      {"large value", set("k", big('x')) + get("k") + get("k"),
       counted(big('x')) + counted(big('x'))},
      {"compare_set",
       compare_set("c", "", "a") + compare_set("c", "x", "b") + compare_set("c", "a", "b"),
       counted("a") + counted("a") + counted("b")},
      {"compare_set of an absent key", compare_set("c", "x", "b") + check(Keys{"c"}),
       counted("x") + byte(1)},
      {"add", add("n", 3) + add("n", -5) + get("n"), i64(3) + i64(-2) + counted("-2")},
      {"add wraps", add("n", INT64_MAX) + add("n", 1), i64(INT64_MAX) + i64(INT64_MIN)},
      {"add reads as strtoll", set("n", "\t +12x") + add("n", 1), i64(13)},
      {"check",
       check(Keys{}) + check(Keys{"a"}) + set("a", "") + check(Keys{"a"}) + check(Keys{"a", "b"}),
       byte(0) + byte(1) + byte(0) + byte(1)},
      {"wait for what is there", set("a", "1") + wait(Keys{"a"}) + wait(Keys{}), byte(0) + byte(0)},
      {"wait, set, cancel", wait(Keys{"a"}) + set("a", "1") + cancel_wait(), byte(0) + byte(1)},
      {"two waits, cancel",
       wait(Keys{"a"}) + wait(Keys{"b"}) + cancel_wait() + set("a", "") + set("b", ""), byte(1)},
      {"wait twice for one key", wait(Keys{"a", "a"}) + set("a", ""), byte(0)},
      {"waiting does not stop the rest", wait(Keys{"a"}) + get("b") + set("a", ""),
       counted("") + byte(0)},
      {"number of keys", set("a", "") + queue_push("q", "") + get_num_keys(), i64(1)},
      {"delete", set("a", "1") + delete_key("a") + delete_key("a") + get("a"),
       i64(1) + i64(0) + counted("")},
      {"append", append("a", "1") + append("a", "2") + get("a"), counted("12")},
      {"append makes it large", append("a", big('x')) + append("a", big('y')) + get("a"),
       counted(big('x') + big('y'))},
      {"append after a get", set("a", big('x')) + get("a") + append("a", "y") + get("a"),
       counted(big('x')) + counted(big('x') + "y")},
      {"multi_get", set("a", "1") + set("b", big('b')) + multi_get(Keys{"a", "none", "b", "b"}),
       counted("1") + counted("") + counted(big('b')) + counted(big('b'))},
      {"multi_set", multi_set(pairs) + multi_get(Keys{"m2", "m1"}),
       counted("two") + counted("one")},
      {"cancel without a wait", cancel_wait() + cancel_wait(), byte(1) + byte(1)},
      {"queue",
       queue_push("q", "1") + queue_push("q", "2") + queue_len("q") + queue_pop("q") +
           queue_pop("q") + queue_pop("q") + queue_len("q"),
       i64(2) + i64(2) + counted("1") + i64(1) + counted("2") + i64(0) + i64(0)},
      {"a queue counts as present",
       queue_push("q", "1") + check(Keys{"q"}) + wait(Keys{"q"}) + queue_pop("q") +
           check(Keys{"q"}),
       byte(0) + byte(0) + i64(1) + counted("1") + byte(1)},
      {"list_keys", set("only", "1") + list_keys(), i64(1) + counted("only")},
      {"barrier of one", barrier("b", 1) + get("b"), byte(0) + counted("1")},
      {"barrier, cancelled, keeps its count", barrier("b", 2) + cancel_wait() + barrier("b", 2),
       byte(1) + byte(0)},
  };
}

TEST(Service, AnswersEveryOperation) {
  for (const Case& test : conversations()) {
    Store store;
    Party party(store.service);
    EXPECT_EQ(party.say(validate() + test.said), test.heard) << test.name;
    EXPECT_EQ(party.turn, Service::Turn::waiting) << test.name;
  }
}

TEST(Service, AnswersTheSameWhenEveryByteComesAlone) {
  for (const Case& test : conversations()) {
    Store store;
    Party party(store.service);
    std::string heard;
    for (const char letter : validate() + test.said) heard += party.say({&letter, 1});
    EXPECT_EQ(heard, test.heard) << test.name;
  }
}

TEST(Service, AnswersTheSameWhereverTheBytesAreCutInTwo) {
  for (const Case& test : conversations()) {
    const std::string said = validate() + test.said;
    if (said.size() > 2'000) continue;  // byte by byte is enough for the long ones
    for (std::size_t cut = 1; cut < said.size(); ++cut) {
      Store store;
      Party party(store.service);
      std::string heard = party.say(std::string_view(said).substr(0, cut));
      heard += party.say(std::string_view(said).substr(cut));
      EXPECT_EQ(heard, test.heard) << test.name << " cut at " << cut;
    }
  }
}

struct Step {
  int who;
  std::string said;
  std::vector<std::string> heard;  // by each party afterwards
};

TEST(Service, TellsOthersWhatTheyWaitFor) {
  const std::string released = byte(stop_waiting);
  const std::vector<std::pair<const char*, std::vector<Step>>> tests = {
      {"set releases those who have all their keys",
       {{1, wait(Keys{"x", "y"}), {"", "", ""}},
        {2, wait(Keys{"x"}), {"", "", ""}},
        {0, set("x", ""), {"", "", released}},
        {0, set("x", "again"), {"", "", ""}},
        {0, set("y", ""), {"", released, ""}}}},
      {"add, append, compare_set and multi_set release",
       {{1, wait(Keys{"a"}), {"", ""}},
        {0, add("a", 1), {i64(1), released}},
        {1, wait(Keys{"b"}), {"", ""}},
        {0, append("b", ""), {"", released}},
        {1, wait(Keys{"c"}), {"", ""}},
        {0, compare_set("c", "", "1"), {counted("1"), released}},
        {1, wait(Keys{"d", "e"}), {"", ""}},
        {0, multi_set(Pairs{{"d", ""}, {"e", ""}}), {"", released}}}},
      {"a compare_set that stores nothing releases, as in PyTorch",
       {{1, wait(Keys{"c"}), {"", ""}}, {0, compare_set("c", "x", "y"), {counted("x"), released}}}},
      {"push releases one at a time, in order",
       {{1, wait(Keys{"q"}), {"", "", ""}},
        {2, wait(Keys{"q"}), {"", "", ""}},
        {0, queue_push("q", "1"), {"", released, ""}},
        {0, queue_push("q", "2"), {"", "", released}}}},
      {"a later wait takes the place of the first",
       {{1, wait(Keys{"x"}), {"", ""}},
        {1, wait(Keys{"y"}), {"", ""}},
        {0, set("x", ""), {"", ""}},
        {0, set("y", ""), {"", released}}}},
      {"barrier releases all when the last one comes",
       {{0, barrier("b", 3), {"", "", ""}},
        {1, barrier("b", 3), {"", "", ""}},
        {2, barrier("b", 3), {released, released, released}},
        {0, get("b"), {counted("3"), "", ""}}}},
      {"a cancelled wait is not answered",
       {{1, wait(Keys{"x"}), {"", ""}},
        {1, cancel_wait(), {"", byte(code_wait_canceled)}},
        {0, set("x", ""), {"", ""}}}},
  };
  for (const auto& [name, steps] : tests) {
    Store store;
    std::vector<std::unique_ptr<Party>> parties;
    for (std::size_t i = 0; i < steps.front().heard.size(); ++i) {
      parties.push_back(std::make_unique<Party>(store.service));
      parties.back()->say(validate());
    }
    for (std::size_t step = 0; step < steps.size(); ++step) {
      std::vector<std::string> heard(parties.size());
      const auto who = static_cast<std::size_t>(steps[step].who);
      heard[who] = parties[who]->say(steps[step].said);
      for (std::size_t i = 0; i < parties.size(); ++i) heard[i] += parties[i]->heard();
      EXPECT_EQ(heard, steps[step].heard) << name << ", step " << step;
    }
  }
}

// Generation A: no handshake, its own opcodes.
TEST(Service, SpeaksGenerationA) {
  const auto bare = [](std::uint8_t code, const std::string& fields) {
    return byte(code) + fields;
  };
  const std::vector<Case> tests = {
      {"set, get", bare(0, counted("k") + counted("v")) + bare(2, counted("k")), counted("v")},
      {"compare_set", bare(1, counted("k") + counted("") + counted("v")), counted("v")},
      {"add", bare(3, counted("init/") + i64(1)), i64(1)},
      {"check", bare(4, i64(1) + counted("k")), byte(1)},
      {"wait", bare(5, i64(1) + counted("k")) + bare(0, counted("k") + counted("v")), byte(0)},
      {"number of keys", bare(6, ""), i64(0)},
      {"delete", bare(8, counted("k")), i64(0)},
      {"watch",
       bare(7, counted("k")) + bare(0, counted("k") + counted("v")) +
           bare(3, counted("n") + i64(1)) + bare(0, counted("k") + counted("w")) +
           bare(8, counted("k")),
       byte(3) + byte(1) + counted("k") + counted("") + counted("v") + i64(1) + byte(0) +
           counted("k") + counted("v") + counted("w") + byte(2) + counted("k") + counted("w") +
           counted("") + i64(1)},
  };
  for (const Case& test : tests) {
    Store store;
    Party whole(store.service);
    EXPECT_EQ(whole.say(test.said), test.heard) << test.name;
    Store other;
    Party slow(other.service);
    std::string heard;
    for (const char letter : test.said) heard += slow.say({&letter, 1});
    EXPECT_EQ(heard, test.heard) << test.name << ", byte by byte";
  }
}

TEST(Service, HandsVisitorsOver) {
  for (const std::size_t cut : {0u, 1u, 6u, 7u, 9u}) {
    Store store;
    Party party(store.service);
    const std::string_view said = "toprun/1 hello";
    if (cut > 0) {
      party.say(said.substr(0, cut));
      EXPECT_EQ(party.turn, cut < 7 ? Service::Turn::waiting : Service::Turn::visitor) << cut;
    }
    if (cut < 7) {
      party.say(said.substr(cut));
      EXPECT_EQ(party.turn, Service::Turn::visitor) << cut;
      EXPECT_EQ(Service::opening(party), said);
    }
  }
}

TEST(Service, ServesNobodyBeforeItIsTold) {
  Service service(Clients::refused);
  Party party(service);
  party.say(validate());
  EXPECT_EQ(party.why, Refusal::not_serving);
}

TEST(Service, AnAttemptsEndRefusesItsClientsAndDropsItsKeys) {
  Store store;
  Party silent(store.service);
  {
    Party party(store.service);
    party.say(validate() + set("k", "v"));
  }
  store.service.next_attempt(Clients::served);
  silent.say(validate());
  EXPECT_EQ(silent.why, Refusal::not_serving);
  Party fresh(store.service);
  EXPECT_EQ(fresh.say(validate() + get_num_keys()), i64(0));
}

struct Refused {
  const char* name;
  std::string said;
  Refusal why;
};

TEST(Service, RefusesWhatIsOverALimitOrNoRequest) {
  Limits limits;
  limits.key_bytes = 8;
  limits.value_bytes = 100;
  limits.keys_per_request = 3;
  limits.request_bytes = 250;
  limits.total_bytes = 2'000;
  limits.backlog_bytes = 300;
  const std::string length(8, '\xff');
  std::string full;
  for (char letter = 'a'; letter < 'a' + 12; ++letter)
    full += set({&letter, 1}, std::string(90, 'x'));
  const std::string hundred(100, 'x');
  const std::vector<Refused> tests = {
      {"nonsense", std::string(64, '\xff'), Refusal::stranger},
      {"HTTP", "GET / HTTP/1.1\r\n\r\n", Refusal::stranger},
      {"another number in the handshake", std::string("\0\1\2\3\4", 5), Refusal::stranger},
      {"magic before each request", "\xCE\xF7\x85\x3C\x03", Refusal::stranger},
      {"generation A's highest opcode and one", "\x09", Refusal::stranger},
      {"unknown opcode", validate() + "\x13", Refusal::unknown_opcode},
      {"second handshake", validate() + validate(), Refusal::unknown_opcode},
      {"key", validate() + get("123456789"), Refusal::key_bytes},
      {"key of 2^64-1", validate() + "\x03" + length, Refusal::key_bytes},
      {"value", validate() + set("k", std::string(101, 'x')), Refusal::value_bytes},
      {"value announced only", validate() + "\x01" + counted("k") + i64(101), Refusal::value_bytes},
      {"keys", validate() + multi_get(Keys{"1", "2", "3", "4"}), Refusal::keys_per_request},
      {"2^32 keys", validate() + "\x05" + i64(std::int64_t{1} << 32), Refusal::keys_per_request},
      {"-1 pairs", validate() + "\x0b" + length, Refusal::keys_per_request},
      {"request", validate() + multi_set(Pairs{{"1", hundred}, {"2", hundred}, {"3", hundred}}),
       Refusal::request_bytes},
      {"memory", validate() + full, Refusal::total_bytes},
      {"one reply beyond the backlog",
       validate() + append("k", hundred) + append("k", hundred) + multi_get(Keys{"k", "k"}),
       Refusal::backlog_bytes},
      {"add to text", validate() + set("k", "abc") + add("k", 1), Refusal::not_a_number},
      {"add to nothing", validate() + set("k", "") + add("k", 1), Refusal::not_a_number},
      {"add to 30 digits", validate() + set("k", std::string(30, '9')) + add("k", 1),
       Refusal::not_a_number},
      {"barrier on text", validate() + set("k", "abc") + barrier("k", 1), Refusal::not_a_number},
  };
  for (const Refused& test : tests) {
    Store store(limits);
    Party party(store.service);
    party.say(test.said);
    EXPECT_EQ(party.turn, Service::Turn::refused) << test.name;
    EXPECT_EQ(party.why, test.why) << test.name;
    EXPECT_FALSE(refusal_text(test.why, limits).empty());
    EXPECT_LE(store.service.ledger().used, limits.total_bytes) << test.name;
  }
}

TEST(Service, AppliesAMultiSetWholeOrNotAtAll) {
  Store store;
  Party party(store.service);
  Party other(store.service);
  const std::string request = multi_set(Pairs{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  party.say(validate() + request.substr(0, request.size() - 1));
  EXPECT_EQ(other.say(validate() + get_num_keys()), i64(0));
  party.say(request.substr(request.size() - 1));
  EXPECT_EQ(other.say(get_num_keys()), i64(3));
}

TEST(Service, StopsExecutingWhenMuchIsOwed) {
  Store store;
  Party party(store.service);
  const std::string value(1u << 20, 'x');
  std::string gets;
  for (int i = 0; i < 100; ++i) gets += get("k");
  party.say(validate() + set("k", value));
  std::size_t answered = party.say(gets).size() / (value.size() + 8);
  EXPECT_EQ(answered, 1u);
  while (party.turn == Service::Turn::paused) answered += party.say({}).size() / (value.size() + 8);
  EXPECT_EQ(answered, 100u);
}

TEST(Service, AKeyThatIsWatchedTellsTheSameWhateverItsSize) {
  Store store;
  Party watcher(store.service);
  Party other(store.service);
  other.say(validate());
  const std::string watch = byte(7) + counted("k");
  EXPECT_EQ(watcher.say(watch), byte(3));
  other.say(set("k", big('a')) + append("k", "+") + set("k", "small") + set("k", big('b')));
  EXPECT_EQ(watcher.heard(),
            byte(1) + counted("k") + counted("") + counted(big('a')) +                 //
                byte(0) + counted("k") + counted(big('a') + "+") + counted("small") +  //
                byte(0) + counted("k") + counted("small") + counted(big('b')));
}

TEST(Service, AReplyThatIsNotReadDoesNotMakeAppendCopyTheValue) {
  Store store;
  Party writer(store.service);
  const std::string value(1u << 20, 'x');
  writer.say(validate() + set("k", value));
  std::deque<Output> unread;
  for (int i = 0; i < 10; ++i) {
    Party reader(store.service);
    unread.emplace_back(store.service.ledger());
    store.service.take(reader, validate() + append("k", "+") + get("k"), unread.back(), reader.why);
  }
  EXPECT_LT(store.service.ledger().used, 2 * value.size());
  EXPECT_EQ(bytes(unread.front()), counted(value + "+"));
}

TEST(Service, ALargeMultiGetSharesSmallValues) {
  Store store;
  Party writer(store.service);
  const std::string value(10'000, 'x');
  writer.say(validate() + set("k", value));
  Party reader(store.service);
  Output unread(store.service.ledger());
  store.service.take(reader, validate() + multi_get(Keys(5'000, "k")), unread, reader.why);
  EXPECT_EQ(unread.size(), 5'000 * (sizeof(std::uint64_t) + value.size()));
  EXPECT_TRUE(unread.shrink());
  EXPECT_LT(store.service.ledger().used, 1u << 20);
  EXPECT_EQ(writer.say(get("k") + append("k", "+") + get("k")),
            counted(value) + counted(value + "+"));
}

TEST(Service, WatchersShareASmallMessage) {
  Store store;
  std::deque<Party> watchers;
  for (int i = 0; i < 100; ++i) watchers.emplace_back(store.service).say(byte(7) + counted("k"));
  Party writer(store.service);
  const std::string value(10'000, 'x');
  writer.say(validate() + set("k", value));
  const std::string told = byte(1) + counted("k") + counted("") + counted(value);
  const std::size_t before = store.service.ledger().used;
  for (Party& watcher : watchers) watcher.count();
  EXPECT_LT(store.service.ledger().used, before + watchers.size() * 1'000);
  for (Party& watcher : watchers) EXPECT_EQ(watcher.heard(), told);
}

TEST(Service, AnAttemptsWaitsDoNotMeetTheNextOnes) {
  Store store;
  Party old(store.service);
  old.say(validate() + wait(Keys{"queue"}));
  store.service.next_attempt(Clients::served);
  Party fresh(store.service);
  Party other(store.service);
  fresh.say(validate() + wait(Keys{"queue"}));
  other.say(validate() + queue_push("queue", "v"));
  EXPECT_EQ(old.heard(), "");
  EXPECT_EQ(fresh.heard(), byte(0));
}

TEST(Service, GivesAllMemoryBack) {
  Store store;
  {
    Party party(store.service);
    party.say(validate());
    for (const Case& test : conversations()) party.say(test.said);
    for (int i = 0; i < 5000; ++i) party.say(queue_push("queue", "v") + set(std::to_string(i), ""));
    party.say(wait(Keys{"never", "ever"}) + set("half", "a request").substr(0, 9));
    EXPECT_GT(store.service.ledger().used, 0u);
  }
  store.service.next_attempt(Clients::served);
  while (store.service.tidy()) {
  }
  EXPECT_EQ(store.service.ledger().used, 0u);
}

}  // namespace
}  // namespace toprun::store
