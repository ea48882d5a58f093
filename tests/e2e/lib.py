"""What the end-to-end tests share: the API, processes, the nodes' played side, the checks.

Everything runs on 127.0.0.1 and uses the standard library only.
"""
import base64
import collections
import datetime
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CONTROL_PLANE = HERE / "control-plane"
DEVICE_CONFIG = ROOT / "tests/conformance/device-configs/default.yaml"

LOCK = "hami.io/mutex.lock"
REGISTER = "hami.io/node-nvidia-register"
HANDSHAKE = "hami.io/node-handshake"
PHASE = "hami.io/bind-phase"
NODE = "hami.io/vgpu-node"
ALLOCATED = "hami.io/vgpu-devices-allocated"
TO_ALLOCATE = "hami.io/vgpu-devices-to-allocate"

CARD_MIB, CARD_CORES, CARD_SLOTS = 40960, 100, 10


class Failure(Exception):
    """A scenario saw something that must not be; the text says what."""


def wait_for(what, condition, seconds):
    """Polls condition until it gives something true and returns that; Failure after the time."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not seen within {seconds} s")
        time.sleep(0.05)


# ----------------------------------------------------------------- processes

class Process:
    """A program of ours in the background, its output in a file; ended by its own id."""

    def __init__(self, command, log, env=None):
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as out:
            self.child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})

    def check_alive(self):
        if self.child.poll() is not None:
            lines = self.log.read_text(errors="replace").splitlines() or ["(no output)"]
            raise Failure(f"{self.child.args[0]} ended with status {self.child.returncode}: {lines[-1]}")

    def kill(self):
        """SIGKILL, as a crash would be."""
        self.child.kill()
        self.child.wait()

    def stop(self):
        """SIGTERM; SIGKILL if it has not ended 10 s later."""
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()


def ended(pid):
    """True if no process of this id runs any more; a zombie has no command line."""
    try:
        return not pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


class Extender:
    """The daemon under test. It may be killed and started again with the same addresses."""

    def __init__(self, command, port, log, env=None):
        """command: its words, where {http}, {metrics}, {debug} and {webhook} stand for listen addresses."""
        places = {name: f"127.0.0.1:{port + i}" for i, name in enumerate(("http", "metrics", "debug", "webhook"))}
        self.command = [str(word).format(**places) for word in command]
        self.port, self.log, self.env, self.process = port, log, env, None

    def start(self):
        self.process = Process(self.command, self.log, self.env)
        wait_for("/readyz of the extender", self.ready, 30)

    def ready(self):
        self.process.check_alive()
        try:
            return self.request("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def request(self, method, path, body=None, port=None):
        """One HTTP request, to {http} unless another port is given; returns (status, bytes)."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=40)
        try:
            connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def leads(self):
        """True if the daemon takes itself for the leader."""
        return b"\naliquot_leader 1\n" in self.request("GET", "/metrics", port=self.port + 1)[1]

    def metric(self, name):
        """The samples of a metric: (labels, value) each."""
        page = self.request("GET", "/metrics", port=self.port + 1)[1].decode()
        samples = re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", page, re.MULTILINE)
        return [(dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)) for labels, value in samples]

    def post(self, path, body):
        """POSTs as kube-scheduler does; anything but 200 with JSON is a Failure."""
        status, data = self.request("POST", path, body)
        if status != 200:
            raise Failure(f"POST {path}: HTTP {status}: {data[:200]!r}")
        return json.loads(data)

    def debug(self, path):
        """The JSON at a path of {debug}."""
        status, data = self.request("GET", path, port=self.port + 2)
        if status != 200:
            raise Failure(f"GET {path}: HTTP {status}: {data[:200]!r}")
        return json.loads(data)

    def filter(self, pod, nodes):
        return self.post("/filter", {"Pod": pod, "Nodes": None, "NodeNames": nodes})

    def bind(self, pod, node):
        meta = pod["metadata"]
        return self.post("/bind", {"PodName": meta["name"], "PodNamespace": meta["namespace"],
                                   "PodUID": meta["uid"], "Node": node})


def free_base_port():
    """A base port for a control plane: it and the thirteen after it are free now."""
    for base in random.SystemRandom().sample(range(23000, 32000, 20), 100):
        sockets = []
        try:
            for port in range(base, base + 14):
                sockets.append(socket.create_server(("127.0.0.1", port)))
            return base
        except OSError:
            continue
        finally:
            for taken in sockets:
                taken.close()
    raise Failure("no free ports")


def shipped_scheduler_config():
    """deploy/kube-scheduler.yaml, as ControlPlane takes it."""
    text = (ROOT / "deploy/kube-scheduler.yaml").read_text().replace("{", "{{").replace("}", "}}")
    for example, place in (("/etc/kubernetes/scheduler.conf", "{kubeconfig}"), ("http://127.0.0.1:8080", "{extender}")):
        if example not in text:
            raise Failure(f"deploy/kube-scheduler.yaml does not name {example}")
        text = text.replace(example, place)
    return text


def on_host(name, command):
    """The command on a host of its own name: gethostname() says it. The process id stays the command's."""
    own = ["unshare", "--uts"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
    return [*own, "sh", "-c", 'hostname "$0" && exec "$@"', name, *command]


class ControlPlane:
    """etcd, kube-apiserver and, if asked for, kube-scheduler; gone at the end of the with block."""

    def __init__(self, folder, scheduler=True, scheduler_config=None, rbac=False):
        """scheduler_config: text of its configuration, in which {kubeconfig} and {extender} are filled in."""
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_base_port()
        self.extender_port = self.port + 10
        self.options = ["--scheduler"] * scheduler + ["--rbac"] * rbac
        if scheduler_config:
            file = self.folder / "scheduler-config.yaml"
            file.write_text(scheduler_config.format(kubeconfig=self.folder / "scheduler.kubeconfig",
                                                    extender=f"http://127.0.0.1:{self.extender_port}"))
            self.options += ["--scheduler-config", str(file)]
        self.api = Api(self.port)
        self.kubeconfig = str(self.folder / "extender.kubeconfig")     # the daemon's

    def __enter__(self):
        self.control("down")    # of a run that was killed
        try:
            self.control("up", "--port", str(self.port), *self.options)
        except BaseException:
            self.control("down")
            raise
        return self

    def __exit__(self, *_):
        self.control("down")

    def control(self, verb, *options):
        done = subprocess.run([CONTROL_PLANE, verb, "--dir", self.folder, *options], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise Failure(f"control-plane {verb}: {done.stdout.strip()}")

    def program(self, name):
        """Path of a program of Kubernetes."""
        folder = subprocess.run([CONTROL_PLANE, "bin"], text=True, check=True, stdout=subprocess.PIPE).stdout.strip()
        return f"{folder}/{name}"

    def kubectl(self, *words):
        """kubectl as admin; its output."""
        done = subprocess.run([self.program("kubectl"), f"--kubeconfig={self.folder}/admin.kubeconfig", *words],
                              text=True, capture_output=True)
        if done.returncode:
            raise Failure(f"kubectl {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def kubeconfig_of(self, account):
        """Path of a kubeconfig of a service account of kube-system."""
        token = self.kubectl("create", "token", account, "--namespace=kube-system").strip()
        file = self.folder / f"{account}.kubeconfig"
        file.write_text(pathlib.Path(self.kubeconfig).read_text().replace("extendertoken", token))
        return str(file)

    def start_scheduler(self, host, port, config, extender_port):
        """One more kube-scheduler, on a host of its own name; config as for the constructor."""
        file = self.folder / f"{host}.yaml"
        file.write_text(config.format(kubeconfig=self.folder / "scheduler.kubeconfig",
                                      extender=f"http://127.0.0.1:{extender_port}"))
        command = [self.program("kube-scheduler"), f"--config={file}", "--bind-address=127.0.0.1",
                   f"--secure-port={port}", f"--cert-dir={self.folder / 'pki'}", "--v=2"]
        return Process(on_host(host, command), self.folder / f"{host}-kube-scheduler.log")

    def restart_apiserver(self, seconds):
        """Kills kube-apiserver and starts it again after the time, on the same data; returns once it answers."""
        pid = int((self.folder / "kube-apiserver.pid").read_text())
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
        os.kill(pid, signal.SIGKILL)
        wait_for("end of kube-apiserver", lambda: ended(pid), 10)
        time.sleep(seconds)     # the outage itself
        with open(self.folder / "kube-apiserver.log", "ab") as log:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                     start_new_session=True)
        (self.folder / "kube-apiserver.pid").write_text(f"{child.pid}\n")
        wait_for("an answer of kube-apiserver", self.api.ready, 60)


# ----------------------------------------------------------------------- API

MERGE = "application/merge-patch+json"


class Api:
    """The Kubernetes API as admin. Any thread may call; each has a connection of its own."""

    def __init__(self, port):
        self.port, self.local = port, threading.local()

    def connect(self, timeout):
        # The API server makes its certificate itself, at its first start.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=timeout)

    def call(self, method, path, body=None, kind="application/json"):
        """One request; returns (status, decoded JSON). Status 0: the connection was refused or lost."""
        if not hasattr(self.local, "connection"):
            self.local.connection = self.connect(30)
        connection = self.local.connection
        try:
            connection.request(method, path, body and json.dumps(body),
                               {"Authorization": "Bearer admintoken", "Content-Type": kind})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError) as problem:
            connection.close()
            return 0, {"message": f"{type(problem).__name__}: {problem}"}

    def must(self, method, path, body=None, kind="application/json"):
        """As call, but anything except success is a Failure."""
        status, answer = self.call(method, path, body, kind)
        if not 200 <= status < 300:
            raise Failure(f"{method} {path}: {status} {(answer or {}).get('message')}")
        return answer

    def ready(self):
        return self.call("GET", "/api/v1/nodes?limit=1")[0] == 200

    def get(self, path):
        return self.must("GET", "/api/v1/" + path)

    def create(self, thing, patience=30):
        """Creates a pod or node and returns it as stored; tries again while the API server is away."""
        plural = "nodes" if thing["kind"] == "Node" else "namespaces/default/pods"
        deadline = time.monotonic() + patience
        while True:
            status, answer = self.call("POST", "/api/v1/" + plural, thing)
            if status == 201:
                return answer
            name = thing["metadata"]["name"]
            if status == 409:       # an earlier try arrived, its answer did not
                return self.get(f"{plural}/{name}")
            if status not in (0, 429, 500, 503) or time.monotonic() > deadline:
                raise Failure(f"creating {name}: {status} {answer.get('message')}")
            time.sleep(0.2)

    def pod(self, name):
        return self.get(f"namespaces/default/pods/{name}")

    def pods(self):
        return self.get("namespaces/default/pods")["items"]

    def nodes(self):
        return self.get("nodes")["items"]

    def patch_pod(self, name, patch, subresource=""):
        return self.must("PATCH", f"/api/v1/namespaces/default/pods/{name}{subresource}", patch, MERGE)

    def patch_node(self, name, patch):
        return self.must("PATCH", f"/api/v1/nodes/{name}", patch, MERGE)

    def delete_pod(self, name):
        self.must("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")


# ------------------------------------------------------------------- webhook

WEBHOOK = "vgpu.hami.io"


class Authority:
    """A certificate authority of its own, and the serving certificate of 127.0.0.1 that it issued last."""

    def __init__(self, folder):
        folder.mkdir(parents=True)
        self.folder, self.certificate, self.key = folder, folder / "tls.crt", folder / "tls.key"
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test authority", "-days", "1",
                     "-keyout", "ca.key", "-out", "ca.crt")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)

    def issue(self, serial):
        """A new pair under a new serial number, which takes the place of the old one file by file."""
        (self.folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=webhook", "-keyout", "new.key",
                     "-out", "new.csr")
        self.openssl("x509", "-req", "-in", "new.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial", str(serial),
                     "-days", "1", "-extfile", "names", "-out", "new.crt")
        (self.folder / "new.key").rename(self.key)
        (self.folder / "new.crt").rename(self.certificate)

    def serial_at(self, port):
        """The serial number that a new connection is shown."""
        pem = ssl.get_server_certificate(("127.0.0.1", port))
        shown = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem, text=True, check=True,
                               capture_output=True).stdout
        return int(shown.strip().partition("=")[2], 16)

    def bundle(self):
        return base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()


def asks_webhook(api):
    """True if a new pod goes through the webhook."""
    answer = api.must("POST", "/api/v1/namespaces/default/pods?dryRun=All",
                      make_pod("probe", {"gpu": 1}, schedulerName=None))
    return answer["spec"]["schedulerName"] == "hami-scheduler"


def register_webhook(api, url, authority):
    """Registers the admission webhook as HAMi's chart does, but that no pod passes without it; returns once it is asked."""
    api.must("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "test"},
        "webhooks": [{"name": WEBHOOK, "clientConfig": {"url": url, "caBundle": authority.bundle()},
                      "admissionReviewVersions": ["v1beta1"], "sideEffects": "None", "failurePolicy": "Fail",
                      "matchPolicy": "Equivalent", "timeoutSeconds": 10,
                      "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                                 "resources": ["pods"], "scope": "*"}]}]})
    wait_for("the API server asks the webhook", lambda: asks_webhook(api), 30)


# ----------------------------------------------------------- nodes and pods

def make_node(name, cards=4):
    """A node with registered NVIDIA cards <name>-g0, <name>-g1, ..."""
    register = [{"id": f"{name}-g{i}", "index": i, "count": CARD_SLOTS, "devmem": CARD_MIB, "devcore": CARD_CORES,
                 "type": "NVIDIA A100-SXM4-40GB", "numa": 0, "mode": "hami-core", "health": True}
                for i in range(cards)]
    room = {"cpu": "64", "memory": "512Gi", "pods": "250", "nvidia.com/gpu": str(cards * CARD_SLOTS)}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {REGISTER: json.dumps(register)}},
            "status": {"capacity": room, "allocatable": room,
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def make_pod(name, *limits, annotations=None, **spec):
    """A pod with one container per element of limits, e.g. {"gpu": 1, "gpumem": 2000}."""
    containers = [{"name": f"c{i}", "image": "test", "resources": {
        "limits": {f"nvidia.com/{key}": str(value) for key, value in wanted.items()}}}
        for i, wanted in enumerate(limits)]
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
            "spec": {"schedulerName": "hami-scheduler", "containers": containers, **spec}}


def random_pod(name, rng):
    """A pod of a random shape, so small that ten for each node of 4 cards find room under any policy."""
    def container():
        wanted = {"gpu": rng.choice([1, 1, 1, 2])}
        if rng.random() < 0.25:
            wanted["gpumem-percentage"] = rng.randint(1, 15)
        else:
            wanted["gpumem"] = rng.randint(1, 6000)
        if rng.random() < 0.5:
            wanted["gpucores"] = rng.randint(1, 15)
        return wanted
    return make_pod(name, *[container() for _ in range(rng.choice([1, 1, 1, 2]))])


def cards_of(node):
    return [card["id"] for card in json.loads(node["metadata"]["annotations"].get(REGISTER, "[]"))]


def limits_of(pod):
    """Per container its NVIDIA limits as numbers, the vendor's prefix left out."""
    def number(text):
        return int(text[:-1]) * 1000 if text.endswith("k") else int(text)
    return [{key.removeprefix("nvidia.com/"): number(value)
             for key, value in container.get("resources", {}).get("limits", {}).items()
             if key.startswith("nvidia.com/")}
            for container in pod["spec"]["containers"]]


def parse_allocated(text):
    """Per container its shares (card, type, MiB, cores) from the text id,type,mem,cores:...;..."""
    shares = []
    for part in text.split(";")[:-1]:
        entries = [entry.split(",") for entry in part.split(":") if entry]
        shares.append([(card, kind, int(mib), int(cores)) for card, kind, mib, cores in entries])
    return shares


def holds(pod):
    """True for a bound pod that has not ended."""
    return pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


Use = collections.namedtuple("Use", "slots mib cores")


def usage(pods):
    """card -> Use, over the pods that hold something."""
    used = collections.defaultdict(lambda: Use(0, 0, 0))
    for pod in filter(holds, pods):
        for share in parse_allocated(pod["metadata"].get("annotations", {}).get(ALLOCATED, "")):
            for card, _, mib, cores in share:
                old = used[card]
                used[card] = Use(old.slots + 1, old.mib + mib, old.cores + cores)
    return dict(used)


# -------------------------------------------------------------------- checks

def overcommitted(pods):
    """Lines about cards that were promised more than they have."""
    return [f"card {card} is over-committed: {use}" for card, use in sorted(usage(pods).items())
            if use.slots > CARD_SLOTS or use.mib > CARD_MIB or use.cores > CARD_CORES]


def misplaced(pod, nodes):
    """Lines about what is wrong with a pod that should have been placed on one of the nodes.

    REQUIRES: the played device plugin has served the pod.
    """
    name = pod["metadata"]["name"]
    node, have = pod["spec"].get("nodeName"), pod["metadata"].get("annotations", {})
    if not node:
        conditions = [f"{c.get('reason')}: {c.get('message')}" for c in pod["status"].get("conditions", [])]
        return [f"{name} is not bound; {conditions}"]
    lines = []

    def expect(what, got, want):
        if got != want:
            lines.append(f"{name}: {what} is {got!r}, not {want!r}")

    expect(NODE, have.get(NODE), node)
    expect(f"label {NODE}", pod["metadata"].get("labels", {}).get(NODE), node)
    expect(TO_ALLOCATE, have.get(TO_ALLOCATE), have.get(ALLOCATED))
    expect(PHASE, have.get(PHASE), "success")
    for key in ("hami.io/vgpu-time", "hami.io/bind-time"):
        text = have.get(key, "")
        if not text.isdecimal() or abs(int(text) - time.time()) > 3600:
            lines.append(f"{name}: {key} is {text!r}, not the time in Unix seconds")
    try:
        shares = parse_allocated(have.get(ALLOCATED, ""))
    except ValueError as problem:
        return lines + [f"{name}: {ALLOCATED} is unreadable: {problem}"]
    wanted = limits_of(pod)
    expect("number of containers in the allocation", len(shares), len(wanted))
    own = {n["metadata"]["name"]: cards_of(n) for n in nodes}.get(node, [])
    for index, (got, want) in enumerate(zip(shares, wanted)):
        mib = want.get("gpumem", CARD_MIB * want.get("gpumem-percentage", 100) // 100)
        expect(f"container {index}", [s[1:] for s in got],
               [("NVIDIA", mib, want.get("gpucores", 0))] * want.get("gpu", 0))
        ids = [s[0] for s in got]
        if len(set(ids)) < len(ids) or not set(ids) <= set(own):
            lines.append(f"{name}: container {index} got cards {ids} of {own}")
    return lines


class Recorder(threading.Thread):
    """Watches all pods and notes what must not happen: a second node, an allocation that changes after binding."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.done, self.seen, self.problems = api, threading.Event(), {}, []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()

    def run(self):
        while not self.done.is_set():
            status, answer = self.api.call("GET", "/api/v1/pods")
            if status == 200:
                for pod in answer["items"]:
                    self.note(pod)
                self.follow(answer["metadata"]["resourceVersion"])
            self.done.wait(0.1)

    def follow(self, version):
        """One watch, until it breaks; it is cut after two seconds so that the end is noticed."""
        connection = self.api.connect(10)
        try:
            while not self.done.is_set():
                connection.request("GET", f"/api/v1/pods?watch=1&timeoutSeconds=2&resourceVersion={version}",
                                   headers={"Authorization": "Bearer admintoken"})
                answer = connection.getresponse()
                for line in answer:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "DELETED":
                        self.note(event["object"])
        except (OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            connection.close()

    def note(self, pod):
        node = pod["spec"].get("nodeName")
        if not node:
            return
        now = (node, pod["metadata"].get("annotations", {}).get(ALLOCATED))
        first = self.seen.setdefault(pod["metadata"]["uid"], now)
        if now != first:
            self.problems.append(f"{pod['metadata']['name']} was bound as {first}, then changed to {now}")


class DevicePlugins(threading.Thread):
    """Plays kubelet and device plugin of every node.

    A bound pod that holds its node's lock gets its devices: bind phase success, phase
    Running, lock released. Every five seconds each node reports itself, as plugins do.
    Errors are expected while the API server is away; the next round tries again.
    """

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.done, self.reported = api, threading.Event(), time.monotonic()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()

    def run(self):
        while not self.done.wait(0.03):
            try:
                self.round()
            except Failure:
                continue

    def round(self):
        report = time.monotonic() - self.reported > 5
        for node in self.api.nodes():
            name, have = node["metadata"]["name"], node["metadata"].get("annotations", {})
            if LOCK in have:
                self.serve(name, node["metadata"]["resourceVersion"], have[LOCK])
            if report:
                now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
                self.api.patch_node(name, {"metadata": {"annotations": {HANDSHAKE: f"Reported_{now}"}}})
        if report:
            self.reported = time.monotonic()

    def serve(self, node, version, lock):
        _, namespace, name = lock.split(",")
        status, pod = self.api.call("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
        if status != 200 or pod["spec"].get("nodeName") != node:
            return
        if pod["metadata"]["annotations"].get(PHASE) == "allocating":
            self.api.patch_pod(name, {"metadata": {"annotations": {PHASE: "success"}}})
            self.api.patch_pod(name, {"status": {"phase": "Running"}}, "/status")
        self.api.patch_node(node, {"metadata": {"annotations": {LOCK: None}, "resourceVersion": version}})


# ------------------------------------------------------------- what scenarios do

def create_nodes(api, count):
    nodes = [make_node(f"n{i + 1}") for i in range(count)]
    return [api.create(node) for node in nodes]


def create_at_once(api, pods):
    """Creates the pods from eight threads."""
    problems = []

    def work(share):
        try:
            for pod in share:
                api.create(pod)
        except Failure as problem:
            problems.append(str(problem))
    threads = [threading.Thread(target=work, args=(pods[i::8],)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise Failure("; ".join(problems))


def served(api):
    """All pods, once each of them is bound and has its devices; else nothing."""
    pods = api.pods()
    done = all(pod["metadata"].get("annotations", {}).get(PHASE) == "success" for pod in pods)
    return pods if done else None


def check_all(api, nodes, recorder):
    """The promises to a cluster: each pod placed once, as asked for, and no card promised twice."""
    pods = api.pods()
    lines = recorder.problems + overcommitted(pods)
    for pod in pods:
        lines += misplaced(pod, nodes)
    if lines:
        raise Failure("\n".join(lines))


def filter_on(daemon, pod, nodes):
    """The node that /filter chose for a stored pod; Failure if it chose none."""
    answer = daemon.filter(pod, nodes)
    if answer["Error"] or len(answer["NodeNames"] or []) != 1:
        raise Failure(f"/filter of {pod['metadata']['name']} answered {answer}")
    return answer["NodeNames"][0]


def bind_to(daemon, pod, node):
    answer = daemon.bind(pod, node)
    if answer["Error"]:
        raise Failure(f"/bind of {pod['metadata']['name']} to {node} answered {answer}")


def probe(api, daemon, node, card, free):
    """Shows by two pods that a card has exactly so many free MiB."""
    for mib, fits in ((free + 1, False), (free, True)):
        name = f"probe-{card}-{mib}"
        pod = api.create(make_pod(name, {"gpu": 1, "gpumem": mib}, annotations={"nvidia.com/use-gpuuuid": card},
                                  schedulerName="nobody"))
        answer = daemon.filter(pod, [node])
        if bool(answer["NodeNames"]) != fits or answer["Error"]:
            raise Failure(f"card {card} has {free} MiB free; /filter of a pod with {mib} MiB answered {answer}")
        api.delete_pod(name)


def probe_all(api, daemon, nodes):
    """The same for every card, as far as one more pod could have a share of it; returns the cards in use."""
    used = usage(api.pods())
    for node in nodes:
        for card in cards_of(node):
            slots, mib, cores = used.get(card, Use(0, 0, 0))
            if slots < CARD_SLOTS and cores < CARD_CORES:
                probe(api, daemon, node["metadata"]["name"], card, CARD_MIB - mib)
    return len(used)
