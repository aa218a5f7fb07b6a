"""
A Citus cluster in a directory: a coordinator and workers, each a Postgres of its own on this machine.

`.ci/run` builds Citus once, outside of the checkout. Without it, tests of the cluster are skipped.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from mirrord.db.server import server_launch
from tests.support.harness import eventually

START_SECONDS = 120.0  # seconds until a node answers, on a busy machine
SHARDS = 4  # per table: two for each worker
_SETTINGS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "max_connections": "80",
    "max_prepared_transactions": "80",
    "max_worker_processes": "12",
    "shared_buffers": "32MB",
    "fsync": "off",
    "jit": "off",
    "io_method": "sync",
    "citus.shard_count": str(SHARDS),
    "citus.enable_statistics_collection": "off",
    "citus.node_conninfo": "sslmode=disable",
}


def citus_directory() -> Path:
    """Where Citus is built: $MIRRORD_CITUS, or a directory of the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("MIRRORD_CITUS") or cache / "mirrord" / "citus-14.0.1")


def is_citus_built() -> bool:
    """Whether tests of a cluster can run."""
    return (citus_directory() / "ready").exists()


@dataclass(slots=True)
class Node:
    """One Postgres of the cluster."""

    directory: Path
    port: int
    pid: int = 0

    def dsn(self, database: str = "mirrord", user: str = "postgres") -> str:
        """The string that reaches *database* on this node alone."""
        return make_conninfo(host="localhost", port=self.port, user=user, dbname=database)

    def create(self) -> None:
        """Make the cluster's directory, which lets in every program of this machine."""
        self.directory.mkdir(parents=True)
        initdb = [citus_directory() / "bin" / "initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8"]
        _run(*initdb, "-N", "-D", self.directory / "pg")

    def start(self) -> None:
        """Start the server and return when it answers."""
        settings = {**_SETTINGS, "port": str(self.port), "unix_socket_directories": "", "listen_addresses": "localhost"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        postgres = citus_directory() / "bin" / "postgres"
        self.pid = int(_run("--log", self.directory / "log", postgres, "-D", self.directory / "pg", *words))
        eventually(self.is_answering, f"the node on port {self.port} answers", START_SECONDS)

    def end(self, number: int = signal.SIGINT) -> None:
        """End the server: SIGINT, in order; SIGQUIT, as in a crash. Does nothing if it does not run."""
        if self.pid:
            os.kill(self.pid, number)
            eventually(lambda: not (self.directory / "pg" / "postmaster.pid").exists() or None, "a node has ended")
            self.pid = 0

    def is_answering(self) -> bool:
        """Whether the server lets a connection in."""
        try:
            psycopg.connect(self.dsn("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@dataclass(slots=True)
class CitusCluster:
    """A running cluster with a database `mirrord` that has Citus on every node, and nothing else."""

    directory: Path
    coordinator: Node
    workers: list[Node] = field(default_factory=list)

    @property
    def nodes(self) -> list[Node]:
        """The coordinator and the workers."""
        return [self.coordinator, *self.workers]

    def dsn(self, user: str = "postgres", database: str = "mirrord") -> str:
        """What mirrord and apps are given: the coordinator's address."""
        return self.coordinator.dsn(database, user)

    def add_worker(self) -> Node:
        """Start one more Postgres, which the coordinator does not know yet."""
        node = Node(self.directory / f"worker-{len(self.workers) + 1}", *_free_ports(1))
        self.workers.append(node)
        node.create()
        node.start()
        return node

    def create_database(self, name: str) -> str:
        """Make a database with Citus on every node; the superuser's connection string to it."""
        for node in self.nodes:
            with psycopg.connect(node.dsn("postgres"), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            with psycopg.connect(node.dsn(name), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION citus")
        with psycopg.connect(self.coordinator.dsn(name), autocommit=True) as connection:
            connection.execute("SELECT citus_set_coordinator_host('localhost', %s)", [self.coordinator.port])
            for worker in self.workers:
                connection.execute("SELECT citus_add_node('localhost', %s)", [worker.port])
        return self.dsn(database=name)


@contextmanager
def served_cluster(directory: Path, workers: int = 2) -> Iterator[CitusCluster]:
    """A cluster in *directory* until the block ends."""
    names = ["coordinator", *(f"worker-{number}" for number in range(1, workers + 1))]
    nodes = [Node(directory / name, port) for name, port in zip(names, _free_ports(len(names)), strict=True)]
    cluster = CitusCluster(directory, nodes[0], nodes[1:])
    try:
        for node in nodes:
            node.create()
            node.start()
        yield cluster
    finally:
        for node in cluster.nodes:
            node.end()


@contextmanager
def served_node(directory: Path) -> Iterator[Node]:
    """One Postgres with the settings of those of a cluster, and a database `mirrord` without Citus."""
    node = Node(directory, *_free_ports(1))
    try:
        node.create()
        node.start()
        with psycopg.connect(node.dsn("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE mirrord")
        yield node
    finally:
        node.end()


def _free_ports(count: int) -> list[int]:
    """Ports of this machine that no program listens on."""
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [listening.getsockname()[1] for listening in sockets]
    for listening in sockets:
        listening.close()
    return ports


def _run(*command: object) -> str:
    words = [sys.executable, "-I", "-S", server_launch.__file__, *map(str, command)]
    environment = {"LC_ALL": "C.UTF-8", "PATH": "", "LD_LIBRARY_PATH": str(citus_directory() / "libs")}
    completed = subprocess.run(words, capture_output=True, text=True, cwd="/", env=environment)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout
