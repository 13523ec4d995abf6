# The toolkit in a container, from the lock:
#
#   docker build --tag mobilebert-export .
#   docker run --rm --volume "$PWD:/data" mobilebert-export export --model shipped --out /data/matcher-int8
#
# Works on x86-64; on Apple silicon add --platform linux/amd64.
FROM python:3.12-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends make git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/mobilebert-export
# What is installed changes rarely; the code is copied after it, and both stay in layers of their own.
COPY requirements.lock requirements-dev.lock pyproject.toml setup.py Makefile README.md LICENSE ./
COPY scripts ./scripts
COPY mobilebert_runtime ./mobilebert_runtime
COPY android_bench ./android_bench
COPY models ./models
COPY matching ./matching
COPY training ./training
COPY quantize ./quantize
COPY optimum ./optimum
COPY mobilebert_export ./mobilebert_export
RUN PIP_NO_CACHE_DIR=1 python scripts/set_up.py .venv requirements.lock
ENV PATH="/opt/mobilebert-export/.venv/bin:$PATH"
WORKDIR /data
ENTRYPOINT ["mobilebert"]
CMD ["--help"]
