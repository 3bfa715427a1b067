#include "node/agent/member.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "base/os/console.h"
#include "base/os/timer.h"
#include "base/os/uncaught.h"
#include "base/text/text.h"
#include "node/agent/ending.h"
#include "node/agent/received_signals.h"
#include "node/agent/streams.h"
#include "node/output/console.h"
#include "node/prepare/probes/node_check.h"
#include "node/worker/exit_evidence.h"
#include "node/worker/keeper.h"

namespace toprun::agent {
namespace asio = boost::asio;
using model::Loss;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

// How long folders and files may take before ranks are started, and what is done with them after
// the run; after that a file system counts as one that hangs.
constexpr std::chrono::seconds files_limit{20};
constexpr std::chrono::seconds clearing_limit{2};
constexpr std::chrono::seconds proof_limit{5};

run::SignalMeaning meaning_of(int signal, const plan::Options& options) {
  if (asks_to_grow(signal, options)) return run::SignalMeaning::grow;
  return is_notice(signal, options) ? run::SignalMeaning::notice : run::SignalMeaning::end;
}

// Agents that a user started by hand print to separate places; an engine gathers its tasks'
// output, and there the root's last line is enough.
bool has_own_terminal(const plan::Job& job) {
  using enum engines::EngineKind;
  if (job.place.engine == kubernetes) return true;  // a pod's log
  return job.place.engine == manual && !job.environment.has("SLURM_STEP_ID");
}

// "n0 (10.77.0.1)"; the address alone if the engine does not say on which node the root agent runs.
std::string root_text(const engines::Allocation& place, const hosts::Address& address) {
  const auto root =
      place.root_node ? static_cast<std::size_t>(*place.root_node) : place.nodes.size();
  if (root >= place.nodes.size()) return address.text();
  return fmt::format("{} ({})", place.nodes[root].name, address.text());
}

run::PartSettings settings_of(const Services& session,
                              const std::optional<hosts::Address>& root_address) {
  const plan::Job& job = session.job;
  run::PartSettings settings;
  settings.host = job.place.node_name;
  settings.root = root_address ? root_text(job.place, *root_address) : "this host";
  settings.is_own = !root_address;
  settings.elastic = job.is_elastic();
  settings.is_replaced =
      job.place.engine == engines::EngineKind::kubernetes && job.options.max_restarts > 0;
  settings.prepares_workplace = session.prepares_workplace();
  settings.has_own_terminal = root_address && has_own_terminal(job);
  settings.root_speaks = root_address && (job.place.started_together || job.place.root_speaks);
  settings.lost_return = job.place.lost_return;
  settings.unfit = session.unfit;
  settings.stop_grace = job.grace.stop;
  settings.fence_grace = fence_grace;
  return settings;
}

// The rank in the worker's environment, which is the rank that the program uses.
int rank_ordered_to(const worker::WorkerPlan& worker) {
  return static_cast<int>(parse_int(worker.environment.get("RANK").value_or("")).value_or(-1));
}

// A program may pass MASTER_ADDR on to other hosts. A host's own name often leads to loopback
// (Debian's 127.0.1.1), so that those beside the root reached it there.
void forget_loopback(std::vector<std::string>& addresses) {
  const auto is_loopback = [](const std::string& text) {
    const auto address = hosts::Address::parse(text);
    return address && address->is_loopback();
  };
  if (!std::ranges::all_of(addresses, is_loopback)) std::erase_if(addresses, is_loopback);
}

}  // namespace

Member::Member(Services& session, std::shared_ptr<model::Link> root,
               std::optional<hosts::Address> root_address, std::string root_agent)
    : session_(session),
      root_(std::move(root)),
      root_address_(root_address),
      root_agent_(std::move(root_agent)),
      inbox_(session.io),
      part_(settings_of(session, root_address_)) {
  root_->on_message = [this](const json& message) { heard(message); };
  root_->on_lost = [this](Loss loss) { push(run::RootLost{std::move(loss)}); };
  // A root that has finished with a member sends Finish first.
  root_->on_closed = [this] {
    push(run::RootLost{{Loss::Kind::closed, "it closed the connection"}});
  };
  session_.on_signal = [this](int signal, bool for_all) {
    push(run::GotSignal{signal, meaning_of(signal, session_.job.options), for_all,
                        SteadyClock::now()});
  };
  session_.on_orphaned = [this](std::string why, milliseconds grace) {
    push(run::KeeperLost{std::move(why), grace});
  };
  session_.on_resize = [this] {
    if (workers_) workers_->resize();
  };
  if (session_.prefetch) {
    session_.prefetch->on_read = [this] { report_prefetch(); };
  }
  session_.on_pause = [this](bool paused) {
    if (workers_) workers_->pause(paused);
  };
}

void Member::heard(const json& message) {
  auto reported = model::to_node_in(message);
  if (!reported) return push(run::RootLost{{Loss::Kind::malformed, reported.error().line()}});
  if (*reported) push(run::MessageReceived{**std::move(reported)});
}

asio::awaitable<int> Member::run() {
  worker::tell_keeper_of_joining();
  carry_out();
  while (!part_.over()) {
    const auto wake_at = part_.wake_at();
    auto event = co_await inbox_.next(wake_at);
    const auto now = SteadyClock::now();
    if (event) {
      part_.on(*std::move(event), now);
    } else {
      part_.pass(now);
    }
    carry_out();
  }
  session_.on_signal = {};
  session_.on_orphaned = {};
  session_.on_pause = {};
  session_.on_resize = {};
  if (session_.prefetch) session_.prefetch->on_read = {};
  root_->on_message = {};
  root_->on_lost = {};
  root_->on_closed = {};
  co_return part_.exit_code();
}

asio::awaitable<void> Member::clear_up() {
  if (part_.exit_code() != 0) co_await pass_on_the_error_file();
  std::function<bool()> remove = [logs = std::exchange(logs_, nullptr)]() mutable {
    logs.reset();
    return true;
  };
  // The keeper tries once more to remove files on a file system that hangs now.
  co_await session_.pool.answer<bool>(std::move(remove), clearing_limit);
}

void Member::carry_out() {
  for (auto actions = part_.take(); !actions.empty(); actions = part_.take()) {
    for (const run::PartAction& action : actions) {
      std::visit([this](const auto& what) { act(what); }, action);
    }
  }
}

void Member::act(const run::Report& report) {
  root_->send(model::to_wire(report.message));
}

// The workers of the previous attempt are gone, and none of their clients may remain.
void Member::act(const run::FindStore& find) {
  workers_.reset();
  const bool here = find.assignment->store->agent == session_.agent_id;
  const int attempt = find.assignment->attempt;
  session_.renew_store(here, find.assignment->world_size,
                       {[this, assignment = find.assignment] { locate_store(*assignment); },
                        [this, attempt] { ranks_have_arrived(attempt); },
                        [this, attempt](const hang::Alarm& alarm) {
                          push(run::RankAlarmed{attempt, alarm});
                        }});
}

void Member::ranks_have_arrived(int attempt) {
  if (part_.over() || part_.assignment().attempt != attempt) return;
  report_arrivals(attempt);
  if (session_.prefetch) session_.prefetch->ranks_have_imported();
}

void Member::locate_store(const model::Assignment& assignment) {
  model::StoreAddress store = *assignment.store;
  const bool here = store.agent == session_.agent_id;
  const bool beside = session_.job.reach() == hosts::Reach::this_host;
  if (!store.exact.empty() || beside || (here && !session_.job.several_processes())) {
    return push(run::StoreFound{assignment.attempt,
                                store.exact.empty() ? hosts::loopback().text() : store.exact});
  }
  forget_loopback(store.addresses);
  // The way that reached the root leads to the store beside it: one socket listens for both, and
  // thousands of probes would be a third of all that the root does.
  const bool is_known = root_address_ && store.agent == root_agent_;
  if (is_known && (!root_address_->is_loopback() || store.addresses.empty())) {
    if (root_address_->is_v4()) {
      return push(run::StoreFound{assignment.attempt, root_address_->text()});
    }
    store.addresses.insert(store.addresses.begin(), root_address_->text());
  }
  std::ranges::stable_partition(store.addresses, [](const std::string& address) {
    return address.find(':') == std::string::npos;  // IPv4 first: not every script takes IPv6
  });
  asio::co_spawn(session_.io, find_store(assignment.attempt, std::move(store)), end_of_task);
}

asio::awaitable<void> Member::find_store(int attempt, model::StoreAddress store) {
  const auto address = co_await session_.find_store(std::move(store));
  if (!address) {
    push(run::StoreFound{attempt, std::unexpected(address.error())});
    co_return;
  }
  if (!address->is_v4()) {
    say(fmt::format("rank 0's node is reachable by IPv6 only: MASTER_ADDR is {}", address->text()));
  }
  push(run::StoreFound{attempt, address->text()});
}

void Member::act(const run::AwaitWorkplace& await) {
  asio::co_spawn(session_.io, await_workplace(await.attempt), end_of_task);
}

asio::awaitable<void> Member::await_workplace(int attempt) {
  const auto checked = co_await check_node();
  if (!checked) {
    push(run::WorkplaceReady{attempt, checked, model::Failing::taking_part});
    co_return;
  }
  Result<void> outcome = co_await await_copy(attempt);
  if (outcome && session_.container) outcome = co_await session_.container->up();
  if (outcome && session_.warm && session_.container) {
    co_await session_.warm->settled_in(session_.container->shim(), session_.container->workplace());
  } else if (outcome && session_.warm) {
    const prepare::Workplace place = workplace();
    co_await session_.warm->settled(place);
  }
  push(run::WorkplaceReady{attempt, std::move(outcome)});
}

struct Member::Check {
  explicit Check(asio::io_context& io) : over(io, SteadyTime::max()) {}
  Timer over;
  std::optional<Result<void>> outcome;
};

// One check at a time, because two may disturb each other: an attempt that begins while the check
// for an earlier one still runs takes that check's outcome.
asio::awaitable<Result<void>> Member::check_node() {
  if (session_.job.options.node_check.empty()) co_return Result<void>();
  if (!check_ || check_->outcome) begin_check();
  const auto check = check_;
  if (!check->outcome) co_await check->over.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return *check->outcome;
}

void Member::begin_check() {
  constexpr auto limit = probes::node_check_limit + probes::node_check_margin;
  check_ = std::make_shared<Check>(session_.io);
  session_.pool.run<Result<void>>(
      limit,
      [job = session_.shared_job] {
        return probes::check_node(job->options.node_check, job->environment);
      },
      [check = check_, limit](Pool::Answer<Result<void>> answer) {
        check->outcome = answer ? *std::move(answer)
                                : fail("--node-check", Pool::words_for(answer.error(), limit));
        check->over.expires_at(SteadyTime::min());
      });
}

// The root's own node has no copy.
asio::awaitable<Result<void>> Member::await_copy(int attempt) {
  const SharedOptional<model::StagePart> part = part_.assignment().stage;
  if (!session_.staging || !part || part->sources.empty()) co_return Result<void>();
  const auto staged = co_await session_.staging->settled(*part);
  const bool is_current = part_.assignment().attempt == attempt;
  auto news = staged && is_current ? session_.staging->take_news() : std::nullopt;
  if (news) push(run::CopySettled{attempt, *std::move(news)});
  co_return staged;
}

prepare::Workplace Member::workplace() const {
  if (session_.container) return session_.container->workplace();
  prepare::Workplace place = prepare::on_the_host(session_.job);
  if (session_.staging) session_.staging->enter(place);
  return place;
}

void Member::act(const run::StartWorkers& requested) {
  asio::co_spawn(session_.io, begin(requested), end_of_task);
}

asio::awaitable<void> Member::begin(run::StartWorkers requested) {
  auto started = co_await start(requested);
  if (started && session_.paused) workers_->pause(true);
  const bool watches =
      started && session_.job.options.require_rdma.value && !proof_.nccl_logs.empty();
  const bool runs = started.has_value();
  push(run::WorkersStarted{std::move(started)});
  if (runs && session_.prefetch) {
    session_.prefetch->ranks_have_started();
    report_prefetch();
  }
  if (watches) {
    asio::co_spawn(session_.io, watch_network(requested.assignment->attempt), end_of_task);
  }
  if (runs && session_.job.options.hang_timeout) {
    asio::co_spawn(session_.io, watch_progress(requested.assignment->attempt), end_of_task);
  }
  if (runs && requested.assignment->store->agent == session_.agent_id) {
    asio::co_spawn(session_.io, watch_arrivals(requested.assignment->attempt), end_of_task);
  }
}

asio::awaitable<Result<WorkPlan>> Member::plan(run::StartWorkers requested) {
  const plan::Job& job = session_.job;
  WorkRequest request{session_.shared_job,
                      workplace(),
                      *requested.assignment,
                      std::move(requested.master_addr),
                      session_.route,
                      session_.network,
                      logs_,
                      {},
                      {}};
  if (session_.container) request.container_folder = session_.container->folder();
  if (!console_) request.node_log = node_log_path(job.options, job.place.node_name);
  std::function<Result<WorkPlan>()> work = [request = std::move(request)] {
    return plan_work(request);
  };
  auto planned = co_await session_.pool.answer<Result<WorkPlan>>(std::move(work), files_limit);
  if (planned) co_return *std::move(planned);
  co_return fail(
      fmt::format("{}: cannot prepare the folders and files of its ranks", job.place.node_name),
      Pool::words_for(planned.error(), files_limit),
      "check which file system hangs: that of the program, of --log-dir, of TMPDIR or of /tmp");
}

asio::awaitable<Result<model::Started>> Member::start(run::StartWorkers requested) {
  const plan::Job& job = session_.job;
  auto planned = co_await plan(requested);
  if (!planned) co_return std::unexpected(std::move(planned.error()));
  logs_ = std::move(planned->logs);
  plans_ = std::move(planned->workers);
  proof_ = std::move(planned->proof);
  exits_.clear();
  if (!console_) choose_console(requested.assignment, std::move(planned->node_log));
  if (relay_) {  // a job that grows has more relays than it began with
    relay_->set_credit(output::Relay::credit_among(
        static_cast<std::size_t>(requested.assignment->group_world_size)));
  }
  planned->output.console = console_;
  workers_ = std::make_unique<worker::Workers>(session_.io, session_.children(),
                                               job.place.node_name, plans_,
                                               worker::Workers::Observer{
                                                   [this](const model::WorkerExit& exit) {
                                                     // An engine signals rank and agent alike.
                                                     session_.take_signals();
                                                     exits_.push_back(exit);
                                                     push(run::WorkerEnded{exit});
                                                   },
                                                   [this] { conclude(); },
                                               },
                                               std::move(planned->output));
  Result<void> started;
  if (session_.container) {
    started = co_await workers_->start_beside(session_.pool);
  } else {
    started = workers_->start();
  }
  if (!started) co_return std::unexpected(started.error());
  if (!proof_.nccl_logs.empty()) count_network(requested.assignment->attempt);
  model::Started news;
  if (!plans_.empty()) news.first_rank = rank_ordered_to(plans_.front());
  // Each rank in place has a separate folder.
  const bool in_place = job.place.stance == engines::Stance::in_place;
  if (logs_->kept() && !in_place) news.logs = logs_->folder();
  news.pids = workers_->pids();
  if (session_.warm) news.warmed = session_.warm->take_import_time();
  co_return news;
}

void Member::choose_console(const model::Assignment& assignment, Fd node_log) {
  console_ = session_.console;
  if (root_address_ && session_.job.options.gather_output) {
    const auto deliver = [root = root_](bool is_err, std::string lines) {
      root->send(model::to_wire(
          model::ToRoot{std::nullopt, model::OutputLines{is_err, std::move(lines)}}));
    };
    relay_ = output::Relay::create(
        session_.io, deliver, assignment.colours,
        output::Relay::credit_among(static_cast<std::size_t>(assignment.group_world_size)));
    console_ = relay_;
  }
  if (!node_log) return;
  console_ = std::make_shared<output::CopyingConsole>(
      session_.io, console_, std::move(node_log),
      *node_log_path(session_.job.options, session_.job.place.node_name));
}

void Member::conclude() {
  const store::Server::ArrivalCounts came = session_.arrival_counts();
  const model::Assignment& part = part_.assignment();
  if (came.joined > 0 && std::cmp_less(came.met, part.world_size)) report_arrivals(part.attempt);
  if (proof_.nccl_logs.empty()) return push(run::WorkersGone{last_words()});
  asio::co_spawn(session_.io, conclude_with_proof(), end_of_task);
}

asio::awaitable<void> Member::conclude_with_proof() {
  model::Gone gone = last_words();
  std::function<fabric::NetworkUse()> work = [proof = std::move(proof_),
                                              network = session_.network] {
    return probes::network_use(proof, *network);
  };
  auto use = co_await session_.pool.answer<fabric::NetworkUse>(std::move(work), proof_limit);
  if (use) gone.network = *std::move(use);
  push(run::WorkersGone{std::move(gone)});
}

// Once the ranks run: the root takes it for their attempt's.
void Member::report_prefetch() {
  if (!workers_) return;
  const auto took = session_.prefetch->take_time();
  if (!took) return;
  root_->send(model::to_wire(model::ToRoot{part_.assignment().attempt, model::Prefetched{*took}}));
}

void Member::act(const run::StopWorkers& stop) {
  if (!make_unread_tell()) return workers_->stop(stop.grace);
  asio::co_spawn(session_.io, stop_later(part_.assignment().attempt, stop.grace), end_of_task);
}

void Member::act(const run::InterruptWorkers& interrupt) {
  workers_->forward(interrupt.signal);
  workers_->pause(false);  // a stopped process could not act on it
}

void Member::act(const run::NotifyWorkers& notify) {
  workers_->notify(notify.signal);
}

void Member::act(const run::CreditOutput& credit) {
  if (relay_) relay_->sent(credit.bytes);
}

void Member::act(const run::CloseOutput&) {
  if (relay_) relay_->close();
}

void Member::act(const run::TellUser& tell) {
  say(tell.text);
}

void Member::act(const run::ShowSummary& show) {
  say_block(show.summary);
}

void Member::act(const run::TellEndWithoutRoot&) {
  say_block(summary(session_.job, course_without_root()));
}

void Member::act(const run::TellKeeperOfSilence&) {
  worker::tell_keeper_of_silence();
}

// The facts that one node has about a run.
run::Course Member::course_without_root() const {
  const model::Assignment& assignment = part_.assignment();
  run::AttemptCourse attempt;
  attempt.number = assignment.attempt;
  attempt.started = session_.began;
  attempt.ended = std::chrono::system_clock::now();
  attempt.verdict.exit_code = exit_failure;
  attempt.verdict.kind = model::CauseKind::agent_lost;
  attempt.verdict.node = root_address_ ? root_address_->text() : "";
  attempt.verdict.message = "lost the root agent";
  if (workers_) {
    attempt.nodes.push_back({session_.job.place.node_name, assignment.group_rank,
                             assignment.first_rank, assignment.nproc, assignment.location});
  }
  run::Course course;
  course.started = attempt.started;
  course.ended = *attempt.ended;
  course.restarts = assignment.restarts;
  course.verdict = attempt.verdict;
  course.attempts.push_back(std::move(attempt));
  return course;
}

// As in torchrun: the process that started this one, perhaps another launcher, may have named a
// file.
asio::awaitable<void> Member::pass_on_the_error_file() const {
  const auto target = session_.job.environment.non_empty("TORCHELASTIC_ERROR_FILE");
  const model::WorkerExit* const cause = model::root_cause(exits_);
  if (!target || cause == nullptr || !cause->error_file) co_return;
  const auto worker = std::ranges::find(plans_, cause->local_rank, &worker::WorkerPlan::local_rank);
  std::function<Result<void>()> copy = [from = worker->error_file, exit = *cause, to = *target] {
    return worker::copy_error_file(from, exit, to);
  };
  const auto copied = co_await session_.pool.answer<Result<void>>(std::move(copy), clearing_limit);
  if (!copied) say(fmt::format("cannot write {}: its file system hangs", *target));
  if (copied && !*copied) say(copied->error().line());
}

}  // namespace toprun::agent
