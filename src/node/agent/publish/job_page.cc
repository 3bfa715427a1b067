#include "node/agent/publish/job_page.h"

#include <fmt/format.h>

#include <filesystem>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/os/console.h"
#include "engines/slurm/variables.h"
#include "observe/snapshot/metrics.h"

namespace toprun::publish {
namespace asio = boost::asio;

namespace {

constexpr std::string_view token_variable = "TOPRUN_WEB_TOKEN";

Result<web::ListenAddress> listen_address(const plan::Job& job) {
  const plan::Endpoint& requested = *job.options.web;
  web::ListenAddress at;
  at.address = hosts::Address::parse(requested.host).value_or(at.address);
  at.port = requested.port.value_or(0);
  at.token = job.environment.non_empty(token_variable).value_or("");
  if (!at.token.empty() && !web::is_good_token(at.token)) {
    return fail("cannot serve the job's page",
                fmt::format("{} is not a token: a token has 22 to 256 letters, digits, - and _",
                            token_variable),
                "make a token with `openssl rand -hex 16`, or unset the variable: toprun then "
                "makes a token");
  }
  return at;
}

}  // namespace

std::unique_ptr<JobPage> JobPage::open(asio::io_context& io, const plan::Job& job,
                                       JobPicture& picture) {
  const auto at = listen_address(job);
  auto page = std::make_unique<JobPage>(io, picture);
  auto server = at ? web::Server::listen(io, *at, *page) : std::unexpected(at.error());
  if (!server) {
    say(server.error().line() + "; the job goes on without it");
    return nullptr;
  }
  page->server_ = *std::move(server);
  // Others may be able to read the files with the output of a batch job.
  const auto id = engines::slurm::own_job_id(job.environment);
  const std::string folder = job.options.node_log.value_or("");
  const bool is_found_by_id = id && std::filesystem::path(folder).filename() == *id;
  const bool is_kept = is_found_by_id && at->token.empty();
  say(is_kept ? fmt::format("the job's page is on {}; toprun status {} shows its address",
                            hosts::host_name(), *id)
              : fmt::format("the job's page on {}: {}{}", hosts::host_name(), page->server_->url(),
                            at->token.empty() ? "" : fmt::format(" with {}", token_variable)));
  return page;
}

JobPage::JobPage(asio::io_context& io, JobPicture& picture)
    : io_(io), picture_(picture), self_(std::make_shared<JobPage*>(this)) {}

JobPage::~JobPage() {
  *self_ = nullptr;
}

web::Text JobPage::text(web::Part part) {
  return texts_[static_cast<std::size_t>(part)];
}

void JobPage::looked_at(bool by_somebody) {
  is_seen_ = by_somebody;
  if (!is_seen_ || follows_) return;
  asio::co_spawn(io_, follow(self_), asio::detached);
}

asio::awaitable<std::optional<web::Page>> JobPage::page(std::string path, std::string accept) {
  if (path != "/metrics") co_return std::nullopt;
  const snapshot::MetricsForm form = snapshot::metrics_form(accept);
  auto text = co_await picture_.metrics(form);
  if (!text) co_return web::Page{503, "text/plain", "the job did not answer in time\n"};
  co_return web::Page{200, std::string(snapshot::type_of(form)), *std::move(text)};
}

// `self` is looked at after each wait: the run may have ended meanwhile.
asio::awaitable<void> JobPage::follow(std::shared_ptr<JobPage*> self) {
  follows_ = true;
  Follower follower(io_, picture_);
  while (*self != nullptr && is_seen_ && !follower.is_over()) {
    std::optional<JobPicture::Parts> parts = co_await follower.next();
    if (*self != nullptr && parts) take(*std::move(parts));
  }
  if (*self != nullptr) follows_ = false;
}

void JobPage::take(JobPicture::Parts parts) {
  take(web::Part::nodes, std::move(parts.nodes));
  take(web::Part::figures, std::move(parts.figures));
  take(web::Part::job, std::move(parts.job));
}

void JobPage::take(web::Part part, std::string text) {
  web::Text& kept = texts_[static_cast<std::size_t>(part)];
  if (kept && *kept == text) return;
  kept = std::make_shared<const std::string>(std::move(text));
  server_->changed(part);
}

asio::awaitable<void> JobPage::finish() {
  co_await server_->finish();
}

}  // namespace toprun::publish
