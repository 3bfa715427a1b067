#include "node/agent/root.h"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "base/net/address.h"
#include "base/os/console.h"
#include "base/os/uncaught.h"
#include "base/text/text.h"
#include "base/text/version.h"
#include "engines/engine.h"
#include "engines/queue.h"
#include "node/agent/ending.h"
#include "node/link/channels.h"
#include "node/plan/arrange.h"
#include "node/prepare/probes/location_probes.h"
#include "node/prepare/probes/preflight.h"
#include "observe/report/report.h"
#include "observe/web/address_file.h"

namespace toprun::agent {
namespace asio = boost::asio;
using model::Join;
using model::Loss;
using nlohmann::json;
using std::chrono::milliseconds;
namespace {

run::Moment now() {
  return {SteadyClock::now(), std::chrono::system_clock::now()};
}

// `own`: the root's own node, whose adapters stand for those of all nodes; null: unknown.
run::Arranged arranged(const plan::Job& job, const run::Arrange& request,
                       const fabric::NodeFabric* own) {
  auto map = probes::locate(request.members, job);
  if (!map) return {request.attempt, std::unexpected(map.error()), {}};
  if (own != nullptr) {
    topology::add_host_link(*map, fabric::chosen_gbps(own->devices, own->choice));
  }
  auto spares = plan::spare_members(request, job.options, *map);
  if (!spares) return {request.attempt, std::unexpected(std::move(spares.error())), {}};
  std::vector<Join> members;
  for (std::size_t i = 0; i < request.members.size(); ++i) {
    if (!std::ranges::binary_search(*spares, i)) members.push_back(request.members[i]);
  }
  std::vector<std::string> warnings;
  if (job.options.preflight && request.attempt == 0) {
    warnings = probes::preflight_warnings(members);
  }
  const bool are_listed = job.place.engine == engines::EngineKind::ssh;
  return {request.attempt, plan::arrange(members, job.options, *map, request.before, are_listed),
          std::move(warnings), *std::move(spares)};
}

// Closes the link and waits until the root has received all messages.
asio::awaitable<void> part(asio::io_context& io, std::shared_ptr<model::Link> link) {
  const auto closed = std::make_shared<Timer>(io, run::farewell_timeout);
  link->on_closed = [closed] { closed->cancel(); };
  link->close();
  co_await closed->async_wait(use_nothrow_awaitable);
}

}  // namespace

Root::Root(Services& session, link::Secret secret, std::string stage_key)
    : session_(session),
      job_(session.shared_job),
      coordinator_(settings_of(session.job, session.console->shows_colours(false),
                               session.leaves_endpoint, std::move(stage_key)),
                   now()),
      presence_(session.pool, session.job),
      report_(session.pool, session.job.options.report,
              engines::requeues(session.job.environment) > 0),
      notifier_(session.pool, session.job.options.notify, session.job.environment),
      picture_(session.pool, session.job, coordinator_,
               [this](const std::string& agent, const model::ToNode& message) {
                 act(run::Send{agent, message});
               }),
      socket_(session.pool, session.job, coordinator_, picture_,
              [this](int question) { happened(run::PlacesAsked{question}); }),
      timer_(session.io),
      stage_(session.io, SteadyTime::max()) {
  if (session.terminal) {
    launch_line_.emplace(session.io, session.job, session.terminal, [this] { return launch(); });
  }
  if (session.can_be_asked()) socket_.open();
  carry_out();
  if (job_->options.web) page_ = publish::JobPage::open(session_.io, *job_, picture_);
  if (page_ && job_->options.node_log) keep_address(*job_->options.node_log);
  session_.become_root(
      std::move(secret),
      {[this](const Join& join) {
         auto refused = coordinator_.admit(join);
         carry_out();
         return refused;
       },
       [this](const Join& join, std::shared_ptr<model::Link> link, std::string theirs,
              std::string ours) {
         note_version(join);
         add(join, std::move(link), {join.agent, std::move(theirs), std::move(ours)});
       }});
}

// Where `toprun status` finds it.
void Root::keep_address(const std::string& folder) {
  constexpr std::chrono::seconds limit{60};
  session_.pool.run<bool>(
      limit,
      [folder, address = web::PageAddress{hosts::host_name(), page_->url()}] {
        return web::write_address(folder, address).has_value();
      },
      [](Pool::Answer<bool>) {});
}

void Root::note_version(const Join& join) {
  const bool is_ours = join.version.empty() || join.version == version;
  if (is_ours || !noted_versions_.insert(join.version).second) return;
  std::string line = fmt::format("{} runs toprun {}, and the root's node runs toprun {}", join.host,
                                 join.version, version);
  for (const Feature& feature : features) {
    if (std::ranges::find(join.features, feature.name) != join.features.end()) continue;
    line += fmt::format("; {} cannot {}", join.host, feature.lacking);
  }
  say(line);
}

std::shared_ptr<model::Link> Root::admit_own(const Join& join) {
  auto [mine, its] = link::local_link(session_.io);
  coordinator_.admit(join);
  add(join, mine, {join.agent, "", ""});
  return its;
}

void Root::add(const Join& join, std::shared_ptr<model::Link> link, run::Came came) {
  const std::string agent = join.agent;
  link->on_message = [this, agent](const json& message) { heard(agent, message); };
  link->on_lost = [this, agent](Loss loss) { happened(run::Left{agent, std::move(loss)}); };
  link->on_closed = [this, agent] { happened(run::Left{agent, std::nullopt}); };
  links_[agent] = std::move(link);
  happened(came);
}

// A malformed message ends its connection, because the member's other messages are not reliable
// either.
void Root::heard(const std::string& agent, const json& message) {
  auto said = model::to_root_in(message);
  if (!said) {
    const run::Node* const node = coordinator_.roster().find(agent);
    say((node == nullptr ? agent : node->join.host) + ": " + said.error().line());
    act(run::Close{agent});
    return happened(run::Left{agent, Loss{Loss::Kind::malformed, said.error().line()}});
  }
  if (!*said || picture_.heard(agent, **said)) return;
  happened(run::Said{agent, **std::move(said)});
}

void Root::happened(run::Event event) {
  if (const auto* left = std::get_if<run::Left>(&event)) {
    links_.erase(left->agent);
    if (left->loss) picture_.lost(left->agent);
  }
  coordinator_.on(std::move(event), now());
  carry_out();
}

void Root::carry_out() {
  for (auto actions = coordinator_.take(); !actions.empty(); actions = coordinator_.take()) {
    for (run::Action& action : actions) std::visit([this](auto& what) { act(what); }, action);
  }
  if (launch_line_) launch_line_->changed(coordinator_.is_launching());
  picture_.moved_on();
  wait();
}

// How many ranks have come is known at once where the store is in this process.
std::optional<model::Launch> Root::launch() const {
  if (!coordinator_.is_launching() || session_.paused) return std::nullopt;
  model::Launch launch = coordinator_.launch(SteadyClock::now());
  const store::Server::ArrivalCounts came = session_.arrival_counts();
  launch.joined = came.joined;
  launch.met = came.met;
  return launch;
}

void Root::wait() {
  auto wake_at = coordinator_.wake_at();
  const bool gathering = is_gathering();
  if (gathering) {
    wake_at = std::min<SteadyTime>(*wake_at, SteadyClock::now() + probes::between_presence_looks);
  }
  if (!wake_at) {
    timer_.cancel();
    waits_until_.reset();
    return;
  }
  // Too early does no harm, and nearly every message changes the time.
  if (waits_until_ && *waits_until_ <= *wake_at) return;
  waits_until_ = wake_at;
  timer_.expires_at(*wake_at);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    waits_until_.reset();
    look_for_the_absent();
    coordinator_.pass(now());
    carry_out();
  });
}

// If an engine reports the processes that have ended, the root does not wait for them.
void Root::look_for_the_absent() {
  const std::vector<std::string> awaited = coordinator_.awaited();
  if (awaited.empty()) return;
  presence_.look_if_due();
  const auto ended = std::ranges::find_if(
      awaited, [this](const std::string& node) { return presence_.has_ended(node); });
  if (ended != awaited.end()) coordinator_.on(run::NodeEnded{*ended}, now());
}

asio::awaitable<live::Answer> Root::answer(live::Question question) {
  return socket_.answer(std::move(question));
}

asio::awaitable<run::Course> Root::run() {
  while (coordinator_.stage() < run::Stage::telling)
    co_await stage_.async_wait(use_nothrow_awaitable);
  co_return coordinator_.course();
}

asio::awaitable<void> Root::tell_the_end(run::Course record) {
  if (!record.attempts.empty()) {
    tell_the_failure(session_.job, record.attempts.back(), Follows::nothing);
  }
  model::RunRecord last = publish::record_of(session_.job, record);
  const std::string line = report::last_line(last);
  picture_.ended(line);
  notify(snapshot::Happening::ended);
  co_await report_.finish(std::move(last));
  co_await picture_.finish();
  if (page_) co_await page_->finish();
  co_await notifier_.finish();
  say_block(line);
}

asio::awaitable<void> Root::farewell() {
  happened(run::EndReported{summary(session_.job, coordinator_.course())});
  while (coordinator_.stage() != run::Stage::over)
    co_await stage_.async_wait(use_nothrow_awaitable);
}

void Root::act(const run::Send& send) {
  const auto link = links_.find(send.agent);
  if (link != links_.end()) link->second->send(model::to_wire(send.message));
}

void Root::act(const run::Close& close) {
  const auto link = links_.find(close.agent);
  if (link != links_.end()) link->second->close();
}

void Root::act(const run::Say& what) {
  say(what.text);
  picture_.reported(what.text);
}

void Root::act(run::Arrange& request) {
  const bool reads = job_->locates() || !job_->options.order_file.empty();
  if (!reads) {  // then nothing blocks
    return asio::post(session_.io, [this, request = std::move(request)] {
      happened(arranged(*job_, request, session_.network.get()));
    });
  }
  const milliseconds limit = coordinator_.settings().arrange_limit;
  const int attempt = request.attempt;
  session_.pool.run<run::Arranged>(
      limit,
      [job = job_, request = std::move(request), own = session_.network] {
        return arranged(*job, request, own.get());
      },
      [this, limit, attempt](Pool::Answer<run::Arranged> answer) {
        if (answer) return happened(*std::move(answer));
        if (answer.error() == Pool::NoAnswer::late) return;  // the coordinator has its own limit
        happened(run::Arranged{
            attempt,
            fail("cannot compute the ranks' order", Pool::words_for(answer.error(), limit),
                 "find the command or file system that hangs"),
            {}});
      });
}

void Root::act(run::Show& show) {
  const std::size_t bytes = show.output.lines.size();
  const auto found = links_.find(show.agent);
  if (found == links_.end()) return;
  const auto taken = [link = std::weak_ptr(found->second), bytes] {
    if (const auto open = link.lock()) open->send(model::to_wire(model::Taken{bytes}));
  };
  session_.show(show.host, show.output.is_err, std::move(show.output.lines), taken);
}

void Root::notify(snapshot::Happening happening) {
  if (notifier_.has_targets()) notifier_.tell(picture_.notice(happening));
}

void Root::act(const run::TellHang&) {
  const model::Hang& hang = *coordinator_.course().attempts.back().hang;
  say_block(report::hang_text(hang, session_.job.options.on_hang == run::OnHang::report
                                        ? "the job goes on (--on-hang report)"
                                        : ""));
  picture_.reported(model::headline(hang));
  notify(snapshot::Happening::hangs);
}

void Root::act(const run::TellPlaces& tell) {
  socket_.tell(tell.questions, tell.places);
}

void Root::act(const run::TellFailure& tell) {
  const run::AttemptCourse& attempt = coordinator_.course().attempt(tell.attempt);
  tell_the_failure(session_.job, attempt, Follows::another_attempt);
  if (const auto cause = publish::cause_in(attempt.verdict))
    picture_.reported(model::sentence(*cause));
  notify(snapshot::Happening::restarts);
}

void Root::act(const run::KeepRecord&) {
  if (!session_.job.options.report) return;
  model::RunRecord record = publish::record_of(session_.job, coordinator_.course());
  record.running_at = std::chrono::system_clock::now();
  record.spares = coordinator_.spares();
  record.gathering = coordinator_.gathering();
  report_.keep(std::move(record));
}

void Root::act(const run::AskEngine&) {
  session_.pool.run<run::EngineAnswered>(
      run::engine_limit, [job = job_] { return why_stopped(job->environment); },
      [this](Pool::Answer<run::EngineAnswered> reported) {
        happened(std::move(reported).value_or(run::EngineAnswered{}));
      });
}

void Root::act(const run::TellEnd&) {
  stage_.cancel();
}

void Root::act(const run::Over&) {
  stage_.cancel();
}

asio::awaitable<int> lead(Services& services, Root& root, Member& member) {
  // The member runs beside the root until the root tells it, as all others, to finish.
  asio::co_spawn(services.io, member.run(),
                 [](const std::exception_ptr& error, int) { end_of_task(error); });
  const run::Course record = co_await root.run();
  // The output of other nodes' workers (--gather-output) comes before the run's last line.
  [[maybe_unused]] const bool all_shown = co_await services.flushed();
  // This comes first: an engine may end all processes as soon as the first has ended.
  co_await root.tell_the_end(record);
  services.ended_with = record.verdict.exit_code;
  co_await root.farewell();
  co_await member.clear_up();
  if (services.container) co_await services.container->end();
  co_return record.verdict.exit_code;
}

asio::awaitable<int> follow(Services& services, Member& member, std::shared_ptr<model::Link> link) {
  const int exit_code = co_await member.run();
  co_await member.clear_up();
  if (services.container) co_await services.container->end();
  co_await part(services.io, std::move(link));
  co_return exit_code;
}

}  // namespace toprun::agent
