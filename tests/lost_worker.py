"""A master and two workers on loopback, one killed in mid-pass: `lost_worker.py FOLDER`.

Prints whether the evidence and the estimate are those of an undisturbed run. Ends only what it has
started, by its id.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyspark

import freewill as fw
from freewill.io.reading import read
from report_cases import QUICK_JAVA

HOST = "127.0.0.1"
LINE = fw.Linear(0, 29)
SURVEY = fw.Survey(LINE, {"bits": fw.RAPPOR(LINE, 2.0)})
DEPLOY = "org.apache.spark.deploy"
PATIENCE = 300.0
ROUNDS = 8


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def started(folder: Path, name: str, *arguments: str) -> subprocess.Popen:
    """Start a daemon of Spark; the script that starts it becomes it, so that the id is its own."""
    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": HOST}
    environment["SPARK_HOME"] = str(script.parent.parent)
    with (folder / f"{name}.log").open("w") as log:
        return subprocess.Popen(
            [str(script), *arguments], env=environment, stdout=log, stderr=log, cwd=folder
        )


def worker(folder: Path, name: str, master: str) -> subprocess.Popen:
    """Start a worker with one core."""
    options = ("--host", HOST, "--cores", "1", "--memory", "600m", "--webui-port", "0")
    folders = ("--work-dir", str(folder / name))
    return started(folder, name, f"{DEPLOY}.worker.Worker", *options, *folders, master)


def killed_in_a_pass(session, process: subprocess.Popen, done: threading.Event) -> None:
    """Wait until tasks of a pass run, and kill a worker."""
    tracker = session.sparkContext.statusTracker()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage and stage.numActiveTasks and stage.numCompletedTasks for stage in stages):
            os.kill(process.pid, signal.SIGKILL)
            done.set()
            return
        time.sleep(0.01)


def main(folder: Path) -> None:
    """Estimate twice from the same file, the second time with a worker less from some pass on."""
    rng = np.random.default_rng(3)
    path = str(folder / "reports.parquet")
    bits = SURVEY.mechanisms["bits"]
    reports = bits.obfuscate(rng.binomial(29, 0.4, 20_000), rng)
    fw.write_reports(path, [("bits", reports)])
    port = free_port()
    master = f"spark://{HOST}:{port}"
    address = ("--host", HOST, "--port", str(port), "--webui-port", "0")
    processes = [started(folder, "master", f"{DEPLOY}.master.Master", *address)]
    try:
        processes += [worker(folder, name, master) for name in ("one", "two")]
        session = fw.spark_session(
            {
                "spark.master": master,
                "spark.executor.memory": "500m",
                "spark.executor.extraJavaOptions": QUICK_JAVA,
                "spark.driver.host": HOST,
                "spark.driver.bindAddress": HOST,
                "spark.ui.enabled": "false",
                "spark.log.level": "OFF",
                "spark.scheduler.minRegisteredResourcesRatio": "1.0",
                "spark.scheduler.maxRegisteredResourcesWaitingTime": "20s",
                "spark.cores.max": "2",
            }
        )
        frame = session.read.parquet(path).repartition(4)
        with read(frame, SURVEY, hold=0).evidence as evidence:
            calm = fw.gibu(evidence, tol=1e-4)
            done = threading.Event()
            killer = threading.Thread(
                target=killed_in_a_pass, args=(session, processes[1], done), daemon=True
            )
            killer.start()
            # A quick machine may end a pass before the killer has seen it: then there is another.
            for _ in range(ROUNDS):
                disturbed = fw.gibu(evidence, tol=1e-4)
                if done.is_set():
                    break
            killer.join(1.0)
            same = bool(np.array_equal(calm.theta, disturbed.theta))
            apart = float(np.abs(calm.theta - disturbed.theta).max())
            left = fw.collect([(bits, reports)]) == evidence
        killed = done.is_set() and processes[1].wait(PATIENCE) == -signal.SIGKILL
        sys.stdout.write(
            f"killed: {killed}, evidence the same: {left}, estimate the same: {same} "
            f"({apart:.1e} apart, {disturbed.status})\n"
        )
        session.stop()
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            process.wait(PATIENCE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
