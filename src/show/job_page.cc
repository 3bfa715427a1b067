#include "show/job_page.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/console.h"
#include "watch/metrics.h"

namespace toprun::show {
namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr auto quietly = asio::as_tuple(asio::use_awaitable);
// Of many events in a row not each is shown: so long after one text the next is written at the
// earliest. A tenth of the interval, since the more ranks there are the longer writing takes.
constexpr std::chrono::milliseconds shortest_rest{100};
constexpr int rests_per_interval = 10;
constexpr std::string_view token_variable = "TOPRUN_WEB_TOKEN";

Result<web::Place> place_of(const plan::Job& job) {
  const plan::Endpoint& wanted = *job.options.web;
  web::Place place;
  place.address = hosts::Address::parse(wanted.host).value_or(place.address);
  place.port = wanted.port.value_or(0);
  place.token = job.environment.non_empty(token_variable).value_or("");
  if (!place.token.empty() && !web::is_good_token(place.token)) {
    return fail("cannot serve the job's page",
                fmt::format("{} is no token: 22 to 256 letters, digits, - and _", token_variable),
                "openssl rand -hex 16 makes one; without it toprun does");
  }
  return place;
}

}  // namespace

std::unique_ptr<JobPage> JobPage::open(asio::io_context& io, const plan::Job& job,
                                       JobPicture& picture) {
  const auto place = place_of(job);
  auto page = std::make_unique<JobPage>(io, picture);
  auto server = place ? web::Server::listen(io, *place, *page) : std::unexpected(place.error());
  if (!server) {
    say(server.error().line() + "; the job goes on without it");
    return nullptr;
  }
  page->server_ = *std::move(server);
  say(fmt::format("the job's page on {}: {}{}", hosts::host_name(), page->server_->url(),
                  place->token.empty() ? "" : fmt::format(" with {}", token_variable)));
  return page;
}

JobPage::JobPage(asio::io_context& io, JobPicture& picture)
    : io_(io), picture_(picture), self_(std::make_shared<JobPage*>(this)), pause_(io) {}

JobPage::~JobPage() {
  *self_ = nullptr;
}

void JobPage::moved_on() {
  has_moved_ = true;
  pause_.cancel();
}

web::Text JobPage::text(web::Part part) {
  return texts_[static_cast<std::size_t>(part)];
}

void JobPage::looked_at(bool by_somebody) {
  is_seen_ = by_somebody;
  pause_.cancel();
  if (!is_seen_ || follows_) return;
  asio::co_spawn(io_, follow(self_), asio::detached);
}

asio::awaitable<std::optional<web::Page>> JobPage::page(std::string path) {
  if (path != "/metrics") co_return std::nullopt;
  auto text = co_await picture_.metrics();
  if (!text) co_return web::Page{503, "text/plain", "the job did not answer in time\n"};
  co_return web::Page{200, std::string(watch::metrics_type), *std::move(text)};
}

// `self` is looked at after each wait: the run may have ended meanwhile.
asio::awaitable<void> JobPage::follow(std::shared_ptr<JobPage*> self) {
  follows_ = true;
  while (*self != nullptr && is_seen_) {
    co_await refresh(self);
    if (*self == nullptr) co_return;
    const auto written = steady_clock::now();
    const auto interval = picture_.interval();
    co_await rest(self, written + std::max(shortest_rest, interval / rests_per_interval), false);
    co_await rest(self, written + interval, true);
  }
  if (*self != nullptr) follows_ = false;
}

// Until then or, if `or_event`, until something happens.
asio::awaitable<void> JobPage::rest(std::shared_ptr<JobPage*> self, SteadyTime end, bool or_event) {
  while (*self != nullptr && is_seen_ && !(or_event && has_moved_) && steady_clock::now() < end) {
    pause_.expires_at(end);
    co_await pause_.async_wait(quietly);
  }
}

asio::awaitable<void> JobPage::refresh(std::shared_ptr<JobPage*> self) {
  has_moved_ = false;
  std::optional<JobPicture::Parts> parts = co_await picture_.parts();
  if (*self == nullptr || !parts) co_return;
  take(web::Part::nodes, std::move(parts->nodes));
  take(web::Part::figures, std::move(parts->figures));
  take(web::Part::job, std::move(parts->job));
}

void JobPage::take(web::Part part, std::string text) {
  web::Text& kept = texts_[static_cast<std::size_t>(part)];
  if (kept && *kept == text) return;
  kept = std::make_shared<const std::string>(std::move(text));
  server_->changed(part);
}

asio::awaitable<void> JobPage::finish() {
  if (is_seen_) co_await refresh(self_);
  co_await server_->finish();
}

}  // namespace toprun::show
