"""CUDA C++ on the CPU, compiled by the host's compiler. Blocks run one after the other. So do the threads of a block,
each one until its next `__syncthreads`.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

_HARNESS = """
#include <functional>
#include <ucontext.h>
#include <vector>
#define __global__
#define __device__
#define __shared__ static
struct Index { unsigned x, y; };
struct Thread { ucontext_t context; std::vector<char> stack; bool is_running; };
static Index blockIdx, threadIdx, blockDim, gridDim;
static std::vector<Thread> of_block;
static ucontext_t scheduler;
static std::function<void()> kernel_of_threads;
inline void __syncthreads() { swapcontext(&of_block[threadIdx.x].context, &scheduler); }
inline void __threadfence() {}
inline unsigned atomicAdd(unsigned* at, unsigned n) { unsigned before = *at; *at += n; return before; }
#include "kernel.cu"

void body() {
  kernel_of_threads();
  of_block[threadIdx.x].is_running = false;
}

void run_block() {
  for (Thread& thread : of_block) {
    getcontext(&thread.context);
    thread.context.uc_stack = {thread.stack.data(), 0, thread.stack.size()};
    thread.context.uc_link = &scheduler;
    thread.is_running = true;
    makecontext(&thread.context, body, 0);
  }
  for (bool is_running = true; is_running;) {
    is_running = false;
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) {
      Thread& thread = of_block[threadIdx.x];
      if (thread.is_running) swapcontext(&scheduler, &thread.context);
      is_running = is_running || thread.is_running;
    }
  }
}

void launch(Index grid, unsigned threads, std::function<void()> kernel) {
  gridDim = grid, blockDim = {threads, 1}, kernel_of_threads = kernel;
  of_block.resize(threads);
  for (Thread& thread : of_block) thread.stack.resize(32 << 10);
  for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) run_block();
}
"""
_KERNEL = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')


def _entry(name: str, parameters: str) -> str:
    names = [parameter.split()[-1].lstrip("*") for parameter in parameters.split(",")]
    call = f"launch({{grid_x, grid_y}}, threads, [=] {{ {name}({', '.join(names)}); }});"
    return (
        f'extern "C" void run_{name}(unsigned grid_x, unsigned grid_y, unsigned threads, {parameters}) {{ {call} }}\n'
    )


@cache
def compiled(code: str, options: tuple[str, ...]) -> ctypes.CDLL:
    """A library with a function `run_NAME` for each kernel: grid, threads of a block, the kernel's arguments."""
    entries = "".join(_entry(*found) for found in _KERNEL.findall(code))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.cu").write_text(code)
        Path(folder, "harness.cpp").write_text(_HARNESS + entries)
        library = Path(folder, "kernel.so")
        compiler = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-shared", "-fPIC"]
        subprocess.run([*compiler, *options, "-o", library, Path(folder, "harness.cpp")], check=True)
        return ctypes.CDLL(str(library))
