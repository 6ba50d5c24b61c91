#!/usr/bin/env bash
# Runs a class of Kafka's jars. The serial collector starts fastest and suits a test.
set -euo pipefail
tools_log=-Dlog4j2.configurationFile=/etc/kafka/docker/tools-log4j2.yaml
# shellcheck disable=SC2086 # each variable is a list of arguments
exec java ${KAFKA_HEAP_OPTS:--Xmx1G} ${KAFKA_JVM_PERFORMANCE_OPTS:--XX:+UseSerialGC -XX:TieredStopAtLevel=1} \
  ${KAFKA_LOG4J_OPTS:-$tools_log} ${KAFKA_OPTS:-} -cp '/opt/kafka/libs/*' "$@"
