// The current view as the fragment of the URL: #/records/orders?partition=0&start=offset&offset=5

export function route() {
  const [place, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = place.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { parts, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

export function address(parts, query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return `#/${parts.map(encodeURIComponent).join("/")}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

/** Show a view. The arguments are the parts of its path; an object as the last argument is the query. */
export function go(...parts) {
  const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
  location.hash = address(parts.map(String), query);
}

export function onRoute(listener) {
  addEventListener("hashchange", () => listener(route()));
}
