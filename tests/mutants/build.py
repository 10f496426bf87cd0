# SPDX-License-Identifier: MIT
"""
Builds test programs against a copy of the engine, and runs them.

Objects of one flavour (compiler, flags) are kept under .build/mutants/FLAVOUR and made again when
a file that they were made from has another content. A changed copy of the engine takes the objects
of the unchanged one for all that does not include a changed file.
"""
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / '.build' / 'mutants'

# Of an engine of their own, which has points before its accesses to shared memory.
SCHEDULES = ('stress/schedules', 'stress/schedules_small')
PACKAGES = ['liburcu-bp', 'ck', 'libxxhash', 'cmocka']

# A program that takes longer hangs, at the scale that is set here.
WALL_S, PROCESSOR_S = 30, 20
SCALE = {'WEIR_TEST_SCALE': '10', 'WEIR_STRESS_SCALE': '10'}


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_programs():
    """SUITE/NAME of each program in tests/meson.build."""
    text = (ROOT / 'tests/meson.build').read_text()
    table = re.search(r'test_programs = \{(.*?)\n\}', text, re.S).group(1)
    names = [f'{suite}/{name}' for suite, block in re.findall(r"'(\w+)': \[(.*?)\]", table, re.S)
             for name in re.findall(r"'(\w+)'", block)]
    # Those named _inside are made of the engine's own text, not linked with it.
    return [name for name in names if not name.endswith('_inside')] + list(SCHEDULES)


def support_of(program):
    """The sources, below tests/, that meson builds the program from beside its own."""
    text = (ROOT / 'tests/meson.build').read_text()
    if program in SCHEDULES:
        begin = text.index(f"executable('{program.replace('/', '_')}'")
    else:
        begin = text.index("support_lib = static_library(")
    block = text[begin:text.index('include_directories:', begin)]
    return [path for path in re.findall(r"'([\w/]+\.c)'", block)
            if not path.rsplit('/', 1)[-1].startswith('test_')]


def source_of(program):
    suite, name = program.split('/')
    return ROOT / 'tests' / suite / f'test_{name}.c'


def tests_of(program):
    """Names of a program's tests, in the order in which they run."""
    return re.findall(r'cmocka_unit_test\w*\(\s*(\w+)', source_of(program).read_text())


def engine_sources(engine):
    """Paths below the engine's folder of what the library is made from."""
    text = (engine / 'meson.build').read_text()
    block = re.search(r'engine_sources = files\((.*?)\)', text, re.S).group(1)
    return ['counters.c'] + re.findall(r"'([\w/]+\.c)'", block)


class Flavour:
    """A compiler with its flags, and how what it makes is run."""

    def __init__(self, name, compiler, flags=(), environment=None, tsan=False):
        self.name = name
        self.compiler = compiler
        self.flags = ['-std=c11', '-D_GNU_SOURCE', '-O1', '-w', '-fvisibility=hidden', *flags]
        self.environment = environment or {}
        self.tsan = tsan

    def flags_for(self, engine):
        packages = shlex.split(output_of('pkg-config', '--cflags', *PACKAGES))
        return self.flags + [f'-I{engine}', f'-I{ROOT}/include', *packages]


PLAIN = Flavour('plain', 'gcc')
# A race that is found ends the program at once.
TSAN = Flavour('tsan', 'clang-14', ['-fsanitize=thread', '-g1'], tsan=True,
               environment={'TSAN_OPTIONS': f'suppressions={ROOT}/tests/tsan.supp:halt_on_error=1'})
FLAVOURS = {flavour.name: flavour for flavour in (PLAIN, TSAN)}


def digest(path, known={}):
    """Of a file's content."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    stamp = (str(path), status.st_mtime_ns, status.st_size)
    if stamp not in known:
        known[stamp] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return known[stamp]


def dependencies(depfile):
    text = depfile.read_text().replace('\\\n', ' ')
    return [word for word in text.split(':', 1)[1].split() if word.startswith(str(ROOT))]


class BuildError(Exception):
    pass


class Tree:
    """One copy of the engine, or the engine itself, with what is built from it."""

    def __init__(self, flavour, engine, folder, base=None, extra=(), objects=()):
        self.flavour, self.engine, self.folder, self.base = flavour, engine, folder, base
        self.more = list(objects)  # sources beside the engine's
        self.flags = flavour.flags_for(engine) + list(extra)
        self.lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    # ---- objects ----

    def _compile(self, source, target, flags):
        record = target.with_suffix('.json')
        command = [self.flavour.compiler, *self.flags, *flags, '-MMD', '-MF',
                   str(target.with_suffix('.d')), '-c', str(source), '-o', str(target)]
        if target.exists() and record.exists():
            then = json.loads(record.read_text())
            if then['command'] == command and all(digest(path) == content for path, content
                                                  in then['content'].items()):
                return
        target.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise BuildError(f'{source}:\n{done.stdout[-2000:]}')
        content = {path: digest(path) for path in dependencies(target.with_suffix('.d'))}
        record.write_text(json.dumps({'command': command, 'content': content}))

    def object_for(self, source, flags=(), variant=''):
        """The object of a source below the engine (a relative path) or of a test's (absolute)."""
        inside = not os.path.isabs(source)
        path = self.engine / source if inside else Path(source)
        name = ('engine/' + source) if inside else str(path.relative_to(ROOT))
        name = variant + name.removesuffix('.c') + '.o'
        if self.base is not None:
            unchanged = self.base.object_for(source, flags, variant)
            if not self._includes_changed(unchanged):
                return unchanged
        target = self.folder / name
        with self.lock:
            self._compile(path, target, flags)
        return target

    def _includes_changed(self, unchanged):
        base = str(self.base.engine)
        for path in dependencies(unchanged.with_suffix('.d')):
            if path.startswith(base + '/'):
                if digest(path) != digest(str(self.engine) + path[len(base):]):
                    return True
        return False

    # ---- programs ----

    def program(self, name):
        """The path of an executable, made if need be."""
        test_flags = [f'-I{ROOT}/tests'] + [f'-I{ROOT}/tests/{folder}' for folder in (
            'conformance', 'model', 'property', 'stress')]
        tls = ['-ftls-model=initial-exec']
        if name in SCHEDULES:
            points = [*tls, *test_flags, '-DWEIR_RCU_OUTSIDE=1', '-include', 'schedule_points.h']
            objects = [self.object_for(source, tls if source == 'counters.c' else points, 'points/')
                       for source in engine_sources(self.engine)]
        else:
            objects = [self.object_for(source, tls) for source in engine_sources(self.engine)]
        objects += [self.object_for(str(ROOT / 'tests' / source), test_flags)
                    for source in support_of(name)]
        objects += [self.object_for(source, test_flags)
                    for source in [str(source_of(name)), *self.more]]
        target = self.folder / name
        record = target.with_suffix('.link')
        want = json.dumps([(str(o), os.stat(o).st_mtime_ns) for o in objects])
        with self.lock:
            if not (target.exists() and record.exists() and record.read_text() == want):
                target.parent.mkdir(parents=True, exist_ok=True)
                libraries = shlex.split(output_of('pkg-config', '--libs', *PACKAGES))
                done = subprocess.run(
                    [self.flavour.compiler, *self.flags, *map(str, objects), '-o', str(target),
                     *libraries, '-pthread'],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if done.returncode != 0:
                    raise BuildError(done.stdout[-2000:])
                record.write_text(want)
        return target

    def run(self, name, environment=None):
        return run(self.program(name), name, self.flavour, environment or {})


# ---- running ----

class Outcome:
    """What came of a test program: how long it took, and the tests that failed."""

    def __init__(self, seconds, failed, how):
        self.seconds, self.failed, self.how = seconds, failed, how

    @property
    def passed(self):
        return not self.failed


def run(path, name, flavour, environment, wall_s=WALL_S, processor_s=PROCESSOR_S):
    """Runs a test program, in a session of its own: one that hangs is ended with its children."""
    env = {**os.environ, **SCALE, 'WEIR_TEST_SEED': '1', 'CMOCKA_MESSAGE_OUTPUT': 'TAP',
           'WEIR_SOURCE_ROOT': str(ROOT), 'WEIR_BUILD_ROOT': str(WORK),
           **flavour.environment, **environment}
    # By the line: what a crash would leave in the buffer tells which test ran.
    command = ['prlimit', f'--cpu={processor_s}', '--core=0', 'stdbuf', '-oL', str(path)]
    if flavour.tsan and subprocess.run(['setarch', '-R', 'true'],
                                       stderr=subprocess.DEVNULL).returncode == 0:
        command = ['setarch', '-R', *command]
    started = time.monotonic()
    child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, errors='replace',
                             cwd=path.parent, start_new_session=True)
    try:
        text, _ = child.communicate(timeout=wall_s)
        how = 'failed'
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        text, _ = child.communicate()
        how = 'hung'
    seconds = time.monotonic() - started
    failed = re.findall(r'^not ok \d+ - (\w+)', text, re.M)
    if child.returncode != 0:
        ended = len(re.findall(r'^(?:not )?ok \d+', text, re.M))
        tests = tests_of(name)
        if how == 'hung' or child.returncode < 0 or not failed:
            running = tests[ended] if ended < len(tests) else 'after the last test'
            failed.append(running)
            how = how if how == 'hung' else 'crashed'
    return Outcome(seconds, failed, how)
