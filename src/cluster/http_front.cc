#include "aliquot/cluster/http_front.h"

#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "aliquot/base/mutex.h"

namespace aliquot::cluster {
namespace {

constexpr int kBacklog = 512;
constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kLargestBody = (3 << 20) + 1;  // the cluster refuses what is larger than 3 MiB
constexpr int kReadMillis = 60'000;             // within a request
constexpr int kIdleMillis = 180'000;            // between two
constexpr std::chrono::seconds kWriteTimeout{30};
constexpr std::chrono::seconds kPeerCheck{1};  // of a watch with nothing to tell

// One connection. Reads in large pieces, since httplib asks for single bytes.
class SocketStream : public httplib::Stream {
 public:
  explicit SocketStream(int fd) : fd_(fd) {}

  bool WaitReadable(int milliseconds) const {
    pollfd readable{fd_, POLLIN, 0};
    return begin_ < end_ || poll(&readable, 1, milliseconds) > 0;
  }
  bool PeerGone() const {
    char byte;
    return recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  // Nothing is written from here on, and the connection is closed.
  void Break() { broken_ = true; }

  bool is_readable() const override { return WaitReadable(kReadMillis); }
  bool is_writable() const override { return !broken_; }
  ssize_t read(char* data, size_t size) override {
    if (begin_ == end_) {
      if (!is_readable()) return -1;
      const ssize_t got = recv(fd_, buffer_, kReadBytes, 0);
      if (got <= 0) return got;
      begin_ = 0;
      end_ = static_cast<size_t>(got);
    }
    const size_t take = std::min(size, end_ - begin_);
    std::copy_n(buffer_ + begin_, take, data);
    begin_ += take;
    return static_cast<ssize_t>(take);
  }
  ssize_t write(const char* data, size_t size) override {
    if (broken_) return -1;
    for (size_t sent = 0; sent < size;) {
      const ssize_t wrote = send(fd_, data + sent, size - sent, MSG_NOSIGNAL);
      if (wrote <= 0) {
        broken_ = true;
        return -1;
      }
      sent += static_cast<size_t>(wrote);
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return fd_; }

 private:
  const int fd_;
  bool broken_ = false;
  size_t begin_ = 0, end_ = 0;  // of what was read and not yet taken
  char buffer_[kReadBytes];
};

// The connection that this thread serves.
thread_local SocketStream* current_stream = nullptr;

// A thread per open connection, kept for the next one.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(size_t most) : most_(most) {}

  void enqueue(std::function<void()> task) override {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size() && threads_.size() < most_) {
      threads_.emplace_back([this] { Work(); });
    } else {
      changed_.NotifyOne();
    }
  }
  void shutdown() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Work() {
    MutexLock lock(mutex_);
    for (;;) {
      ++idle_;
      while (tasks_.empty() && !stopping_) changed_.Wait(mutex_);
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      mutex_.Unlock();
      task();
      mutex_.Lock();
    }
  }

  const size_t most_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ GUARDED_BY(mutex_);
  size_t idle_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

void SendWatch(std::shared_ptr<Watch> watch, const std::stop_token& stop, httplib::Response& out) {
  SocketStream* stream = current_stream;
  const auto send = [watch, stop, stream](size_t, httplib::DataSink& sink) {
    const auto piece = watch->NextUntil(stop, std::chrono::steady_clock::now() + kPeerCheck);
    if (!piece) return !stream->PeerGone();
    using Kind = Watch::Piece::Kind;
    if (piece->kind == Kind::kEnd) {
      sink.done();
      return true;
    }
    if (!sink.write(piece->text.data(), piece->text.size())) return false;
    if (piece->kind == Kind::kCut) stream->Break();
    return piece->kind == Kind::kLine;
  };
  out.set_chunked_content_provider("application/json", send);
}

// Announces everything and sends a half.
void SendHalf(std::string body, httplib::Response& out) {
  const size_t size = body.size();
  const auto send = [body = std::move(body)](size_t, size_t, httplib::DataSink& sink) {
    sink.write(body.data(), body.size() / 2);
    return false;
  };
  out.set_content_provider(size, "application/json", send);
}

}  // namespace

struct HttpFront::Impl : public httplib::Server {
  Cluster& cluster;
  const HttpFront::Options options;
  int bound_port = -1;
  std::stop_source stop_source;
  std::thread listener;
  Mutex mutex;
  std::set<int> open GUARDED_BY(mutex);

  Impl(Cluster& c, HttpFront::Options o) : cluster(c), options(std::move(o)) {
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      Answer(request, response);
    };
    Get(".*", handle).Post(".*", handle).Put(".*", handle);
    Patch(".*", handle).Delete(".*", handle);
    new_task_queue = [this] { return new ConnectionThreads(options.max_connections); };
    set_payload_max_length(kLargestBody);
    set_socket_options([](int fd) {
      const int on = 1;
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
  }

  // httplib lets five connections wait, and the sixth tries again a second later.
  void Widen() { ::listen(svr_sock_, kBacklog); }

  void Answer(const httplib::Request& in, httplib::Response& out) {
    const std::stop_token stop = stop_source.get_token();
    Response response = cluster.Handle({in.method == "HEAD" ? "GET" : in.method, in.target,
                                        in.get_header_value("Content-Type"), in.body},
                                       stop);
    out.status = response.status;
    if (response.retry_after > 0) {
      out.set_header("Retry-After", std::to_string(response.retry_after));
    }
    using Delivery = Response::Delivery;
    if (response.delivery == Delivery::kNothing) {
      out.status = 500;  // which nobody gets to see
      current_stream->Break();
    } else if (response.watch) {
      SendWatch(std::move(response.watch), stop, out);
    } else if (response.delivery == Delivery::kHalf) {
      SendHalf(std::move(response.body), out);
    } else {
      out.set_content(std::move(response.body), response.content_type.c_str());
    }
  }

  bool process_and_close_socket(socket_t fd) override {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval timeout{kWriteTimeout.count(), 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    {
      MutexLock lock(mutex);
      open.insert(fd);
    }
    SocketStream stream(fd);
    current_stream = &stream;
    // Compressing would hold the lines of a watch back.
    const auto no_compression = [](httplib::Request& request) {
      request.headers.erase("Accept-Encoding");
    };
    bool closed = false;
    while (!closed && !stop_source.stop_requested() && stream.WaitReadable(kIdleMillis)) {
      if (!process_request(stream, false, closed, no_compression) || !stream.is_writable()) break;
    }
    current_stream = nullptr;
    {
      MutexLock lock(mutex);
      open.erase(fd);
    }
    shutdown(fd, SHUT_RDWR);
    close(fd);
    return true;
  }
};

HttpFront::HttpFront(Cluster& cluster, Options options)
    : impl_(std::make_unique<Impl>(cluster, std::move(options))) {}

HttpFront::~HttpFront() { Stop(); }

Result<void> HttpFront::Start() {
  const auto& [host, port, most] = impl_->options;
  const bool bound = port == 0 ? (impl_->bound_port = impl_->bind_to_any_port(host)) > 0
                               : impl_->bind_to_port(host, port);
  if (!bound) {
    return Error{ErrorCode::kUnavailable, "cannot listen on " + host + ":" + std::to_string(port)};
  }
  if (port != 0) impl_->bound_port = port;
  impl_->Widen();
  impl_->listener = std::thread([this] { impl_->listen_after_bind(); });
  while (!impl_->is_running()) std::this_thread::yield();
  return {};
}

int HttpFront::port() const { return impl_->bound_port; }

std::string HttpFront::url() const {
  return "http://" + impl_->options.host + ":" + std::to_string(port());
}

void HttpFront::Stop() {
  if (!impl_->listener.joinable()) return;
  impl_->stop_source.request_stop();
  impl_->stop();
  {
    // Wakes the threads that wait for the next request.
    MutexLock lock(impl_->mutex);
    for (const int fd : impl_->open) shutdown(fd, SHUT_RDWR);
  }
  impl_->listener.join();
}

std::string Kubeconfig(const std::string& url) {
  return "apiVersion: v1\n"
         "kind: Config\n"
         "current-context: aliquot\n"
         "clusters:\n"
         "- name: aliquot\n"
         "  cluster: {server: \"" +
         url +
         "\"}\n"
         "users:\n"
         "- name: aliquot\n"
         "  user: {token: any}\n"
         "contexts:\n"
         "- name: aliquot\n"
         "  context: {cluster: aliquot, user: aliquot}\n";
}

}  // namespace aliquot::cluster
