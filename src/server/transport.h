// Transport: the bytes of one connection. Plain TCP is here, TLS in
// tls_transport.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "server/fd.h"

namespace aliquot::server {

enum class Io {
  kOk,         // `bytes` of them went through, at least one
  kWantRead,   // nothing now: again when the socket is readable
  kWantWrite,  // nothing now: again when the socket is writable
  kEnd,        // reading: the peer has sent all it will send
  kPlainHttp,  // reading: HTTP came without the TLS it should have; writing answers in kind
  kFailed,     // the connection is broken
};

struct IoResult {
  Io status = Io::kOk;
  size_t bytes = 0;
};

// No call blocks. Thread safety: one thread at a time, but for fd().
class Transport {
 public:
  virtual ~Transport() = default;
  virtual IoResult Read(std::span<char> into) = 0;
  virtual IoResult Write(std::string_view bytes) = 0;
  virtual void ShutDownWrites() = 0;
  virtual int fd() const = 0;

  // Nothing can be written yet: a handshake is under way.
  virtual bool handshaking() const { return false; }

  // Some bytes have arrived that Read cannot give out before others follow.
  virtual bool holds_part() const { return false; }

  // After kFailed: why, for a human; empty if the peer has just gone.
  virtual std::string_view failure() const { return {}; }
};

// `fd`: a connected TCP socket that does not block.
std::unique_ptr<Transport> PlainTransport(Fd fd);

}  // namespace aliquot::server
