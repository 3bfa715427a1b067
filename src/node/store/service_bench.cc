// What one request costs without its sockets. A request of 100,000 keys is executed in one piece:
// no other client is answered meanwhile, so it must stay well below 50 ms.
#include <benchmark/benchmark.h>

#include "node/store/client_testing.h"
#include "node/store/service.h"

namespace toprun::store {
namespace {

class Party final : public Session {
 public:
  explicit Party(Service& service)
      : Session(service.attempt()), service_(service), replies_(service.ledger()) {
    say(requests::validate());
  }

  void deliver(std::string_view reply) override { replies_.put(reply); }
  void deliver(const Output& message) override { replies_.put(message); }
  void say(std::string_view bytes) {
    Refusal why = Refusal::none;
    service_.take(*this, bytes, replies_, why);
    replies_.clear();
  }

 private:
  Service& service_;
  Output replies_;
};

struct Names {
  explicit Names(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) texts.push_back("/key/" + std::to_string(i));
    for (const std::string_view name : texts) pairs.emplace_back(name, "v");
  }
  std::vector<std::string> texts;
  std::vector<requests::KeyAndValue> pairs;
};

constexpr std::size_t many = 100'000;

void set_get(benchmark::State& state) {
  Service service(Clients::served);
  Party party(service);
  const std::string value(64, 'x');
  const std::string request = requests::set("/key", value) + requests::get("/key");
  for (auto _ : state) party.say(request);
}
BENCHMARK(set_get);

void multi_set_of_many(benchmark::State& state) {
  const Names names(many);
  const std::string request = requests::multi_set(names.pairs);
  for (auto _ : state) {
    state.PauseTiming();
    Service service(Clients::served);
    Party party(service);
    state.ResumeTiming();
    party.say(request);
    state.PauseTiming();
    service.next_attempt(Clients::served);
    while (service.tidy()) {
    }
    state.ResumeTiming();
  }
}
BENCHMARK(multi_set_of_many)->Unit(benchmark::kMillisecond);

void multi_get_of_many(benchmark::State& state) {
  const Names names(many);
  Service service(Clients::served);
  Party party(service);
  party.say(requests::multi_set(names.pairs));
  const std::string request = requests::multi_get(names.texts);
  for (auto _ : state) party.say(request);
}
BENCHMARK(multi_get_of_many)->Unit(benchmark::kMillisecond);

void wait_for_many(benchmark::State& state) {
  const Names names(many);
  Service service(Clients::served);
  Party party(service);
  const std::string request = requests::wait(names.texts) + requests::cancel_wait();
  for (auto _ : state) party.say(request);
}
BENCHMARK(wait_for_many)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toprun::store
