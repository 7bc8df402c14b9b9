#!/bin/sh
# roundtrip.sh KCAT BOOTSTRAP TOPIC: produces five records, asks for offsets, reads from the third; prints what it saw.
#
# kcat sets no timestamps: the times in its report are those that it reads back.
set -eu
kcat=$1 servers=$2 topic=$3

for n in 0 1 2 3 4; do echo "k$n:v$n"; done | "$kcat" -q -b "$servers" -t "$topic" -p 0 -P -K : -z gzip

offset() { "$kcat" -q -b "$servers" -Q -t "$topic:0:$1" | sed 's/.*offset //'; }
consume() { "$kcat" -q -b "$servers" -t "$topic" -p 0 -C -e "$@" 2>&1; }

first=$(consume -o 0 -c 1 -f '%T')
read=$(consume -o 2 -f '[%o, %T, "%k", "%s"], ')
if consume -o 99 -X auto.offset.reset=error >/dev/null; then range=false; else range=true; fi

version=$("$kcat" -V | sed -n 's/^Version \([^ ]*\).*librdkafka \([^ ]*\).*/\1 (librdkafka \2)/p')
echo "{\"client\": \"kcat $version\", \"beginning\": $(offset -2), \"end\": $(offset -1)," \
    "\"found\": $(offset "$first"), \"none\": $(offset 99999999999999), \"read\": [${read%, }], \"out_of_range\": $range}"
