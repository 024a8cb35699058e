"""Which vector instruction sets a computation uses, observed while it runs.

A helper process stops the computation's threads for a moment, some hundred times, and decodes the instruction that each was
about to execute. Only packed floating-point arithmetic is counted, by the width of its registers, so that copying and
bookkeeping do not count. This needs no hardware counters and no cooperation of the libraries: some choose their kernels by the
processor's vendor, and none of them says which.

The helper process runs this file as a script, `instructions.py <process id> <seconds>`, with the standard library alone.
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

SECONDS = 2.0  # how long to observe at most
ENOUGH = 48  # the observation ends after so many arithmetic instructions
FEW = 8  # with fewer arithmetic instructions no instruction set is named
SHARE = 0.05  # an instruction set with a smaller share of the arithmetic instructions is not named
PAUSE_S = 0.0005  # between two stops of a thread
FOR_ANYONE = -1
PR_SET_PTRACER = 0x59616D61
GETREGS, CONT, SEIZE, INTERRUPT = 12, 7, 0x4206, 0x4207
ALL_CHILDREN = 0x40000000  # __WALL: threads too
RIP, REGISTERS = 16, 27  # of struct user_regs_struct

WIDTHS = {512: "avx512", 256: "avx2", 128: "sse"}
ARITHMETIC = frozenset((0x51, 0x58, 0x59, 0x5C, 0x5D, 0x5E, 0x5F))  # sqrt, add, mul, sub, min, div, max
FUSED = frozenset(op for high in (0x90, 0xA0, 0xB0) for op in range(high + 6, high + 16) if op % 2 == 0 or op == high + 7)


def _encoding(first: int, fits: Sequence[Callable[[int], bool]]) -> re.Pattern[bytes]:
    """A pattern for instructions: the byte `first`, then for each function in `fits` one byte for which it returns true."""
    classes = (b"[" + b"".join(b"\\x%02x" % byte for byte in range(256) if fit(byte)) + b"]" for fit in fits)
    return re.compile(b"\\x%02x" % first + b"".join(classes), re.DOTALL)


FUSED_256 = _encoding(0xC4, (lambda b: b & 0x1F == 2, lambda b: b & 7 == 5, FUSED.__contains__))
FUSED_512 = _encoding(0x62, (lambda b: b & 15 == 2, lambda b: b & 7 == 5, lambda b: b >> 5 & 3 == 2, FUSED.__contains__))
MANY = 64  # so many byte sequences that look like a fused multiply-add are not there by chance


def observe(call: Callable[[], object], seconds: float = SECONDS) -> dict[str, int] | None:
    """Run `call` again and again until enough has been seen. Returns how often an arithmetic instruction of each instruction
    set was seen, the most frequent first; None where one process may not trace another, or on processors other than x86-64."""
    if platform.machine() != "x86_64":
        return None
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PTRACER, ctypes.c_ulong(FOR_ANYONE), 0, 0, 0)  # has an effect only where just ancestors may trace
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
    counts: dict[str, int] | None = json.loads(text) if text else None
    return counts


def instruction_sets(counts: Mapping[str, int] | None) -> str:
    """The instruction sets of the arithmetic seen, the most frequent first, as in "avx2, avx512"; empty where too few were."""
    total = sum(counts.values()) if counts else 0
    if counts is None or total < FEW:
        return ""
    return ", ".join(name for name, count in Counter(counts).most_common() if count >= SHARE * total)


def width(code: bytes) -> int | None:
    """The register width, in bits, of the packed floating-point instruction that `code` begins with; None for all others."""
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
        opcode_at = 1 if code[0] == 0x66 else 0
        opcode_at += 1 if code[opcode_at] & 0xF0 == 0x40 else 0
        space, prefix, opcode, bits = (1 if code[opcode_at] == 0x0F else 0), 0, code[opcode_at + 1], 128
    packed = space == 1 and prefix < 2 and opcode in ARITHMETIC
    fused = space == 2 and prefix == 1 and opcode in FUSED
    return bits if packed or fused else None


def compiled_for(library: bytes) -> str:
    """The widest instruction set of a library's fused multiply-adds, found by their encodings in its bytes; "sse" if it has
    hardly any. Data can look like a few instructions, so a width that is rare beside the other one does not count."""
    wide, narrow = len(FUSED_512.findall(library)), len(FUSED_256.findall(library))
    if wide > SHARE * narrow and wide >= MANY:
        return "avx512"
    return "avx2" if narrow >= MANY else "sse"


class Watcher:
    """Observes the threads of another process, which must allow tracing (ptrace)."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        self.ptrace.argtypes = [ctypes.c_long] * 4
        self.ptrace.restype = ctypes.c_long
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.threads: set[int] = set()
        self.looks = 0

    def look(self) -> Counter[str]:
        """Stop the next thread in turn for a moment, and count its next instruction if that is packed arithmetic."""
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
    counts: Counter[str] = Counter()
    try:
        watcher = Watcher(pid)
        while monotonic() < end and sum(counts.values()) < ENOUGH:
            counts += watcher.look()
            sleep(PAUSE_S)
        allowed = bool(watcher.threads)
    except OSError:
        allowed = False
    print(json.dumps(dict(counts.most_common()) if allowed else None))


if __name__ == "__main__":
    main()
