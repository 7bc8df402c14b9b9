# kafkalet needs Python and nothing else; the extras bring the compiled codecs (snappy, lz4, zstd) and CRC-32C.
FROM python:3.13-slim

WORKDIR /opt/kafkalet
COPY pyproject.toml README.md ./
COPY kafkalet kafkalet
RUN pip install --no-cache-dir '.[codecs,speed]' && useradd --create-home kafkalet

USER kafkalet
EXPOSE 9092
STOPSIGNAL SIGTERM

# Clients are told the advertised address: set KAFKALET_ADVERTISE to what they can reach (host:port).
ENV KAFKALET_ADVERTISE=localhost:9092
HEALTHCHECK --interval=2s --timeout=2s --start-period=1s \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 9092), 1).close()"]
ENTRYPOINT ["/bin/sh", "-c", "exec python -m kafkalet serve --listen 0.0.0.0:9092 --advertise \"$KAFKALET_ADVERTISE\" \"$@\"", "kafkalet"]
