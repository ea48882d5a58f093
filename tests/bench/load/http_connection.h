// HttpConnection: the client side of one keep-alive HTTP/1.1 connection, on a
// blocking socket. It does as little as it can, so that what is measured is the
// server and not the client.
//
// Errors: kUnavailable for what the network does, kInvalid for an answer that is
// no HTTP/1.1; after either the next exchange connects anew.
// Thread safety: one thread at a time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"
#include "load/url.h"
#include "server/fd.h"

namespace aliquot::load {

struct HttpAnswer {
  int status = 0;
  std::string_view body;  // points into the connection, until its next exchange
};

class HttpConnection {
 public:
  explicit HttpConnection(Url url) : url_(std::move(url)) {}

  // No effect while there is a connection.
  Result<void> Connect();

  // Sends the pieces of one request, one after another, and reads the whole
  // answer: of a known length or in chunks.
  Result<HttpAnswer> Exchange(std::span<const std::string_view> request);

 private:
  Result<HttpAnswer> ReadAnswer();
  Result<void> Send(std::span<const std::string_view> request);
  Result<void> ReadMore();
  // Reads until so many bytes are here.
  Result<void> ReadTo(size_t bytes);
  // The position of the next `text` at `from` or after it, once it is here.
  Result<size_t> ReadUntil(std::string_view text, size_t from);
  // The chunks that begin at `position`, into chunks_.
  Result<void> ReadChunks(size_t position);
  std::string_view received() const { return {buffer_.data(), filled_}; }

  const Url url_;
  server::Fd fd_;
  std::vector<char> buffer_;
  size_t filled_ = 0;   // bytes of buffer_ that were received
  std::string chunks_;  // a chunked body, put together
};

}  // namespace aliquot::load
