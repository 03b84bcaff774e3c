// Photographs: given, put in order, removed.

const THUMBNAIL_PIXELS = 280;
const list = found("worklist");
let items = [];
let given = 0;
let summaryTimer = null;

function add(files) {
  for (const file of files) {
    given += 1;
    const item = {
      number: given,
      file,
      state: "waiting",
      isAsked: false,
      answer: null,
      failure: null,
      heatMap: null,
      requests: new Set(),
      picture: make("canvas", { className: "thumbnail", role: "img" }),
      element: make("li", { className: "card" }),
    };
    items.push(item);
    drawThumbnail(item);
    show(item);
    list.append(item.element);
  }
  found("results").hidden = items.length === 0;
  tellSummary();
  askMore();
}

async function drawThumbnail(item) {
  item.picture.width = THUMBNAIL_PIXELS;
  item.picture.height = 0.75 * THUMBNAIL_PIXELS;
  try {
    const bitmap = await createImageBitmap(item.file, { resizeHeight: THUMBNAIL_PIXELS });
    item.picture.width = bitmap.width;
    item.picture.height = bitmap.height;
    item.picture.getContext("2d").drawImage(bitmap, 0, 0);
    bitmap.close();
  } catch {
    item.picture.classList.add("empty");
  }
}

function remove(item) {
  item.requests.forEach((request) => request.abort());
  items = items.filter((other) => other !== item);
  item.element.remove();
  found("results").hidden = items.length === 0;
  tellSummary();
  askMore();
}

function tryAgain(chosen) {
  for (const item of chosen) setState(item, "waiting");
  sort();
  tellSummary();
  askMore();
}

function urgency(item) {
  if (!isRetina || item.state === "foreign") return "";
  return item.state === "refused" ? "ungradable" : item.answer?.urgency ?? "";
}

// As `prumo retina predict` sorts; without an answer at the end, where new ones come in.
function place(item) {
  if (["failed", "foreign"].includes(item.state)) return [data.urgencies.length, 0];
  if (item.state !== "refused" && item.state !== "answered") return [data.urgencies.length + 1, 0];
  const probability =
    urgency(item) === "urgent"
      ? item.answer.severe_or_proliferative_probability
      : item.answer?.referral_probability;
  return [data.urgencies.indexOf(urgency(item)), -(probability ?? 0)];
}

function inOrder() {
  if (!isRetina) return items;
  const places = new Map(items.map((item) => [item, [...place(item), item.number]]));
  const difference = (one, other) => one.map((value, step) => value - other[step]).find(Boolean);
  return [...items].sort((one, other) => difference(places.get(one), places.get(other)) ?? 0);
}

function sort() {
  const focused = document.activeElement;
  inOrder().forEach((item, position) => {
    const there = list.children[position];
    if (there !== item.element) list.insertBefore(item.element, there ?? null);
  });
  if (focused !== document.activeElement && list.contains(focused)) focused.focus();
}

function tellSummary() {
  const ended = ["answered", "refused", "failed", "foreign"];
  const done = items.filter((item) => ended.includes(item.state));
  const failed = items.filter((item) => item.state === "failed");
  const foreign = items.filter((item) => item.state === "foreign");
  found("progress").max = Math.max(items.length, 1);
  found("progress").value = done.length;
  found("progress").hidden = done.length === items.length;
  found("again").hidden = failed.length === 0;
  // Not for every answer: a screen reader would never end.
  clearTimeout(summaryTimer);
  summaryTimer = setTimeout(() => {
    const answered = done.length - failed.length - foreign.length;
    const parts = [text("progress", { done: answered, total: items.length })];
    for (const known of isRetina ? data.urgencies : []) {
      const count = done.filter((item) => urgency(item) === known).length;
      if (count) parts.push(`${word("urgencies", known)} (${count})`);
    }
    if (foreign.length) parts.push(`${text("foreign")} (${foreign.length})`);
    if (failed.length) parts.push(`${text("no_answer")} (${failed.length})`);
    found("summary").textContent = parts.join(" · ");
  }, 200);
}
