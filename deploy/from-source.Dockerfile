# The images of Dockerfile, with the build in Docker too:
#
#   docker build -f deploy/from-source.Dockerfile --target service --build-arg NAME=relay .
#
# A file of its own, because the classic builder runs every stage that stands above
# the one that is asked for.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# All programs at once: the layer serves every image.
RUN mkdir -p /out/data && CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /out/ ./cmd/... ./examples/billing/cmd/billing

FROM scratch AS service
USER 65532:65532
ENTRYPOINT ["/payonce"]
HEALTHCHECK --interval=30s --timeout=3s --start-period=30s --retries=3 CMD ["/payonce", "health", "livez"]
ARG NAME
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build /out/${NAME} /payonce

FROM service AS tool
HEALTHCHECK NONE
