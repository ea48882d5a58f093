"""Scenarios in which processes, connections and the API server's history break at the worst moment."""
import http.client
import http.server
import json
import os
import resource
import signal
import socket
import threading
import time
import urllib.request

import lib
from lib import (Failure, bind_to, check_all, create_at_once, create_nodes, filter_on, make_pod, probe_all, served,
                 wait_for)

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: local
clusters: [{{name: local, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: local, user: {{}}}}]
contexts: [{{name: local, context: {{cluster: local, user: local}}}}]
"""


class Front(http.server.ThreadingHTTPServer):
    """The API server over plain HTTP, where one request can be caught on its way there, or its answer on the way back."""

    daemon_threads = True

    def __init__(self, api, folder):
        super().__init__(("127.0.0.1", 0), Forward)
        self.api, self.caught, self.go_on, self.wanted = api, threading.Event(), threading.Event(), None
        self.kubeconfig = folder / "front.kubeconfig"
        self.kubeconfig.write_text(KUBECONFIG.format(port=self.server_port))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def catch(self, method, path, arrives):
        """Catches the next request of this method whose path ends so; arrives: only its answer is kept back."""
        self.caught.clear()
        self.go_on.clear()
        self.wanted = (method, path, arrives)

    def hold(self, method, path, arrived):
        """Whether this is what is to be caught; it is held until the test goes on."""
        if self.wanted is None or method != self.wanted[0] or arrived != self.wanted[2] or \
                not path.partition("?")[0].endswith(self.wanted[1]):
            return False
        self.wanted = None
        self.caught.set()
        self.go_on.wait(60)
        return True

    def handle_error(self, *_):
        """Killed clients break their connections."""


class Forward(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def log_message(self, *_):
        pass

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.hold(self.command, self.path, False):
            self.close_connection = True
            return
        upstream = self.server.api.connect(300)
        try:
            # No client sends its token over plain HTTP.
            upstream.request(self.command, self.path, body or None, {
                "Authorization": "Bearer admintoken", "Content-Type": self.headers.get("Content-Type", "")})
            answer = upstream.getresponse()
            watch = "watch=" in self.path
            data = b"" if watch else answer.read()
            if self.server.hold(self.command, self.path, True):
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
            if not watch:
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                return
            self.send_header("Connection", "close")
            self.end_headers()
            while data := answer.read1(1 << 16):
                self.wfile.write(data)
                self.wfile.flush()
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            upstream.close()
    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = forward


# Where the daemon is killed: what is caught, and whether it has arrived at the API server.
POINTS = {
    "reserved": ("PATCH", "/pods/{name}", False),
    "patched": ("PATCH", "/pods/{name}", True),
    "filtered": None,
    "binding": ("POST", "/pods/{name}/binding", False),
    "bound": ("POST", "/pods/{name}/binding", True),
}


def kills(stage):
    """kill -9 before and after each write of a pod's way: the pod is placed once in the end, and usage is as the API says."""
    with stage.control_plane(scheduler=False) as plane:
        api = plane.api
        nodes = create_nodes(api, 2)
        names = [node["metadata"]["name"] for node in nodes]
        front = Front(api, stage.folder)
        plane.kubeconfig = str(front.kubeconfig)
        with stage.daemon(plane) as daemon, lib.Recorder(api) as recorder, lib.DevicePlugins(api):
            for at, point in POINTS.items():
                pod = api.create(lib.random_pod(f"killed-{at}", stage.rng))
                name = pod["metadata"]["name"]
                if point:
                    front.catch(point[0], point[1].format(name=name), point[2])

                def call():
                    try:
                        bind_to(daemon, pod, filter_on(daemon, pod, names))
                    except (OSError, http.client.HTTPException):
                        pass    # the daemon was killed
                if point:
                    caller = threading.Thread(target=call)
                    caller.start()
                    if not front.caught.wait(20):
                        raise Failure(f"{at}: the daemon did not come to this point")
                    daemon.process.kill()
                    front.go_on.set()
                    caller.join()
                else:
                    node = filter_on(daemon, pod, names)
                    daemon.process.kill()
                daemon.start()
                if point and not lib.holds(api.pod(name)):
                    node = filter_on(daemon, pod, names)
                if not lib.holds(api.pod(name)):
                    bind_to(daemon, pod, node)
                wait_for(f"{name} served", lambda: served(api), 30)
                if at == "bound":   # kube-scheduler did not hear of it, and tries again
                    bind_to(daemon, pod, api.pod(name)["spec"]["nodeName"])
                check_all(api, nodes, recorder)
                probe_all(api, daemon, nodes)
        front.shutdown()
    return f"killed at {', '.join(POINTS)}"


def terms(stage):
    """SIGTERM under load: the daemon ends by itself with status 0, the next one goes on, all pods are placed."""
    with stage.control_plane() as plane, stage.daemon(plane) as daemon:
        api = plane.api
        nodes = create_nodes(api, 5)
        pods = [lib.random_pod(f"p{i}", stage.rng) for i in range(40)]
        took = []
        with lib.Recorder(api) as recorder, lib.DevicePlugins(api):
            creator = threading.Thread(target=create_at_once, args=(api, pods))
            creator.start()
            for enough in (5, 15):
                wait_for(f"{enough} pods bound", lambda: sum(map(bool, map(lib.holds, api.pods()))) >= enough, 60)
                begin = time.monotonic()
                daemon.process.child.terminate()
                status = daemon.process.child.wait(40)
                took.append(time.monotonic() - begin)
                if status != 0:
                    raise Failure(f"after SIGTERM the daemon ended with status {status}")
                daemon.start()
            creator.join()
            try:
                wait_for("all pods placed", lambda: len(api.pods()) == len(pods) and served(api), 90)
            finally:
                check_all(api, nodes, recorder)
            probe_all(api, daemon, nodes)
    return "ended within " + " and ".join(f"{seconds:.1f} s" for seconds in took)


def stalled(stage):
    """Nobody reads the daemon's output, and its pipe is full: pods are placed all the same, and it ends when it is told to."""
    log = stage.folder / "log.fifo"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    with stage.control_plane() as plane:
        daemon = stage.daemon(plane, "-v=6")
        daemon.log = log
        with daemon:
            api = plane.api
            nodes = create_nodes(api, 3)
            with lib.Recorder(api) as recorder, lib.DevicePlugins(api):
                create_at_once(api, [lib.random_pod(f"p{i}", stage.rng) for i in range(20)])
                try:
                    wait_for("all pods placed", lambda: served(api), 90)
                finally:
                    check_all(api, nodes, recorder)
                fill(daemon)
                pod = api.create(make_pod("late", {"gpu": 1, "gpumem": 100}))
                wait_for("the pod placed after the log was full", lambda: served(api), 30)
                daemon.process.child.terminate()
                if daemon.process.child.wait(20) != 0:
                    raise Failure("it did not end as it should")
    size = len(os.read(reader, 1 << 20))
    os.close(reader)
    return f"{pod['metadata']['name']} placed with {size} bytes unread"


def fill(daemon):
    """Refused pods until the daemon says that lines of its log are lost."""
    def lost():
        for i in range(50):
            daemon.filter({"metadata": {"name": f"none-{i}", "namespace": "default", "uid": f"none-{i}"},
                           "spec": {"containers": [{"name": "c" * 60, "resources": {
                               "limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "99999"}}}]}}, ["n1", "n2"])
        return metric(daemon, "aliquot_dropped_log_lines_total") > 0
    wait_for("lines of the log are lost", lost, 120)


def metric(daemon, name):
    """A sample without labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port + 1}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    raise Failure(f"there is no metric {name}")


def crowd(stage):
    """1,000 idle connections, 100 that send a byte at a time, and endless heads: pods are placed as ever."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with stage.control_plane() as plane, stage.daemon(plane) as daemon:
        api = plane.api
        nodes = create_nodes(api, 5)
        connect = lambda: socket.create_connection(("127.0.0.1", daemon.port), timeout=30)
        idle = [connect() for _ in range(1000)]
        slow = [connect() for _ in range(100)]
        done = threading.Event()

        def drip():
            text, at = b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b" " * 100000, 0
            while not done.wait(0.2):
                for connection in slow:
                    try:
                        connection.send(text[at:at + 1])
                    except OSError:
                        pass    # refused, as it should be after a while
                at += 1
        dripper = threading.Thread(target=drip)
        dripper.start()
        try:
            with lib.Recorder(api) as recorder, lib.DevicePlugins(api):
                create_at_once(api, [lib.random_pod(f"p{i}", stage.rng) for i in range(30)])
                heads = [endless_head(connect()) for _ in range(20)]
                try:
                    wait_for("all pods placed", lambda: served(api), 90)
                finally:
                    check_all(api, nodes, recorder)
            begin = time.monotonic()
            filter_on(daemon, api.create(make_pod("last", {"gpu": 1, "gpumem": 1}, schedulerName="nobody")),
                      [node["metadata"]["name"] for node in nodes])
            took = time.monotonic() - begin
        finally:
            done.set()
            dripper.join()
            for connection in idle + slow:
                connection.close()
    if set(heads) != {b"HTTP/1.1 431"}:
        raise Failure(f"endless heads were answered {set(heads)}")
    return f"one more /filter took {took * 1000:.0f} ms"


def endless_head(connection):
    """Sends header lines until the server has enough; the beginning of its answer."""
    with connection:
        connection.sendall(b"POST /filter HTTP/1.1\r\n")
        try:
            for _ in range(1000):
                connection.sendall(b"X-Padding: " + b"x" * 1000 + b"\r\n")
        except OSError:
            pass
        try:
            return connection.recv(12)
        except OSError as problem:
            return str(problem).encode()


def compaction(stage):
    """While the daemon stands still pods and nodes change, etcd forgets the history and the API server restarts: it catches up."""
    with stage.control_plane(scheduler=False) as plane, stage.daemon(plane) as daemon:
        api = plane.api
        nodes = create_nodes(api, 3)
        names = [node["metadata"]["name"] for node in nodes]
        with lib.Recorder(api) as recorder, lib.DevicePlugins(api):
            for i in range(12):
                pod = api.create(lib.random_pod(f"p{i}", stage.rng))
                bind_to(daemon, pod, filter_on(daemon, pod, names))
            wait_for("all pods served", lambda: served(api), 30)
            os.kill(daemon.process.child.pid, signal.SIGSTOP)
            try:
                for i in stage.rng.sample(range(12), 4):
                    api.delete_pod(f"p{i}")
                api.must("DELETE", "/api/v1/nodes/n3")
                share = "n1-g0,NVIDIA,7,0:;"
                api.create(make_pod("foreign", {"gpu": 1, "gpumem": 7}, nodeName="n1", annotations={
                    lib.NODE: "n1", lib.ALLOCATED: share, lib.TO_ALLOCATE: share, lib.PHASE: "success"}))
                revision = int(api.get("pods")["metadata"]["resourceVersion"])
                forget_history(plane, revision)
                plane.restart_apiserver(0)
            finally:
                os.kill(daemon.process.child.pid, signal.SIGCONT)
            last = api.create(make_pod("last", {"gpu": 1, "gpumem": 3}))
            wait_for("n3 is gone for the daemon",
                     lambda: daemon.filter(last, ["n3"])["FailedAndUnresolvableNodes"] == {"n3": "node unregistered"}, 60)
            wait_for("the daemon knows the foreign pod",
                     lambda: "foreign" in daemon_pods(daemon), 30)
            lines = recorder.problems + lib.overcommitted(api.pods())
            if lines:
                raise Failure("\n".join(lines))
            api.delete_pod("last")
            return f"{probe_all(api, daemon, nodes[:2])} cards in use"


def daemon_pods(daemon):
    """Names of the pods of which the daemon's metrics tell."""
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port + 1}/metrics", timeout=10) as answer:
        return {part.partition('"')[0] for part in answer.read().decode().split('pod="')[1:]}


def forget_history(plane, revision):
    """etcd compacts everything before the revision."""
    request = urllib.request.Request(f"http://127.0.0.1:{plane.port + 1}/v3/kv/compaction",
                                     json.dumps({"revision": revision, "physical": True}).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()


SCENARIOS = (kills, terms, stalled, crowd, compaction)
