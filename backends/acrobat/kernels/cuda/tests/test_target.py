"""The CUDA device as a target: the architecture to compile for, and the messages for a device that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.acrobat.kernels.cuda.target import DRIVER, CudaTarget, UnsupportedCuda, choose


@pytest.mark.parametrize(
    ("name", "capability", "arch"),
    [
        ("NVIDIA H200", (9, 0), "sm_90a"),
        ("NVIDIA A100-SXM4-80GB", (8, 0), "sm_80"),
        ("NVIDIA B200", (10, 0), "sm_100a"),
        ("emulated device", (9, 0), "emulated"),
    ],
)
def test_a_device_is_compiled_for_by_its_capability(name: str, capability: tuple[int, int], arch: str) -> None:
    target = choose(name, capability, True, sms=132, shared=232448, second_level=50 << 20)
    assert target == CudaTarget(name, arch, 132, 232448, 50 << 20)
    assert target.emulated == (arch == "emulated") and target.lanes == 1


@pytest.mark.parametrize(("capability", "cooperative"), [((7, 5), True), ((9, 0), False)])
def test_a_device_that_is_too_old_is_named(capability: tuple[int, int], cooperative: bool) -> None:
    with pytest.raises(UnsupportedCuda, match=r"8\.0 or newer; Old Card has .*device=cpu"):
        choose("Old Card", capability, cooperative, sms=40, shared=65536, second_level=4 << 20)


def test_a_missing_driver_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DRIVER, str(tmp_path / "libnone.so"))
    with pytest.raises(UnsupportedCuda, match=r"no CUDA driver \(.*libnone.so.*\): install NVIDIA's driver, or use device=cpu"):
        CudaTarget.detect()
