#include "server/connection.h"

#include <algorithm>
#include <array>
#include <utility>

namespace aliquot::server {
namespace {

constexpr size_t kReadBytes = 64 << 10;     // at once
constexpr size_t kBytesPerTurn = 1 << 20;   // before others have their turn
constexpr size_t kReserveAtMost = 1 << 20;  // on the word of a Content-Length
constexpr size_t kBeginning = 4 << 10;      // of a body over its cap
constexpr size_t kParserPadding = 64;       // lets simdjson read the body where it lies
constexpr Duration kDrainTimeout = std::chrono::seconds(2);

SteadyTime Now() { return std::chrono::steady_clock::now(); }

}  // namespace

Connection::Connection(std::unique_ptr<Transport> transport, const RouteTable& routes,
                       const Limits& limits)
    : transport_(std::move(transport)), routes_(routes), limits_(limits), since_(Now()) {}

Connection::Next Connection::Advance() {
  size_t budget = kBytesPerTurn;
  while (true) {
    while (!out_.empty()) {
      const IoResult sent = transport_->Write(std::string_view(out_).substr(sent_));
      if (sent.status == Io::kWantWrite) return Next::kWrite;
      if (sent.status == Io::kWantRead) return Next::kRead;
      if (sent.status != Io::kOk) return Next::kClose;
      sent_ += sent.bytes;
      if (sent_ < out_.size()) continue;
      std::string().swap(out_);
      sent_ = 0;
      since_ = Now();
      if (last_) {
        // Closing with unread bytes resets the connection, and the peer may
        // lose the answer: so read on until it has closed, for a moment.
        transport_->ShutDownWrites();
        draining_ = true;
        std::string().swap(in_);
      }
    }

    if (!draining_) {
      if (!head_) ReadHead();
      if (too_long_ && BeginningIsHere()) Reject(*std::exchange(too_long_, std::nullopt));
      if (Complete()) return Next::kRun;
      if (!out_.empty()) continue;
    }

    if (budget == 0) return Next::kYield;
    std::array<char, kReadBytes> bytes;
    const IoResult got = transport_->Read(std::span(bytes).first(std::min(budget, kReadBytes)));
    switch (got.status) {
      case Io::kWantRead:
        return Next::kRead;
      case Io::kWantWrite:
        return Next::kWrite;
      case Io::kFailed:
        return Next::kClose;
      case Io::kPlainHttp:
        Reject({"400 Bad Request", "this port speaks TLS: use https"});
        break;
      case Io::kEnd:
        if (draining_ || !head_) return Next::kClose;
        Reject({"400 Bad Request", "the body ended after " + std::to_string(in_.size()) + " of " +
                                       std::to_string(head_->content_length) + " bytes"});
        break;
      case Io::kOk:
        budget -= got.bytes;
        if (draining_) break;
        if (in_.empty() && !head_) since_ = Now();
        in_.append(bytes.data(), got.bytes);
    }
  }
}

void Connection::ReadHead() {
  size_t skipped = 0;  // some clients end a body with an empty line
  while (std::string_view(in_).substr(skipped).starts_with("\r\n")) skipped += 2;
  in_.erase(0, skipped);
  if (in_.empty() || in_ == "\r") return;
  if (in_[0] < 'A' || in_[0] > 'z') {
    return Reject({"400 Bad Request", "this is not HTTP (TLS to a plain port?)"});
  }

  size_t end = std::string::npos;
  for (size_t at = in_.find('\n', scanned_); at != std::string::npos; at = in_.find('\n', at + 1)) {
    if (at == 0 || in_[at - 1] != '\r') {
      return Reject({"400 Bad Request", "a line of the head does not end with CRLF"});
    }
    if (at >= 2 && in_[at - 2] == '\n') {
      end = at + 1;
      break;
    }
  }
  scanned_ = in_.size();
  if (std::min(end, in_.size()) > limits_.head_bytes) {
    return Reject(
        {"431 Request Header Fields Too Large", "the head of the request is over the limit of " +
                                                    std::to_string(limits_.head_bytes) + " bytes"});
  }
  if (end == std::string::npos) return;

  Head& head = head_.emplace();
  const std::optional<Rejection> wrong = ParseHead(std::string_view(in_).substr(0, end), head);
  in_.erase(0, end);
  scanned_ = 0;
  match_ = routes_.Find(head.method, head.target);
  if (wrong) return Reject(*wrong);
  const size_t cap = match_.route ? match_.route->body_cap : limits_.unrouted_body_bytes;
  if (head.content_length > cap) {
    too_long_ = {"413 Content Too Large", "the body of " + std::to_string(head.content_length) +
                                              " bytes is over the limit of " + std::to_string(cap) +
                                              " bytes for " +
                                              head.target.substr(0, head.target.find('?'))};
    return;
  }
  in_.reserve(std::min(head.content_length, kReserveAtMost) + kParserPadding);
  if (head_->expects_continue && !Complete()) out_ = "HTTP/1.1 100 Continue\r\n\r\n";
}

Incoming Connection::TakeRequest() {
  Incoming request{std::move(*head_), std::exchange(match_, {}), {}, Now()};
  const size_t length = request.head.content_length;
  if (in_.size() == length) {
    request.body = std::exchange(in_, {});
  } else {
    request.body = in_.substr(0, length);
    in_.erase(0, length);
  }
  head_.reset();
  since_ = request.received;
  return request;
}

WorkerPool& Connection::pool() const {
  return match_.route ? *match_.route->pool : routes_.fallback();
}

void Connection::Answer(std::string bytes, bool last) {
  out_ = std::move(bytes);
  last_ = last;
  since_ = Now();
}

// As much of a body over its cap as its route needs to refuse it.
bool Connection::BeginningIsHere() const {
  return !match_.route || !match_.route->refuse || head_->expects_continue ||
         in_.size() >= std::min(head_->content_length, kBeginning);
}

void Connection::Reject(Rejection rejection) {
  if (match_.route && match_.route->refuse)
    rejection = match_.route->refuse(rejection, head_ ? in_ : std::string_view());
  head_.reset();
  too_long_.reset();
  std::string().swap(in_);
  Answer(ToAnswer(rejection), true);
}

bool Connection::TimeOut() {
  if (draining_ || !out_.empty() || (in_.empty() && !head_)) return false;
  Reject({"408 Request Timeout", "the request did not arrive in time"});
  return true;
}

SteadyTime Connection::deadline() const {
  const auto in = [&](Duration timeout) {
    return since_ + std::chrono::duration_cast<SteadyTime::duration>(timeout);
  };
  if (draining_) return in(kDrainTimeout);
  if (head_) return in(limits_.request_timeout);
  if (!out_.empty()) return in(limits_.write_timeout);
  if (transport_->handshaking()) return in(limits_.head_timeout);
  return in(in_.empty() ? limits_.idle_timeout : limits_.head_timeout);
}

}  // namespace aliquot::server
