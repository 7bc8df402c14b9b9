#!/bin/sh
# steps.sh KCAT BOOTSTRAP TOPIC: what every client does in these tests, as far as kcat can.
#
# TOPIC has three partitions and nothing in them: kcat makes topics only by asking for them, with one partition. It sets
# no timestamps, and neither administers nor sends offsets to transactions. A transaction is open until its input ends,
# which commits, or a signal comes, which aborts.
set -eu
kcat=$1 servers=$2 topic=$3
folder=$(mktemp -d)
started=""
cleanup() {
    for pid in $started; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap cleanup EXIT

ok() { echo "ok $1"; }
fail() { echo "failed $1"; exit 1; }
same() { [ "$2" = "$3" ] || fail "$1: $3, not $2"; }

# Asks again until it is so, or patience ends: await WHAT COMMAND...
await() {
    what=$1 tries=0
    shift
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || fail "never came: $what"
        sleep 0.01
    done
}

client() { "$kcat" -b "$servers" -X socket.timeout.ms=20000 "$@"; }
produce() { client -q -P "$@"; }
offset() { client -q -Q -t "$1:$2:$3" -X isolation.level=read_uncommitted 2>/dev/null | sed 's/.*offset //'; }
ends_at() { [ "$(offset "$1" 0 -1)" = "$2" ]; }

# The values of partition 0 from the beginning to the end for that isolation level, and that end.
values() { client -q -C -t "$1" -p 0 -o beginning -e -f '%s ' -X isolation.level="$2" 2>/dev/null; }
end() {
    client -C -t "$1" -p 0 -o beginning -e -f '' -X isolation.level="$2" 2>&1 | sed -n 's/.*at offset \([0-9]*\).*/\1/p'
}

echo "   kcat $("$kcat" -V | sed -n 's/^Version \([^ ]*\).*librdkafka \([^ ]*\).*/\1 (librdkafka \2)/p')"

# produce
seq 0 999 | awk '{ print "key " $1 % 100 "\tvalue " $1 }' > "$folder/input"
produce -t "$topic" -K '	' -H source=kcat -H nothing= -X enable.idempotence=true -l "$folder/input"
total=0
for partition in 0 1 2; do
    count=$(offset "$topic" $partition -1)
    [ "$count" -gt 0 ] || fail "produce: nothing in partition $partition"
    total=$((total + count))
done
same "records" 1000 "$total"
ok produce

# resume
member() { client -G "$@" -X auto.offset.reset=earliest -X heartbeat.interval.ms=200 "$topic"; }
row='%p\t%o\t%k\t%s\t%h\t%T\n'
member "$topic-group" -q -c 400 -f "$row" > "$folder/read"
same "records" 400 "$(wc -l < "$folder/read")"
member "$topic-group" -q -e -f "$row" >> "$folder/read"
same "records read" 1000 "$(wc -l < "$folder/read")"
cut -f 3,4 "$folder/read" | sort > "$folder/found"
sort "$folder/input" | diff - "$folder/found" > /dev/null || fail "resume: other keys and values came"
same "headers" "source=kcat,nothing=" "$(cut -f 5 "$folder/read" | sort -u)"
same "records after a restart" "" "$(member "$topic-group" -q -e)"
ok resume

# rebalance
background() {
    "$kcat" -b "$servers" -G "$topic-pair" -f '' -X heartbeat.interval.ms=200 "$topic" > "$folder/$1" 2>&1 &
    pid=$!
    started="$started $pid"
}
assigned() { grep 'assigned: ' "$folder/$1" | tail -1 | grep -o '\[[0-9]\]' | sort | tr -d '\n'; }
has_all() { [ "$(assigned one)" = "[0][1][2]" ]; }
share() {
    [ -n "$(assigned one)" ] && [ -n "$(assigned two)" ] && [ "$(assigned one)" != "[0][1][2]" ] &&
        [ "$( (assigned one; assigned two) | grep -o '\[[0-9]\]' | sort | tr -d '\n')" = "[0][1][2]" ]
}
start=$(date +%s%3N)
background one; one=$pid
await "one member has all" has_all
echo "   assigned after $(($(date +%s%3N) - start)) ms"
background two; two=$pid
await "two members share" share
kill "$two"; wait "$two" || true
await "one member has all again" has_all
kill "$one"; wait "$one" || true
ok rebalance

# times
awk -F '\t' '$1 == 1 { print $2, $6 }' "$folder/read" | sort -n > "$folder/times"
time=$(sed -n 's/^20 //p' "$folder/times")
first=$(awk -v time="$time" '$2 >= time { print $1; exit }' "$folder/times")
same "offset by time" "$first" "$(offset "$topic" 1 "$time")"
same "no such time" -1 "$(offset "$topic" 1 99999999999999)"
same "beginning" 0 "$(offset "$topic" 1 -2)"
ok times

# transactions: $writer is a kcat that reads what is written to descriptor 3, a block at a time
transaction() {
    mkfifo "$folder/$2"
    "$kcat" -b "$servers" -q -P -t "$1" -p 0 -X transactional.id="$1-$2" -X linger.ms=0 \
        < "$folder/$2" 2> "$folder/log" &
    writer=$!
    started="$started $writer"
    exec 3> "$folder/$2"
}
write() { printf '%-1023s\n' "$@" >&3; }
abort() {
    kill "$writer"
    exec 3>&-
    wait "$writer" || fail "transactions: no abort: $(cat "$folder/log")"
}
tx="$topic-transactions"
printf 'a\nb\n' | produce -t "$tx" -p 0 -X transactional.id="$tx"
await "a marker" ends_at "$tx" 3
transaction "$tx" aborted
write c d
await "two records" ends_at "$tx" 5
abort
await "a marker" ends_at "$tx" 6
transaction "$tx" open
write e
await "a record" ends_at "$tx" 7
same "end of read_committed" 6 "$(end "$tx" read_committed)"
same "end of read_uncommitted" 7 "$(end "$tx" read_uncommitted)"
same "committed" "a b " "$(values "$tx" read_committed)"
same "all" "a b c d e " "$(values "$tx" read_uncommitted | tr -s ' ')"
abort
await "a marker" ends_at "$tx" 8
same "end of all that is stable" 8 "$(end "$tx" read_committed)"
same "still" "a b " "$(values "$tx" read_committed)"
ok transactions

# fencing
tx="$topic-fencing"
echo first | produce -t "$tx" -p 0
transaction "$tx" zombie
write x
await "a record" ends_at "$tx" 2
echo y | produce -t "$tx" -p 0 -X transactional.id="$tx-zombie"
exec 3>&-
if wait "$writer"; then fail "fencing: the zombie committed"; fi
await "the markers" ends_at "$tx" 5
same "committed" "first y " "$(values "$tx" read_committed)"
ok fencing

# codecs
for codec in gzip snappy lz4 zstd; do
    seq 0 49 | sed "s/^/$codec-............................................................-/" > "$folder/$codec"
    produce -t "$topic-codecs" -p 0 -z $codec -X linger.ms=50 -l "$folder/$codec"
done
same "values" "$(cat "$folder/gzip" "$folder/snappy" "$folder/lz4" "$folder/zstd" | tr '\n' ' ')" \
    "$(values "$topic-codecs" read_committed)"
ok codecs

# describe
client -L -t "$topic" > "$folder/described"
grep -q "topic \"$topic\" with 3 partitions:" "$folder/described" || fail "describe: not three partitions"
same "partitions in sync" 3 \
    "$(grep -c 'partition [0-2], leader \([0-9]*\), replicas: \1, isrs: \1$' "$folder/described")"
ok describe

# unknown topic
if client -C -e -t "$topic-none" -X allow.auto.create.topics=false > "$folder/none" 2>&1; then
    fail "unknown topic: no refusal"
fi
grep -q "Unknown topic or partition" "$folder/none" || fail "unknown topic: $(cat "$folder/none")"
ok "unknown topic"

# out of range
if client -C -t "$topic" -p 0 -e -o 9999 -X auto.offset.reset=error > "$folder/range" 2>&1; then
    fail "out of range: no refusal"
fi
grep -q "Offset out of range" "$folder/range" || fail "out of range: $(cat "$folder/range")"
ok "out of range"
