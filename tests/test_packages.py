"""An application outside of the workspace builds with the packed crates, and clusters."""

import filecmp
import pathlib
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["obcut-core", "obcut", "obcut-data", "obcut-report", "obcut-baselines", "obcut-cli"]
FOLDER = ROOT / "target" / "packages"

MAIN = """
use obcut::{Model, OBCut, Silent, metrics, synthetic};
use obcut_baselines::{Method, Run};
use obcut_report::{ClusteringFacts, clustering};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let moons = synthetic::moons(200, 0.05, 1);
    let samples = moons.matrix.samples()?;
    let found = OBCut::new(2).fit(&moons.matrix)?;
    let model = Model::from_bytes(&found.model().to_bytes()?)?;
    for label in model.predict(&moons.matrix)? {
        println!("{label}");
    }
    assert!(metrics::scores(&found.labels(), &moons.labels)?.nmi > 0.99);
    assert!(clustering(&ClusteringFacts::of_fit(&found)).contains("</html>"));
    let means = "kmeans".parse::<Method>()?.build();
    assert_eq!(means.cluster(&samples, 2, &Run::default(), &Silent)?.labels.len(), 200);
    assert_eq!(obcut_data::digits().labels.len(), 1797);
    assert_eq!(obcut_cli::run(vec!["obcut".into(), "--version".into()]), 0);
    Ok(())
}
"""


def run(*command, cwd):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, content):
    """Writes a file only where it changes, so that cargo builds no more than it must."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


@pytest.fixture(scope="module")
def crates():
    """The folders of the unpacked archives."""
    shutil.rmtree(FOLDER / "package", ignore_errors=True)
    chosen = [word for name in CRATES for word in ("-p", name)]
    target = ("--target-dir", FOLDER)
    run("cargo", "package", *chosen, "--no-verify", "--offline", "--allow-dirty", "--quiet", *target, cwd=ROOT)
    folders = {}
    for name in CRATES:
        # Names of crates contain each other; versions start with a digit.
        (archive,) = (FOLDER / "package").glob(f"{name}-[0-9]*.crate")
        folders[name] = FOLDER / "unpacked" / name
        new = FOLDER / "unpacking"
        shutil.rmtree(new, ignore_errors=True)
        with tarfile.open(archive) as packed:
            packed.extractall(new, filter="data")
        # All files of an archive have one date, by which cargo would not see that they changed.
        exchange(new / archive.stem, folders[name])
    return folders


def exchange(new, old):
    """Makes a folder like a new one, and leaves files that are the same untouched."""
    names = {path.relative_to(new) for path in new.rglob("*") if path.is_file()}
    for path in [path for path in old.rglob("*") if path.is_file()]:
        if path.relative_to(old) not in names:
            path.unlink()
    for name in names:
        if not ((old / name).exists() and filecmp.cmp(new / name, old / name, shallow=False)):
            write(old / name, (new / name).read_bytes())


@pytest.mark.parametrize("name", CRATES)
def test_an_archive_has_a_page_and_the_licences(crates, name):
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.toml"]:
        assert (crates[name] / file).stat().st_size > 500, file
    assert (crates[name] / "LICENSE-MIT").read_bytes() == (ROOT / "LICENSE-MIT").read_bytes()


def test_an_application_outside_of_the_workspace_clusters(crates):
    app = FOLDER / "app"
    needed = "".join(f'{name} = "0.1"\n' for name in CRATES)
    packed = "".join(f"{name} = {{ path = '{folder}' }}\n" for name, folder in crates.items())
    manifest = '[package]\nname = "app"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n'
    # Without optimisation it takes a third of the time to build, and the lines of a debugger are not needed.
    profile = "[profile.dev]\ndebug = false\n"
    text = f"{manifest}[dependencies]\n{needed}[patch.crates-io]\n{packed}{profile}"
    write(app / "Cargo.toml", text.encode())
    write(app / "src" / "main.rs", MAIN.encode())
    # The versions that everything else is tested with.
    shutil.copy(ROOT / "Cargo.lock", app / "Cargo.lock")
    out = run("cargo", "run", "--quiet", "--offline", "--target-dir", FOLDER / "build", cwd=app)
    *labels, version = out.splitlines()
    assert len(labels) == 200 and set(labels) == {"0", "1"}
    assert version.startswith("obcut ")
