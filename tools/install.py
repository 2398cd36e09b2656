"""install: puts weft into the system, and removes it again.

    tools/install.py install BUILD          what `make install` does
    tools/install.py uninstall [BUILD]      what `make uninstall` does
    tools/install.py loader                 runs ldconfig if it can; Meson calls this
    tools/install.py python-folder PREFIX   where Python looks for packages below PREFIX

DESTDIR in the environment is put before every path, as packagers expect.

Meson copies the files. This program adds a list, PREFIX/share/weft/installed.txt, of all files and
folders that an installation has made. `uninstall` removes these files, the bytecode that Python has
compiled from them, and those of these folders that are empty then. The list is in the installed
folder, so that a new clone of the sources can uninstall, too.
"""

import json
import os
import pathlib
import shutil
import site
import subprocess
import sys

LIST = "share/weft/installed.txt"
DEFAULT_PREFIX = "/usr/local"
PATH_OF_ROOT = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Refused(Exception):
    """The reason for a failure, in one line."""


def destdir():
    return os.environ.get("DESTDIR", "")  # empty, or absolute after main()


def staged(path):
    """The path with DESTDIR before it."""
    return pathlib.Path(destdir() + str(path))


def introspect(build):
    """Returns the options of a build folder, and the paths of the files that it installs."""
    done = subprocess.run(["meson", "introspect", "--buildoptions", "--installed", build],
                          capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"{build} is not a build folder: run 'make' first")
    answer = json.loads(done.stdout)
    options = {option["name"]: option["value"] for option in answer["buildoptions"]}
    return options, [pathlib.Path(path) for path in answer["installed"].values()]


def check_writable(paths, word):
    """Fails before anything is changed, so that weft is never installed or removed by half."""
    folders = {staged(path).parent for path in paths}
    for folder in sorted(folders):
        while not folder.exists():
            folder = folder.parent
        if not os.access(folder, os.W_OK):
            other = "" if word == "uninstall" else (
                ", or choose a folder of your own: meson configure build -Dprefix=$HOME/.local")
            raise Refused(f"no permission to write {folder}: run 'make {word}' as root{other}")


def loader_refresh():
    """Rebuilds the loader's list of libraries. Only root can, and needs to: the list has no libraries
    of a user's own folder."""
    program = shutil.which("ldconfig", path=PATH_OF_ROOT)
    if program and os.geteuid() == 0:
        done = subprocess.run([program], capture_output=True, text=True)
        if done.returncode:
            print("weft: ldconfig failed, so the loader may not find libweft: "
                  + done.stderr.strip().replace("\n", "; "), file=sys.stderr)


def python_folder(prefix):
    """Returns the folder below the prefix in which this Python searches for packages, or None.

    Debian's Python searches /usr/local/lib/python3.11/dist-packages and
    /usr/lib/python3/dist-packages. Meson 1.0 would use the second path below every prefix."""
    for folder in [*site.getsitepackages(), site.getusersitepackages()]:
        try:
            below = pathlib.Path(folder).relative_to(prefix)
        except ValueError:
            continue
        if below.parts[0] != "local":  # /usr/local is not part of the prefix /usr
            return folder
    return None


def list_read(path):
    return path.read_text().splitlines() if path.exists() else []


def list_add(path, made):
    """Adds paths to the list of an installation. Folders end with a slash."""
    missing = path.parent
    while not missing.exists():
        made.append(f"{missing}/")
        missing = missing.parent
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = {line[len(destdir()):] for line in [*made, str(path)] if line.startswith(destdir())}
    path.write_text("".join(f"{line}\n" for line in sorted({*list_read(path), *lines})))
    path.chmod(0o644)


def log_read(log):
    """Returns the paths that `meson install` has made, from its log. Folders end with a slash."""
    paths = [pathlib.Path(line) for line in list_read(log) if not line.startswith("#")]
    return [f"{path}/" if path.is_dir() and not path.is_symlink() else str(path) for path in paths]


def settings(options, files):
    """Yields the variables that users must set because this prefix is not searched by default."""
    commands = pathlib.Path(options["prefix"], options["bindir"])
    library = pathlib.Path(options["prefix"], options["libdir"])
    package = next((path.parent.parent for path in files if path.name == "__init__.py"), None)
    known = subprocess.run([shutil.which("ldconfig", path=PATH_OF_ROOT) or "false", "-p"],
                           capture_output=True, text=True).stdout
    searched = subprocess.run(["pkg-config", "--variable", "pc_path", "pkg-config"],
                              capture_output=True, text=True).stdout.strip().split(":")
    if str(commands) not in os.environ.get("PATH", PATH_OF_ROOT).split(":"):
        yield f"PATH={commands}:$PATH"
    if f"{library}/libweft.so" not in known:
        yield f"LD_LIBRARY_PATH={library}"
    if f"{library}/pkgconfig" not in searched:
        yield f"PKG_CONFIG_PATH={library}/pkgconfig"
    if package and python_folder(options["prefix"]) != str(package):
        yield f"PYTHONPATH={package}"


def install(build):
    options, files = introspect(build)
    record = pathlib.Path(options["prefix"], LIST)
    check_writable([*files, record], "install")
    log = pathlib.Path(build, "meson-logs", "install-log.txt")
    log.unlink(missing_ok=True)  # it is of an earlier installation, perhaps into another folder
    done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    list_add(staged(record), log_read(log))  # also after a failure, for `uninstall`
    if done.returncode:
        sys.stderr.write(done.stdout)
        raise Refused("the installation failed; 'make uninstall' removes what has been copied")
    where = f" DESTDIR={destdir()}" if destdir() else ""
    print(f"weft: installed into {staged(options['prefix'])}; 'make uninstall{where}' removes it")
    needed = [] if destdir() else [*settings(options, files)]
    if needed:
        print("weft: this folder is not searched by default; before you use weft: export "
              + " ".join(needed))


def remove_file(path):
    path.unlink(missing_ok=True)
    if path.suffix == ".py":  # root's Python has stored bytecode when it imported the package
        cache = path.parent / "__pycache__"
        for compiled in cache.glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        remove_folder(cache)


def remove_folder(path):
    try:
        path.rmdir()
    except OSError:
        pass  # it is gone, or contains a file that is not ours


def uninstall(build):
    prefix = introspect(build)[0]["prefix"] if pathlib.Path(build).exists() else DEFAULT_PREFIX
    record = staged(pathlib.Path(prefix, LIST))
    lines = list_read(record)
    if not lines:
        print(f"weft: nothing to remove: there is no list of installed files, {record}")
        return
    files = [line for line in lines if not line.endswith("/")]
    check_writable(files, "uninstall")
    for file in files:
        remove_file(staged(file))
    folders = [line for line in lines if line.endswith("/")]
    for folder in sorted(folders, key=len, reverse=True):
        remove_folder(staged(folder))
    if not destdir():
        loader_refresh()
    print(f"weft: removed from {staged(prefix)}")


def main(words):
    if destdir():
        os.environ["DESTDIR"] = os.path.abspath(destdir())
    try:
        if words[:1] == ["install"] and len(words) == 2:
            install(words[1])
        elif words[:1] == ["uninstall"] and len(words) <= 2:
            uninstall(*words[1:] or ["build"])
        elif words == ["loader"]:
            loader_refresh()
        elif words[:1] == ["python-folder"] and len(words) == 2:
            print(python_folder(words[1]) or "")
        else:
            print("usage: tools/install.py install|uninstall BUILD", file=sys.stderr)
            return 2
    except Refused as refused:
        print(f"weft: {refused}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
