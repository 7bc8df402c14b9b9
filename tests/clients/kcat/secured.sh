#!/bin/sh
# secured.sh KCAT FOLDER PREFIX: logs in with each file in the folder; kcat reads their settings itself.
set -eu
kcat=$1 folder=$2 topic=orders-$3 prefix=$3
said=$(mktemp)
trap 'rm -f "$said"' EXIT

fail() { echo "failed $1"; cat "$said"; exit 1; }

# The client logs the error that it has, until its metadata or its message times out.
refused() {
    wanted=$1
    shift
    if timeout 30 "$@" >"$said" 2>&1; then fail "$login: not refused"; fi
    grep -q "$wanted" "$said" || fail "$login: not $wanted"
}

LC_ALL=C
export LC_ALL
for file in "$folder"/*.properties; do
    login=$(basename "$file" .properties)
    case $login in
    wrong*)
        refused "Authentication failed" "$kcat" -F "$file" -L -m 2
        ;;
    *)
        for n in 0 1 2; do echo "$login $n" | "$kcat" -q -F "$file" -P -t "$topic" -p $n; done 2>"$said" || fail "$login"
        echo one >"$said.one"
        refused "Topic authorization failed" "$kcat" -F "$file" -P -t payments -l "$said.one"
        rm "$said.one"
        timeout 30 "$kcat" -q -F "$file" -X auto.offset.reset=earliest -G "billing $prefix$login" -e "$topic" \
            >"$said" 2>/dev/null || fail "$login: consume"
        for n in 0 1 2; do grep -qx "$login $n" "$said" || fail "$login: read"; done
        refused "Group authorization failed" "$kcat" -F "$file" -G salaries -e "$topic"
        ;;
    esac
    echo "ok $login"
done
