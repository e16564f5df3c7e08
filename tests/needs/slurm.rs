//! The cluster engine against a real Slurm: a controller and two nodes on this machine.
//!
//! Needs Debian's packages `slurm-wlm` and `munge` and the rights of root.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::need::{Need, daemons};
use crate::support::{Folder, stderr, sweep, table};

pub(crate) fn tests() -> Vec<Trial> {
    trials! {
        Need::Slurm => forty_runs_survive_the_death_of_a_node,
    }
}

/// A cluster in a folder of its own; it ends with the test.
struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    fn start(folder: &Path) -> Self {
        let [munged, slurmctld, slurmd] = daemons().unwrap();
        let host = Command::new("hostname").output().unwrap();
        let host = String::from_utf8_lossy(&host.stdout).trim().to_owned();
        let path = folder.display();
        // Ports that other tests on this machine are not likely to have.
        let port = 20_000 + std::process::id() % 20_000;
        let text = format!(
            "ClusterName=mpu\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\n\
             AuthType=auth/munge\nAuthInfo=socket={path}/munge.socket\n\
             SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={path}/state\nSlurmdSpoolDir={path}/spool-%n\n\
             SlurmctldPidFile={path}/slurmctld.pid\nSlurmdPidFile={path}/slurmd-%n.pid\n\
             SlurmctldLogFile={path}/slurmctld.log\nSlurmdLogFile={path}/slurmd-%n.log\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nReturnToService=2\nSlurmdTimeout=5\nKillWait=2\nMpiDefault=none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1\n\
             NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1\n\
             PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n",
            port + 1,
            port + 2
        );
        std::fs::create_dir(folder.join("state")).unwrap();
        std::fs::write(folder.join("slurm.conf"), text).unwrap();
        let key: Vec<u8> = (0..=255u8).cycle().take(1024).collect();
        std::fs::write(folder.join("munge.key"), key).unwrap();
        run("chmod", &["400", &format!("{path}/munge.key")]);
        run("chmod", &["755", &format!("{path}")]);
        let cluster = Self {
            folder: folder.to_owned(),
        };
        let flag = |name: &str, file: &str| format!("--{name}={path}/{file}");
        let flags = [
            flag("key-file", "munge.key"),
            flag("socket", "munge.socket"),
            flag("pid-file", "munged.pid"),
            flag("log-file", "munged.log"),
            flag("seed-file", "munged.seed"),
            "--force".to_owned(),
        ];
        let munged = Command::new(munged).args(flags).status().unwrap();
        assert!(munged.success(), "munged does not start");
        assert!(cluster.command(&slurmctld, &["-i"]).status.success());
        for node in ["n1", "n2"] {
            assert!(cluster.command(&slurmd, &["-N", node]).status.success());
        }
        cluster.wait_for("two idle nodes", 60, || {
            let nodes = cluster.command(Path::new("sinfo"), &["-h", "-t", "idle", "-o", "%D"]);
            nodes.stdout == b"2\n"
        });
        cluster
    }

    fn command(&self, program: &Path, args: &[&str]) -> Output {
        Command::new(program)
            .args(args)
            .env("SLURM_CONF", self.folder.join("slurm.conf"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn wait_for(&self, what: &str, seconds: u64, mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            if start.elapsed() > Duration::from_secs(seconds) {
                let log = std::fs::read_to_string(self.folder.join("slurmctld.log"));
                panic!("no {what} after {seconds} s:\n{}", log.unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn submit(&self, sweep: &Path, out: &Path) -> String {
        let (sweep, out) = (sweep.to_str().unwrap(), out.to_str().unwrap());
        let args = ["submit", sweep, "--out", out, "--task-minutes", "0.01"];
        let program = Path::new(env!("CARGO_BIN_EXE_mpu-cli"));
        let output = self.command(program, &args);
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn kill(&self, pid_file: &str, signal: &str) {
        if let Ok(pid) = std::fs::read_to_string(self.folder.join(pid_file)) {
            run("kill", &[signal, pid.trim()]);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.command(Path::new("scancel"), &["--user=root"]);
        for daemon in ["slurmd-n1", "slurmd-n2", "slurmctld", "munged"] {
            self.kill(&format!("{daemon}.pid"), "-TERM");
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn run(program: &str, args: &[&str]) {
    let mut command = Command::new(program);
    command.args(args).stderr(Stdio::null()).status().unwrap();
}

fn n_records(out: &Path) -> usize {
    std::fs::read_dir(out.join("records")).map_or(0, Iterator::count)
}

fn forty_runs_survive_the_death_of_a_node() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("slurm")).unwrap();
    let cluster = Cluster::start(&folder.path("slurm"));
    sweep(&folder, 10, 60);
    let (file, out) = (folder.path("sweep.toml"), folder.path("cluster"));
    let told = cluster.submit(&file, &out);
    assert!(told.contains("submitted 40 runs"), "{told}");
    cluster.wait_for("first records", 60, || n_records(&out) >= 5);
    assert!(n_records(&out) < 40, "the node must die midway");
    for node in ["n1", "n2"] {
        let log = std::fs::read_to_string(cluster.folder.join(format!("slurmd-{node}.log")));
        assert!(log.unwrap().contains("batch job"), "{node} has work");
    }
    cluster.kill("slurmd-n2.pid", "-KILL");

    let queue_is_empty = || {
        cluster
            .command(Path::new("squeue"), &["-h"])
            .stdout
            .is_empty()
    };
    let mut submissions = 1;
    loop {
        cluster.wait_for("empty queue", 180, queue_is_empty);
        if cluster.submit(&file, &out).contains("nothing to submit") {
            break;
        }
        submissions += 1;
        assert!(submissions < 5, "runs stay missing");
    }
    assert_eq!(n_records(&out), 40);

    folder.told("run sweep.toml --out local --offline");
    assert_eq!(table(&folder, "cluster"), table(&folder, "local"));
}
