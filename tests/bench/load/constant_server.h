// ConstantServer: reads requests and answers each with the same bytes, and does
// nothing else. What an exchange with it takes is the floor: sockets, the
// kernel, the switch between two threads, and the client.
//
// Thread safety: by the owner. A thread per connection.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "aliquot/base/result.h"
#include "load/url.h"
#include "server/fd.h"

namespace aliquot::load {

class ConstantServer {
 public:
  // `body_bytes`: the length of the answer's body.
  explicit ConstantServer(size_t body_bytes);
  ~ConstantServer();

  // On a free port of 127.0.0.1. Errors: kUnavailable. Only once.
  Result<void> Start();

  // REQUIRES: Start succeeded.
  const Url& url() const { return url_; }

 private:
  void Accept();
  void Serve(int fd) const;

  const std::string answer_;
  Url url_;
  server::Fd listener_;
  std::thread acceptor_;

  struct Client {
    server::Fd fd;
    std::thread thread;
  };
  std::vector<Client> clients_;  // the acceptor's, until it has ended
};

}  // namespace aliquot::load
