#!/usr/bin/env bash
# Does natively, without an engine, what the Dockerfile does, step by step, and
# runs the result as the image would: as a user of its own, with nothing but the
# configuration of compose.yaml. Needs Go; run it from anywhere.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
fail() { echo "compose-check: $*" >&2; exit 1; }

# The build's context: what Dockerfile.dockerignore lets through. Its form is
# kept to what is read here: everything is out but the names after !, then
# patterns of files at any depth.
mkdir "$work/src"
names=$(sed -n 's/^!//p' "$here/Dockerfile.dockerignore")
out=$(sed -n 's/^\*\*\///p' "$here/Dockerfile.dockerignore")
for name in $names; do
  [ -e "$root/$name" ] || fail "Dockerfile.dockerignore lets $name through, which is not there"
  cp -r "$root/$name" "$work/src/"
done
for pattern in $out; do find "$work/src" -name "$pattern" -prune -exec rm -rf {} +; done

# The steps that this script knows are the ones that the Dockerfile has.
expected='go mod download
CGO_ENABLED=0 go build -trimpath -o /tributary ./cmd/tributary
apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* && useradd --system --uid 10001 --home /var/lib/tributary tributary && install -d -o tributary -g tributary /var/lib/tributary'
steps=$(sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' "$here/Dockerfile" | sed -n 's/^RUN //p')
[ "$steps" = "$expected" ] || fail "the Dockerfile's RUN steps changed; change them here too:
$(diff <(echo "$expected") <(echo "$steps") || true)"

# FROM golang: its version is the one that go.mod asks for.
want=$(sed -n 's/^go //p' "$root/go.mod")
grep -q "^FROM golang:$want-" "$here/Dockerfile" || fail "the Dockerfile's Go is not go.mod's, $want"

echo "compose-check: RUN go mod download, go build (without cgo, from the build's context alone)"
(cd "$work/src" && go mod download && CGO_ENABLED=0 go build -trimpath -o "$work/tributary" ./cmd/tributary)
if (cd "$work/src" && go list -deps ./cmd/tributary) | grep -q '^tributary/test'; then fail "the program is built with test code"; fi

# Everything that the program is linked with is in debian:slim.
ldd "$work/tributary" 2>/dev/null | awk '/=>/ {print $1}' | while read -r lib; do
  case $lib in libc.so.* | libdl.so.* | libpthread.so.* | libm.so.* | ld-linux*) ;; *) fail "the program needs $lib, which debian:slim lacks" ;; esac
done

# The packages exist, where apt is.
if command -v apt-get >/dev/null; then
  apt-cache show ca-certificates >/dev/null 2>&1 || echo "compose-check: no package lists, ca-certificates is not looked up"
fi

# As USER tributary, with the home that it owns, an empty environment, and the
# configuration where compose.yaml mounts it.
as=()
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all)
fi
mkdir "$work/home" && cp "$here/tributary.yaml" "$work/tributary.yaml" && chmod 644 "$work/tributary.yaml"
[ "$(id -u)" != 0 ] || chown 10001:10001 "$work/home"
run() {
  (cd "$work/home" && "${as[@]}" env -i PATH=/usr/bin:/bin HOME="$work/home" TRIBUTARY_CONFIG="$work/tributary.yaml" \
    TRIBUTARY_CFG_DATA_DIR="$work/home" POSTGRES_URL=postgres://tributary:x@postgres:5432/tributary \
    CLICKHOUSE_URL=clickhouse://tributary:x@clickhouse:9000 "$work/tributary" "$@")
}
echo "compose-check: ENTRYPOINT as another user: help, version, config check, healthcheck"
run help >/dev/null
run version
run config check
if run healthcheck >"$work/health" 2>&1; then fail "healthcheck is content though nobody runs"; fi
grep -q "nobody answers" "$work/health" || fail "healthcheck: $(cat "$work/health")"
echo "compose-check: good"
