# The image of aliquot; scripts/image builds it, tries it and lists its files.
#
# It has the program, the libraries that it needs (scripts/image-root), certificate authorities
# and an entry for its user: no shell, no package manager, nothing that is writable.

FROM debian:bookworm-slim AS build
WORKDIR /src
COPY scripts/setup scripts/setup
RUN scripts/setup
COPY . .
ARG REVISION=unknown
RUN cmake --preset release -D ALIQUOT_TESTS=OFF -D ALIQUOT_REVISION="$REVISION" \
 && cmake --build --preset release \
 && scripts/image-root build/release/aliquot /image

# For HAMi's own chart: it makes the program listen on ports 443 and 80, for which it has to be root.
FROM scratch AS root
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="aliquot" \
      org.opencontainers.image.description="Scheduler extender that shares accelerators between pods" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
ENV PATH=/usr/bin
COPY --from=build /image/ /
ENTRYPOINT ["/usr/bin/aliquot"]

FROM root
USER 65534:65534
