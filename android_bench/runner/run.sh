# Starts the bundle's own Python with its own C library: sh run.sh TASK.json
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONHOME="$here" PYTHONPATH="$here/site" PYTHONDONTWRITEBYTECODE=1 TMPDIR="$here"
export LC_ALL=C.UTF-8
unset LD_PRELOAD LD_LIBRARY_PATH
exec "$here/bin/ld-linux-aarch64.so.1" --library-path "$here/lib" "$here/bin/python3.11" -m android_bench.runner.device "$@"
