# Any Debian base with Python 3.11 or newer and its venv module will do: docker build --build-arg BASE=… .
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
# pip's own settings, for a mirror or for a folder of wheels instead of an index.
ARG PIP_INDEX_URL
ARG PIP_FIND_LINKS
ARG PIP_NO_INDEX
ENV PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

# pip stays in a venv of its own, so that the program's has none.
RUN python3 -m venv /opt/pip && python3 -m venv --without-pip /opt/threadbridge
COPY requirements.lock ./
RUN /opt/pip/bin/pip --python /opt/threadbridge/bin/python install --only-binary :all: --require-hashes -r requirements.lock

COPY . .
# What is compiled here is never compared with its source again: the final stage cannot be written to.
RUN /opt/pip/bin/pip --python /opt/threadbridge/bin/python install --no-deps --no-build-isolation . \
    && /opt/pip/bin/pip --python /opt/threadbridge/bin/python uninstall --yes editables hatchling \
    && /opt/threadbridge/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/threadbridge/lib


FROM ${BASE}
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Threadbridge" \
      org.opencontainers.image.description="A chat thread becomes an agent thread: chat platforms and a browser page, connected to a LangGraph agent." \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="MIT"

# The number is fixed so that a folder of the host can be given to it: chown 10001:10001.
RUN groupadd --gid 10001 threadbridge \
    && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin threadbridge \
    && install -d -o threadbridge -g threadbridge -m 0700 /data

COPY --from=build /opt/threadbridge /opt/threadbridge
ENV PATH=/opt/threadbridge/bin:$PATH \
    THREADBRIDGE_HOME=/data \
    THREADBRIDGE_GATEWAY_HOST=0.0.0.0 \
    THREADBRIDGE_GATEWAY_PORT=8001

# config.yaml is looked for here; without one the defaults hold.
WORKDIR /config
USER 10001:10001
VOLUME /data
EXPOSE 8001
STOPSIGNAL SIGTERM

# Whether the process answers: a platform that is down is no reason to restart it.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client, os; c = http.client.HTTPConnection('localhost', int(os.environ['THREADBRIDGE_GATEWAY_PORT']), timeout=5); c.request('GET', '/health/live'); raise SystemExit(c.getresponse().status != 200)"]

ENTRYPOINT ["threadbridge"]
CMD ["serve"]
