// HttpFront: a Cluster over plain HTTP/1.1, for kubectl, curl, kube::Client and
// whoever else speaks to an API server. Whatever credentials a request carries
// are accepted: listen on loopback.
//
// A connection holds a thread while it is open, a watch too; threads are
// started as connections come, up to Options::max_connections, and later ones
// wait until one closes.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "aliquot/base/result.h"
#include "aliquot/cluster/cluster.h"

namespace aliquot::cluster {

class HttpFront {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 0;  // 0: one that is free
    size_t max_connections = 1024;
  };

  // `cluster` outlives it.
  HttpFront(Cluster& cluster, Options options);
  ~HttpFront();  // stops

  // Listening when it returns. Errors name the address. Only once.
  Result<void> Start();

  // As bound. REQUIRES: Start succeeded.
  int port() const;
  std::string url() const;  // "http://127.0.0.1:8001"

  // Closes every connection; requests under way are given up.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A kubeconfig for a server without credentials.
std::string Kubeconfig(const std::string& url);

}  // namespace aliquot::cluster
