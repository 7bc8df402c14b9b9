# The image is installed from the wheel, as a user would install it, with the compiled codecs (snappy, lz4, zstd) and CRC-32C.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY kafkalet kafkalet
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .
# The environment has no pip: it is copied into the image as it is.
RUN python -m venv --without-pip /opt/kafkalet && \
    pip --python /opt/kafkalet/bin/python install --no-cache-dir --compile "$(echo /wheels/kafkalet-*.whl)[codecs,speed]"

FROM python:3.13-slim
LABEL org.opencontainers.image.title="kafkalet" \
      org.opencontainers.image.description="A Kafka broker for tests" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/kafkalet /opt/kafkalet
# The start scripts of the images apache/kafka and confluentinc/cp-kafka, which Testcontainers modules run and change.
COPY --chown=10001 docker/etc/kafka /etc/kafka
COPY --chown=10001 docker/etc/confluent /etc/confluent
COPY docker/usr/local/bin /usr/local/bin
# A volume at this directory belongs to the user, too.
RUN useradd --uid 10001 --create-home kafkalet && install --directory --owner=kafkalet --group=kafkalet \
    /home/kafkalet/data /etc/kafka/secrets /mnt/shared/config /var/lib/kafka/data
ENV PATH=/opt/kafkalet/bin:$PATH

# A number, so that Kubernetes can see that it is not root.
USER 10001
WORKDIR /home/kafkalet
EXPOSE 9092
STOPSIGNAL SIGTERM

# Clients connect to localhost:9092 unless KAFKALET_ADVERTISE or the variables of apache/kafka, such as
# KAFKA_ADVERTISED_LISTENERS, name another address. Options go to `kafkalet serve`.
ENTRYPOINT ["kafkalet", "container"]
# It is ready when every listener accepts and every file is loaded.
HEALTHCHECK --start-period=5m --start-interval=200ms --interval=30s --timeout=2s CMD ["test", "-s", "/tmp/ready"]
