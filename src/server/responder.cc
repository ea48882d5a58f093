#include "server/responder.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "aliquot/base/log.h"

namespace aliquot::server {
namespace {

// What cpp-httplib takes for a connection: gives it a request line and collects
// its answer. Of the head it sees nothing else, because what it does by itself
// on Range, Accept-Encoding, Expect or a form's Content-Type is not wanted here;
// and bodies go to the handlers as they are.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(const Head& head)
      : head_(head.method + ' ' + head.target + " HTTP/1.1\r\n\r\n") {}

  std::string TakeAnswer() { return std::move(answer_); }

  ssize_t read(char* into, size_t size) override {
    const size_t count = std::min(size, head_.size() - read_);
    std::memcpy(into, head_.data() + read_, count);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    answer_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return 0; }  // it refuses those from FD_SETSIZE on

 private:
  const std::string head_;
  size_t read_ = 0;
  std::string answer_;
};

void AnswerWithoutRoute(const Match& match, httplib::Response& response) {
  response.status = match.status;
  if (!match.allow.empty()) response.set_header("Allow", match.allow);
  if (!match.location.empty()) response.set_header("Location", match.location);
  response.set_content(match.status == 404   ? "no such path"
                       : match.status == 405 ? "this path has other methods"
                                             : "the path is written differently",
                       "text/plain; charset=utf-8");
}

// Reads the request line and writes answers. Its hooks carry no context, so
// there is one of these per thread, for one request at a time.
class Responder final : public httplib::Server {
 public:
  Responder() {
    set_pre_routing_handler([this](const httplib::Request& http, httplib::Response& response) {
      Handle(http, response);
      return HandlerResponse::Handled;
    });
    set_post_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      response.headers.erase("Keep-Alive");  // its timeouts and counts are not ours
      last_ = !request_->head.keep_alive || *stopping_;
      if (last_) response.set_header("Connection", "close");
    });
  }

  Outgoing Respond(Incoming& request, std::function<bool()>& caller_gone,
                   const std::atomic<bool>& stopping) {
    request_ = &request;
    caller_gone_ = &caller_gone;
    stopping_ = &stopping;
    MemoryStream stream(request.head);
    bool unused = false;
    process_request(stream, false, unused, nullptr);
    return {stream.TakeAnswer(), last_};
  }

 private:
  void Handle(const httplib::Request& http, httplib::Response& response) {
    const Match& match = request_->match;
    if (!match.route) return AnswerWithoutRoute(match, response);
    try {
      Call call{http,
                std::move(request_->body),
                request_->received,
                std::move(*caller_gone_),
                request_->head.content_type,
                request_->head.accepts_gzip};
      match.route->handler(call, response);
    } catch (const std::exception& failure) {
      log::Error("Handler threw", {{"path", http.path}, {"error", failure.what()}});
      response = {};
      response.status = 500;
      response.set_content("internal error", "text/plain; charset=utf-8");
    }
  }

  Incoming* request_ = nullptr;
  std::function<bool()>* caller_gone_ = nullptr;
  const std::atomic<bool>* stopping_ = nullptr;
  bool last_ = false;
};

}  // namespace

Outgoing Respond(Incoming request, std::function<bool()> caller_gone,
                 const std::atomic<bool>& stopping) {
  thread_local Responder responder;
  return responder.Respond(request, caller_gone, stopping);
}

}  // namespace aliquot::server
