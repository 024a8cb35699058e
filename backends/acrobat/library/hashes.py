"""Checksums of bytes, as lists of ints."""


def _entry(byte):
    """What the low byte `byte` of a checksum becomes when eight bits are shifted out of it."""
    for _ in range(8):
        byte = byte >> 1 ^ 0xEDB88320 if byte & 1 else byte >> 1
    return byte


ENTRIES = [_entry(byte) for byte in range(256)]
"""`_entry` of each byte; the number in it is the polynomial of CRC-32 (ISO 3309), its bits reversed."""


def crc32(data, value):
    """`zlib.crc32(data, value)`."""
    checksum = value ^ 0xFFFFFFFF
    for byte in data:
        checksum = ENTRIES[(checksum ^ byte) & 0xFF] ^ checksum >> 8
    return checksum ^ 0xFFFFFFFF


def adler32(data, value):
    """`zlib.adler32(data, value)` (RFC 1950)."""
    low, high = value & 0xFFFF, value >> 16
    for byte in data:
        low = (low + byte) % 65521
        high = (high + low) % 65521
    return high << 16 | low
