# One device: docker run -v hunet:/data -p 4000:4000 hunet
FROM python:3.11-slim AS build
COPY requirements/node.lock /build/
RUN python -m venv /opt/hunet \
    && /opt/hunet/bin/pip install --no-cache-dir --no-deps --require-hashes -r /build/node.lock
COPY pyproject.toml README.md LICENSE /build/
COPY src /build/src
RUN /opt/hunet/bin/pip install --no-cache-dir --no-deps /build

FROM python:3.11-slim
COPY --from=build /opt/hunet /opt/hunet
RUN useradd --uid 1000 hunet && install --directory --owner hunet /data
USER hunet
ENV HUNET_FOLDER=/data
VOLUME /data
EXPOSE 4000
HEALTHCHECK CMD ["/opt/hunet/bin/hunet", "status"]
ENTRYPOINT ["/opt/hunet/bin/hunet"]
CMD ["node", "--listen", "0.0.0.0:4000"]
