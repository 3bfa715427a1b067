#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "node/agent/publish/job_picture.h"
#include "node/plan/job.h"
#include "observe/web/server.h"

namespace toprun::publish {

// Serves the job's web page (--web) at the root. While a browser shows the page, the root writes
// the job's state for it about once a second and after each event. Without a browser, the state is
// not written.
class JobPage : public web::Source {
 public:
  // Opens the page's port and prints the page's address. If the port cannot be opened, prints why
  // and returns null; the job continues without the page. All references must outlive this object.
  static std::unique_ptr<JobPage> open(boost::asio::io_context& io, const plan::Job& job,
                                       JobPicture& picture);
  JobPage(boost::asio::io_context& io, JobPicture& picture);
  ~JobPage() override;

  std::string url() const { return server_->url(); }

  // Closes the page once the browsers that show it have received the job's last state.
  boost::asio::awaitable<void> finish();

  web::Text text(web::Part part) override;
  void looked_at(bool by_somebody) override;
  boost::asio::awaitable<std::optional<web::Page>> page(std::string path,
                                                        std::string accept) override;

 private:
  boost::asio::awaitable<void> follow(std::shared_ptr<JobPage*> self);
  void take(JobPicture::Parts parts);
  void take(web::Part part, std::string text);

  boost::asio::io_context& io_;
  JobPicture& picture_;
  const std::shared_ptr<JobPage*> self_;  // points to null after this object was destroyed
  std::unique_ptr<web::Server> server_;
  std::array<web::Text, web::part_names.size()> texts_;
  bool is_seen_ = false;
  bool follows_ = false;
};

}  // namespace toprun::publish
