"""Which vector instructions a computation runs: seen by looking at it while it runs, not by asking it.

A helper process stops the computation's threads for a moment, some hundred times, and decodes the instruction that each was
about to execute. Only packed floating-point arithmetic is counted, by the width of its registers, so that copying and
bookkeeping do not count. This needs no counters of the processor and no cooperation of the libraries: some choose their
kernels by the processor's vendor, and none of them says which.

The file is a script too, `instructions.py <process id> <seconds>`, and then uses nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep

SECONDS = 2.0  # how long to look at most
ENOUGH = 48  # arithmetic instructions seen, after which looking ends
FEW = 8  # below this nothing is said
SHARE = 0.05  # of the arithmetic instructions: what is rarer is not named
PAUSE_S = 0.0005  # between two looks
FOR_ANYONE = -1
PR_SET_PTRACER = 0x59616D61
GETREGS, CONT, SEIZE, INTERRUPT = 12, 7, 0x4206, 0x4207
ALL_CHILDREN = 0x40000000  # __WALL: threads too
RIP, REGISTERS = 16, 27  # of struct user_regs_struct

WIDTHS = {512: "avx512", 256: "avx2", 128: "sse"}
ARITHMETIC = frozenset((0x51, 0x58, 0x59, 0x5C, 0x5D, 0x5E, 0x5F))  # sqrt, add, mul, sub, min, div, max
FUSED = frozenset(op for high in (0x90, 0xA0, 0xB0) for op in range(high + 6, high + 16) if op % 2 == 0 or op == high + 7)


def _encoding(first: int, fits: Sequence[Callable[[int], bool]]) -> re.Pattern[bytes]:
    """Instructions that begin with the byte `first`, each further byte one of those that fit."""
    classes = (b"[" + b"".join(b"\\x%02x" % byte for byte in range(256) if fit(byte)) + b"]" for fit in fits)
    return re.compile(b"\\x%02x" % first + b"".join(classes), re.DOTALL)


FUSED_256 = _encoding(0xC4, (lambda b: b & 0x1F == 2, lambda b: b & 7 == 5, FUSED.__contains__))
FUSED_512 = _encoding(0x62, (lambda b: b & 15 == 2, lambda b: b & 7 == 5, lambda b: b >> 5 & 3 == 2, FUSED.__contains__))
MANY = 64  # such instructions are not there by chance


def observe(call: Callable[[], object], seconds: float = SECONDS) -> dict[str, int] | None:
    """Call it again and again until enough has been seen: how often which instruction set's arithmetic was met, the most
    frequent first. None where one process may not look into another, or on other processors than x86-64."""
    if platform.machine() != "x86_64":
        return None
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PTRACER, ctypes.c_ulong(FOR_ANYONE), 0, 0, 0)  # where only ancestors may look; elsewhere no effect
    try:
        watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(seconds)], stdout=subprocess.PIPE, text=True
        )
        try:
            while watcher.poll() is None:
                call()
        finally:
            watcher.kill()
            text, _ = watcher.communicate()
    except OSError:
        return None
    finally:
        libc.prctl(PR_SET_PTRACER, 0, 0, 0, 0)
    found: dict[str, int] | None = json.loads(text) if text else None
    return found


def instruction_sets(seen: Mapping[str, int] | None) -> str:
    """Those that make up the arithmetic, the most frequent first, as in "avx2, avx512"; empty where too little was seen."""
    total = sum(seen.values()) if seen else 0
    if seen is None or total < FEW:
        return ""
    return ", ".join(name for name, count in Counter(seen).most_common() if count >= SHARE * total)


def width(code: bytes) -> int | None:
    """Bits of the registers of the packed floating-point arithmetic instruction that `code` begins with; None for others."""
    code = code.ljust(16, b"\0")
    if code[0] == 0x62:  # EVEX: always 64-bit mode here
        space, prefix, opcode = code[1] & 7, code[2] & 3, code[4]
        rounds = code[3] >> 4 & 1 and code[5] >> 6 == 3  # between registers, this bit is for the rounding of full vectors
        bits = 512 if rounds else {0: 128, 1: 256, 2: 512}.get(code[3] >> 5 & 3)
    elif code[0] == 0xC5:  # VEX, two bytes
        space, prefix, opcode = 1, code[1] & 3, code[2]
        bits = 256 if code[1] & 4 else 128
    elif code[0] == 0xC4:  # VEX, three bytes
        space, prefix, opcode = code[1] & 0x1F, code[2] & 3, code[3]
        bits = 256 if code[2] & 4 else 128
    else:
        at = 1 if code[0] == 0x66 else 0
        at += 1 if code[at] & 0xF0 == 0x40 else 0
        space, prefix, opcode, bits = (1 if code[at] == 0x0F else 0), 0, code[at + 1], 128
    packed = space == 1 and prefix < 2 and opcode in ARITHMETIC
    fused = space == 2 and prefix == 1 and opcode in FUSED
    return bits if packed or fused else None


def compiled_for(library: bytes) -> str:
    """The widest instruction set of a library's fused multiply-adds, by their encodings in its bytes; "sse" if it has hardly
    any. Data can look like an instruction, but not like many, so what is rare beside the others does not count."""
    wide, narrow = len(FUSED_512.findall(library)), len(FUSED_256.findall(library))
    if wide > SHARE * narrow and wide >= MANY:
        return "avx512"
    return "avx2" if narrow >= MANY else "sse"


class Watcher:
    """Looks at the threads of a process that allows it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        self.ptrace.argtypes = [ctypes.c_long] * 4
        self.ptrace.restype = ctypes.c_long
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.threads: set[int] = set()
        self.looks = 0

    def look(self) -> Counter[str]:
        """At one of its threads, each in turn: the others go on computing meanwhile."""
        threads = sorted(map(int, os.listdir(f"/proc/{self.pid}/task")))
        thread = threads[self.looks % len(threads)]
        self.looks += 1
        if thread not in self.threads:
            if self.ptrace(SEIZE, thread, 0, 0) < 0:
                return Counter()
            self.threads.add(thread)
        if self.ptrace(INTERRUPT, thread, 0, 0) < 0:
            return Counter()
        _, status = os.waitpid(thread, ALL_CHILDREN)
        if not os.WIFSTOPPED(status):
            return Counter()
        registers = (ctypes.c_ulonglong * REGISTERS)()
        self.ptrace(GETREGS, thread, 0, ctypes.addressof(registers))
        try:
            bits = width(os.pread(self.memory, 16, registers[RIP]))
        except OSError:  # in a page that cannot be read: the kernel's
            bits = None
        stopped_by = os.WSTOPSIG(status)
        self.ptrace(CONT, thread, 0, 0 if stopped_by == signal.SIGTRAP else stopped_by)
        return Counter() if bits is None else Counter([WIDTHS[bits]])


def main() -> None:
    pid, seconds = int(sys.argv[1]), float(sys.argv[2])
    end = monotonic() + seconds
    seen: Counter[str] = Counter()
    try:
        watcher = Watcher(pid)
        while monotonic() < end and sum(seen.values()) < ENOUGH:
            seen += watcher.look()
            sleep(PAUSE_S)
        allowed = bool(watcher.threads)
    except OSError:
        allowed = False
    print(json.dumps(dict(seen.most_common()) if allowed else None))


if __name__ == "__main__":
    main()
