"""Speed, memory and accuracy beside the rivals; `python -m benchmarks --list` names them."""

import os

# Before any module here imports numpy, and inherited by every child process.
for _library in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM"):
    os.environ[f"{_library}_THREADS"] = "1"
