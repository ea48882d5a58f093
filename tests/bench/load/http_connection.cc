#include "load/http_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "aliquot/base/strings.h"

namespace aliquot::load {
namespace {

constexpr time_t kPatienceSeconds = 60;
constexpr size_t kReadSize = 64 << 10;
constexpr size_t kLongestBody = size_t{1} << 30;

Error Unavailable(std::string_view what) {
  return {ErrorCode::kUnavailable, std::string(what) + ": " + std::strerror(errno)};
}

void SetOptions(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

// What of an answer's head decides how its body is read.
struct Head {
  int status = 0;
  std::optional<size_t> length;
  bool chunked = false;
  bool closes = false;
};

std::optional<Head> ParseHead(std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (!lines[0].starts_with("HTTP/1.") || lines[0].size() < 12) return std::nullopt;
  Head head;
  head.status = static_cast<int>(ParseInt64(lines[0].substr(9, 3)).value_or(0));
  head.closes = lines[0][7] == '0';
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = lines[i].substr(0, colon);
    const std::string_view value = Trim(lines[i].substr(colon + 1));
    if (EqualsIgnoreCase(name, "Content-Length")) {
      const std::optional<int64_t> length = ParseInt64(value);
      if (!length || *length < 0 || *length > int64_t{kLongestBody}) return std::nullopt;
      head.length = static_cast<size_t>(*length);
    }
    if (EqualsIgnoreCase(name, "Transfer-Encoding"))
      head.chunked = EqualsIgnoreCase(value, "chunked");
    if (EqualsIgnoreCase(name, "Connection")) head.closes = EqualsIgnoreCase(value, "close");
  }
  if (!head.length && !head.chunked) return std::nullopt;
  return head;
}

}  // namespace

Result<void> HttpConnection::Connect() {
  if (fd_) return {};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(url_.host.c_str(), url_.port.c_str(), &hints, &found))
    return Error{ErrorCode::kUnavailable, url_.authority() + ": " + ::gai_strerror(code)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    server::Fd fd(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (!fd || ::connect(fd.get(), at->ai_addr, at->ai_addrlen) != 0) continue;
    SetOptions(fd.get());
    fd_ = std::move(fd);
    return {};
  }
  return Unavailable("connecting to " + url_.authority());
}

Result<HttpAnswer> HttpConnection::Exchange(std::span<const std::string_view> request) {
  if (const Result<void> connected = Connect(); !connected) return connected.error();
  Result<void> sent = Send(request);
  Result<HttpAnswer> answer = sent ? ReadAnswer() : Result<HttpAnswer>(sent.error());
  if (!answer) fd_ = server::Fd();
  return answer;
}

Result<void> HttpConnection::Send(std::span<const std::string_view> request) {
  std::vector<iovec> pieces;
  for (const std::string_view piece : request)
    if (!piece.empty()) pieces.push_back({const_cast<char*>(piece.data()), piece.size()});
  for (size_t first = 0; first < pieces.size();) {
    msghdr message{};
    message.msg_iov = &pieces[first];
    message.msg_iovlen = pieces.size() - first;
    const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (sent <= 0) return Unavailable("sending");
    for (auto left = static_cast<size_t>(sent); left > 0;) {
      iovec& piece = pieces[first];
      const size_t taken = std::min(left, piece.iov_len);
      piece = {static_cast<char*>(piece.iov_base) + taken, piece.iov_len - taken};
      left -= taken;
      if (piece.iov_len == 0) ++first;
    }
  }
  return {};
}

Result<HttpAnswer> HttpConnection::ReadAnswer() {
  filled_ = 0;
  const Result<size_t> end = ReadUntil("\r\n\r\n", 0);
  if (!end) return end.error();
  const std::optional<Head> head = ParseHead(received().substr(0, *end));
  if (!head) return InvalidError("not the head of an HTTP/1.1 answer with a body");
  const size_t body = *end + 4;
  Result<void> read = head->chunked ? ReadChunks(body) : ReadTo(body + *head->length);
  if (!read) return read.error();
  if (head->closes) fd_ = server::Fd();
  return HttpAnswer{head->status, head->chunked ? std::string_view(chunks_)
                                                : received().substr(body, *head->length)};
}

Result<void> HttpConnection::ReadChunks(size_t position) {
  chunks_.clear();
  while (true) {
    const Result<size_t> end = ReadUntil("\r\n", position);
    if (!end) return end.error();
    size_t size = 0;
    const std::string_view line = received().substr(position, *end - position);
    const auto [at, code] = std::from_chars(line.begin(), line.end(), size, 16);
    const bool plain = at == line.end() || *at == ';';
    if (code != std::errc() || !plain || size > kLongestBody)
      return InvalidError("not the size of a chunk: \"" + std::string(line) + "\"");
    position = *end + 2;
    if (const Result<void> read = ReadTo(position + size + 2); !read) return read;
    if (size == 0) return {};  // no trailer fields: nobody sends them here
    chunks_ += received().substr(position, size);
    position += size + 2;
  }
}

Result<size_t> HttpConnection::ReadUntil(std::string_view text, size_t from) {
  while (true) {
    const size_t at = received().find(text, from);
    if (at != std::string_view::npos) return at;
    if (const Result<void> read = ReadMore(); !read) return read.error();
  }
}

Result<void> HttpConnection::ReadTo(size_t bytes) {
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  while (filled_ < bytes)
    if (Result<void> read = ReadMore(); !read) return read;
  return {};
}

Result<void> HttpConnection::ReadMore() {
  if (filled_ == buffer_.size()) buffer_.resize(buffer_.size() + kReadSize);
  const ssize_t got = ::recv(fd_.get(), buffer_.data() + filled_, buffer_.size() - filled_, 0);
  if (got == 0) return Error{ErrorCode::kUnavailable, "the connection was closed"};
  if (got < 0) return Unavailable("receiving");
  filled_ += static_cast<size_t>(got);
  return {};
}

}  // namespace aliquot::load
