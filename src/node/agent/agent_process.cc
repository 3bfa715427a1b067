#include "node/agent/agent_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include <boost/asio/co_spawn.hpp>

#include "base/net/resolve.h"
#include "base/os/console.h"
#include "base/os/files.h"
#include "base/os/signals.h"
#include "base/os/timer.h"
#include "base/os/trust.h"
#include "base/os/uncaught.h"
#include "base/text/clock.h"
#include "base/text/text.h"
#include "engines/engine.h"
#include "node/agent/member.h"
#include "node/agent/node_survey.h"
#include "node/agent/root.h"
#include "node/agent/session.h"
#include "node/agent/workplan.h"
#include "node/link/dial.h"
#include "node/prepare/probes/location_probes.h"
#include "node/prepare/probes/network_proof.h"
#include "node/prepare/probes/presence_watch.h"
#include "node/worker/keeper.h"

namespace toprun::agent {
namespace asio = boost::asio;
using link::Secret;
namespace {

// Munge's own library waits about 10 s for a munged that does not answer.
constexpr std::chrono::seconds secret_limit{15};
constexpr std::chrono::seconds end_step_limit{10};
constexpr std::chrono::milliseconds word_limit{2'000};  // to find the root, only to tell it why not
constexpr std::chrono::seconds between_rival_looks{2};
// How long an owner of the endpoint's address may take to become the root.
constexpr std::chrono::seconds owner_limit{10};
constexpr std::chrono::milliseconds between_owner_looks{200};
constexpr int last_watcher = 3;  // the nodes 1 … 3 look whether the root is there

bool is_own(const hosts::Address& address) {
  if (address.is_loopback()) return true;
  const auto own = hosts::local_addresses();
  return own && std::ranges::find(*own, address, &hosts::LocalAddress::address) != own->end();
}

// Whether an agent at the endpoint is the job's root, as where the endpoint is another node's
// address. Agents that an engine starts together come within seconds.
asio::awaitable<bool> another_becomes_root(Session& session) {
  const plan::Job& job = session.job;
  const auto deadline = std::chrono::steady_clock::now() + owner_limit;
  Timer pause(session.io);
  while (std::chrono::steady_clock::now() < deadline) {
    const auto there = co_await link::who_listens(session.pool, job.root_host, job.ports.front(),
                                                  session.identity, job.patience);
    const bool is_root = there && there->role == link::Role::root;
    if (is_root && there->job == session.identity.job) co_return true;
    pause.expires_after(between_owner_looks);
    co_await pause.async_wait(use_nothrow_awaitable);
  }
  co_return false;
}

// Whether the root is, or may be, on this very host; which may not be able to resolve its own name.
asio::awaitable<bool> root_is_here(Session& session) {
  const plan::Job& job = session.job;
  if (!job.other_root_hosts.empty() && job.root_beside_endpoint.empty()) co_return true;
  const auto addresses =
      co_await hosts::resolve_beside(session.pool, job.root_host, own_name_limit);
  if (!addresses) co_return lower(job.root_host) == lower(hosts::host_name());
  co_return std::ranges::any_of(*addresses, is_own);
}

// Addresses at which peers may reach this host. The root lists the connection's own before these,
// but behind one that the user named.
asio::awaitable<void> take_own_addresses(Session& session, model::Join& join) {
  std::vector<std::string>& texts = join.addresses;
  const auto add = [&](const hosts::Address& address) {
    if (address.is_loopback() || address.is_link_local()) return;
    if (texts.size() == model::most_addresses) return;
    if (std::ranges::find(texts, address.text()) == texts.end()) texts.push_back(address.text());
  };
  const auto& named = session.job.options.local_addr;
  if (named) {
    const auto found = co_await hosts::resolve_beside(session.pool, *named, own_name_limit);
    if (found) std::ranges::for_each(*found, add);
    join.address_is_named = !texts.empty();
  }
  if (const auto own = hosts::local_addresses()) {
    std::ranges::for_each(hosts::reachable_among(*own, model::most_addresses), add);
  }
  // A host without a network has agents and ranks of its own alone.
  if (texts.empty()) texts.push_back(hosts::loopback().text());
}

asio::awaitable<model::Join> introduce(Session& session, NodeSurvey& survey) {
  const plan::Job& job = session.job;
  model::Join join;
  join.agent = session.identity.agent;
  join.host = job.place.node_name;
  join.pid = ::getpid();
  join.nnodes = job.place.nodes_estimated ? 0 : job.nnodes;
  join.slots = job.nproc;
  join.node_rank = job.options.node_rank.value;
  join.node_index = job.place.my_node;
  join.local_rank = job.place.local_rank;
  join.task = job.place.task ? job.place.task : job.place.task_in_order;
  join.role = job.options.role;
  join.max_restarts = job.options.max_restarts;
  if (job.several_processes()) co_await take_own_addresses(session, join);
  join.store_port = session.port;
  join.location = job.place.location;
  join.location_pattern = job.place.location_pattern;
  NodeFacts seen = co_await survey.seen();
  session.network = std::move(seen.network);
  if (job.options.require_rdma.value && session.network && !session.unfit) {
    const auto why = fabric::why_no_rdma(*session.network);
    if (why) session.unfit = probes::no_rdma(*why);
  }
  join.prepares = session.unfit || session.prepares_workplace();
  join.kube = std::move(seen.kube);
  join.ports = std::move(seen.ports);
  join.evidence = std::move(seen.evidence);
  co_return join;
}

// Before the agent has joined, a signal ends it at once: it has started nothing yet.
void end_at_signals(Session& session) {
  session.on_signal = [&session](int signal, bool) {
    if (signal == run::grow_signal) return;
    say(fmt::format("ended by {} before the workers were started", signal_name(signal)));
    session.container.reset();  // which may be on its way
    worker::leave(128 + signal);
  };
}

// If two agents are configured as the root, the others find the one at the endpoint.
asio::awaitable<void> look_for_a_rival(Session& session, const Root& root) {
  const plan::Job& job = session.job;
  Timer pause(session.io);
  while (root.is_gathering()) {
    const auto there = co_await link::who_listens(session.pool, job.root_host, job.ports.front(),
                                                  session.identity, job.patience);
    const bool rival = there && there->role == link::Role::root &&
                       there->job == session.identity.job && there->agent != session.identity.agent;
    if (rival && root.is_gathering()) {
      say(fail(fmt::format("this node, {}, was started as the job's root", job.place.node_name),
               fmt::format("the root is already at {}", job.root_host),
               "give each node a different --node-rank")
              .error()
              .line());
      session.container.reset();
      worker::leave(exit_failure);
    }
    pause.expires_after(between_rival_looks);
    co_await pause.async_wait(use_nothrow_awaitable);
  }
}

// Where lost pods are made again, a code of 128 or more says that this one was, and it would wait
// for the others in vain.
int code_to_leave_with(const plan::Job& job, int code) {
  const bool lost_pods_return =
      job.place.lost_return || (job.place.root_speaks && job.options.max_restarts > 0);
  return lost_pods_return && code > 128 ? exit_failure : code;
}

asio::awaitable<int> be_root(Session& session, Secret secret, bool owns_endpoint,
                             NodeSurvey& survey) {
  if (session.unfit && !session.job.others_come()) {
    say(session.unfit->line());
    co_await session.last_words();
    co_return (*session.unfit)->exit_code;
  }
  const probes::CloudProbe cloud(session.io, session.job);
  const probes::NvlinkProbe nvlink(session.pool, session.job);
  // The root is the first member of its own job, so this comes before it admits others.
  model::Join own = co_await introduce(session, survey);
  own.cloud = co_await cloud.answer();
  own.nvlink = co_await nvlink.answer();
  std::string stage_key;
  if (session.staging) stage_key = session.staging->become_source();
  if (session.staging && session.warm) session.warm->begin(prepare::on_the_host(session.job));
  Root root(session, std::move(secret), std::move(stage_key));
  Member member(session, root.admit_own(own), std::nullopt, session.identity.agent);
  if (!owns_endpoint) {
    asio::co_spawn(session.io, look_for_a_rival(session, root), end_of_task);
  }
  const int exit_code = co_await lead(session, root, member);
  // Links and timers may still call the root: it has to outlive the event loop.
  co_await session.last_words();
  co_return code_to_leave_with(session.job, exit_code);
}

// Only a few nodes ask the engine.
std::optional<Error> root_has_ended(const plan::Job& job, probes::PresenceWatch& presence) {
  const int index = job.place.my_node.value_or(0);
  const bool looks = index > 0 && index <= last_watcher && job.place.local_rank.value_or(0) == 0;
  const bool listed = std::ranges::find(job.place.nodes, job.root_host, &engines::Node::name) !=
                      job.place.nodes.end();
  if (!looks || !listed) return std::nullopt;
  presence.look_if_due();
  if (!presence.has_ended(job.root_host)) return std::nullopt;
  return Error{fmt::format("{} has ended before this node, {}, could join", job.root_host,
                           job.place.node_name),
               "the root agent should be on that host, but the engine has no process of this run "
               "on that host",
               "see that host's messages above, and check that toprun is installed on it",
               exit_failure};
}

// Ends all other processes of the step, if there are any.
asio::awaitable<void> end_the_others(Session& session) {
  const plan::Job& job = session.job;
  if (job.nnodes <= last_watcher + 1 && !job.place.local_rank) co_return;
  std::function<bool()> end = [own = session.shared_job] {
    engines::end_step(own->environment);
    return true;
  };
  co_await session.pool.answer<bool>(std::move(end), end_step_limit);
}

// Whether the port's holder may be an agent of ours on this host.
bool is_held_by_toprun(const hosts::CannotListen& trouble) {
  const auto own = read_file("/proc/self/comm");
  return own && trouble.holder && trouble.holder->name == trim(*own);
}

asio::awaitable<int> be_member(Session& session, Secret secret,
                               const std::optional<hosts::CannotListen>& trouble,
                               NodeSurvey& survey) {
  const plan::Job& job = session.job;
  session.door.become_agent();
  const probes::CloudProbe cloud(session.io, job);
  const probes::NvlinkProbe nvlink(session.pool, job);
  link::RootAddress where{job.root_host, job.ports,           job.port_is_ours_to_choose, {},
                          job.nnodes,    job.other_root_hosts};
  if (trouble && !is_held_by_toprun(*trouble)) where.taken = trouble->error;
  if (job.place.task && !job.place.root_candidates.empty()) {
    where.hint =
        fmt::format("if none of these hosts has {}'s rank 0, add to toprun: --rdzv-endpoint HOST",
                    job.place.node_count_source);
  } else if (job.place.engine == engines::EngineKind::kubernetes) {
    where.hint = fmt::format(
        "see whether pod 0 runs (kubectl get pods); this pod waits for {} in all (--rdzv-conf "
        "join_timeout=SECONDS)",
        duration_text(job.join_timeout));
  } else if (!job.is_root) {
    where.hint = fmt::format(
        "has toprun been started on {0}? If no host has the name or address {0}, give "
        "{1}--rdzv-conf is_host=1 on one",
        job.root_host, plan::node_rank_is_a_hint(job.options) ? "" : "--node-rank on each, or ");
  }
  std::string root_agent;
  const link::MakeJoin make_join =
      [&](const link::Channel& channel) -> asio::awaitable<model::Join> {
    model::Join join = co_await introduce(session, survey);
    sockaddr_storage storage{};
    const auto local = channel.local();
    std::memcpy(&storage, local.data(), local.size());
    session.route = hosts::Address::from(storage);
    join.cloud = co_await cloud.answer();
    join.nvlink = co_await nvlink.answer();
    co_return join;
  };
  probes::PresenceWatch presence(session.pool, job);
  bool root_ended = false;
  where.hopeless = [&] {
    auto why = root_has_ended(job, presence);
    root_ended = why.has_value();
    return why;
  };
  // If the others are started by hand, this agent's user gets the error at once.
  const bool by_hand = session.unfit && !job.others_come();
  if (by_hand) say(session.unfit->line());
  const auto limit = by_hand ? word_limit : job.join_timeout;
  auto joined = co_await link::join_root(session.pool, where, session.identity, std::move(secret),
                                         job.patience, limit, make_join);
  if (!joined) {
    if (root_ended) co_await end_the_others(session);
    const Error& error = session.unfit ? *session.unfit : joined.error();
    if (!by_hand) say(error.line());
    co_await session.last_words();
    co_return error->exit_code;
  }
  Member member(session, joined->channel, joined->root, joined->root_agent);
  joined->channel->start();
  const int exit_code = co_await follow(session, member, joined->channel);
  co_await session.last_words();
  co_return exit_code;
}

std::string words_for(Secret::Origin origin) {
  switch (origin) {
    case Secret::Origin::given:
      return "agents trust each other by the secret that they were given";
    case Secret::Origin::munge:
      return "agents trust each other by munge";
    case Secret::Origin::derived:
      break;
  }
  return "agents trust every process that knows the job's id";
}

void tell_the_trust(const Session& session, const Secret& secret, bool root) {
  if (!session.job.several_processes()) return;
  if (session.job.options.verbose > 0 && root) say(words_for(secret.origin()));
  if (!root || secret.origin() != Secret::Origin::derived) return;
  say(
      fmt::format("no secret: every process that reaches port {} of this host may join the job; to "
                  "keep other processes out, set TOPRUN_SECRET to the same text on all nodes",
                  session.port));
}

struct RunRole {
  bool is_root;
  bool owns_endpoint;                               // where the others look for the root
  std::optional<hosts::CannotListen> trouble = {};  // not the root, though its address is here
};

bool is_named_by_the_user(const plan::Job& job) {
  return job.options.master_addr.value || job.options.rdzv_endpoint.value;
}

// Binds the port and decides which agent is the root: the configured agent, else the first that
// binds the job's port on the host with the endpoint's address.
asio::awaitable<Result<RunRole>> take_role(Session& session) {
  const plan::Job& job = session.job;
  if (!job.several_processes()) {
    auto listening = session.listen(true, false);
    if (!listening) co_return std::unexpected(listening.error().error);
    co_return RunRole{true, true};
  }
  const bool here = co_await root_is_here(session);
  bool is_root = job.is_root.value_or(here);
  if (!is_root && job.is_root_if_no_other && !co_await another_becomes_root(session)) {
    is_root = session.leaves_endpoint = true;
    say(
        fmt::format("no node of the job answers as the root at {} within {} s: the root, with rank "
                    "0, runs on {} instead",
                    job.root_host, owner_limit.count(), job.place.node_name));
  } else if (is_root && !here && !job.root_beside_endpoint.empty()) {
    session.leaves_endpoint = true;
    say(
        fmt::format("{} is not an address of {}, the job's first node: the root is on this node, "
                    "and the other nodes find the root by the node's name",
                    job.root_host, job.root_beside_endpoint));
  }
  if (job.is_root.value_or(false) && !here && is_named_by_the_user(job)) {
    const auto found = co_await hosts::resolve_beside(session.pool, job.root_host, own_name_limit);
    if (!found) {
      say(fmt::format(
          "{} cannot be resolved on {}, the node with rank 0: nodes that cannot resolve "
          "it either will not find this node",
          job.root_host, job.place.node_name));
    }
  }
  RunRole member{false, here};
  if (is_root) {
    auto listening = session.listen(true, here);
    if (listening) co_return RunRole{true, here};
    if (job.is_root || session.leaves_endpoint) {
      Error error = listening.error().error;
      error->what = fmt::format("{}: {}", job.place.node_name, error->what);
      co_return std::unexpected(std::move(error));
    }
    member.trouble = std::move(listening.error());
  }
  // Of several processes on a host, one may become the root once it has waited for another.
  const bool may_be_here = here || (job.place.task && !job.root_beside_endpoint.empty());
  auto listening = session.listen(false, may_be_here);
  if (!listening) co_return std::unexpected(listening.error().error);
  co_return member;
}

asio::awaitable<Result<Secret>> choose_secret(Session& session, const plan::Orders& orders,
                                              bool root) {
  const bool reads_a_file =
      session.job.environment.non_empty(link::secret_file_variable).has_value();
  if (!session.job.several_processes() && !reads_a_file) {
    co_return Secret::given(link::random_hex(32));
  }
  std::function<Result<Secret>()> choose = [job = session.shared_job, given = orders.secret, root] {
    return link::choose_secret(job->environment, given,
                               job->place.engine == engines::EngineKind::slurm, root, job->name);
  };
  auto chosen = co_await session.pool.answer<Result<Secret>>(std::move(choose), secret_limit);
  if (chosen) co_return *std::move(chosen);
  co_return fail("the secret of the job", Pool::words_for(chosen.error(), secret_limit),
                 "check whether munge, or the file system of TOPRUN_SECRET_FILE, hangs");
}

asio::awaitable<int> give_up(Session& session, const Error& error) {
  say(error.line());
  co_await session.last_words();
  co_return error->exit_code;
}

asio::awaitable<int> take_part(Session& session, const plan::Orders& orders) {
  const plan::Job& job = session.job;
  end_at_signals(session);
  if (!session.unfit && job.options.warm) {
    session.warm =
        std::make_unique<prepare::WarmStart>(session.io, session.pool, session.shared_job);
  }
  if (!session.unfit && job.options.prefetch && !job.stages()) {
    session.prefetch = std::make_unique<prepare::Prefetch>(session.io, session.shared_job);
  }
  if (!session.unfit && job.stages()) {
    session.staging =
        std::make_unique<prepare::Staging>(session.io, session.shared_job, session.identity);
    session.door.on_stage = [&session](Fd socket, std::string preamble) {
      session.staging->visit(std::move(socket), std::move(preamble));
    };
  }
  const auto role = co_await take_role(session);
  if (!role) {
    const Error& error = session.unfit ? *session.unfit : role.error();
    co_return co_await give_up(session, error);
  }
  // Where memory suffices for one thread (ulimit -v), it is the store's, which has begun by now.
  NodeSurvey survey(session.pool, session.shared_job, !session.unfit);
  auto secret = co_await choose_secret(session, orders, role->is_root);
  if (!secret) co_return co_await give_up(session, secret.error());
  tell_the_trust(session, *secret, role->is_root);
  if (!session.unfit && job.in_container() && job.place.stance != engines::Stance::in_place) {
    session.container = std::make_unique<NodeContainer>(session.pool, session.shared_job,
                                                        [&session] { session.show_life(); });
    asio::co_spawn(session.io, session.container->bring_up(), end_of_task);
  }
  if (role->is_root) {
    co_return co_await be_root(session, *std::move(secret), role->owns_endpoint, survey);
  }
  co_return co_await be_member(session, *std::move(secret), role->trouble, survey);
}

// The run is over and reported, and nothing handles a signal any more: it would make another exit
// code of it.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

int run_agent(const plan::Job& job, const plan::Orders& orders, int heartbeat_fd) {
  asio::io_context io(1);
  Session session(io, job, heartbeat_fd);
  if (orders.from_launcher) {
    if (auto followed = session.follow_launcher(); !followed) {
      say(followed.error().line());
      return exit_failure;
    }
  }
  int exit_code = exit_failure;
  asio::co_spawn(session.io, take_part(session, orders),
                 [&](const std::exception_ptr& error, int code) {
                   if (error) std::rethrow_exception(error);
                   exit_code = code;
                   session.io.stop();
                 });
  session.io.run();
  block_signals();
  session.post_result();
  worker::tell_keeper_of_code(exit_code);
  return exit_code;
}

Result<void> keep_redirected(plan::Job& job) {
  const bool is_starter = job.place.stance == engines::Stance::starter;
  if (is_starter || job.options.log_dir || job.options.redirects.empty()) return {};
  const std::string folder = new_temporary_folder(job.environment, "toprun-logs");
  if (folder.empty()) {
    return usage("cannot make a folder for logs", "neither TMPDIR nor /tmp can be written to",
                 "choose a folder with --log-dir");
  }
  job.place.notes.push_back(fmt::format("{}: --redirects without --log-dir: logs are kept in {}",
                                        job.place.node_name, folder));
  job.options.log_dir = folder;
  return {};
}

}  // namespace toprun::agent
