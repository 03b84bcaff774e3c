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
  updateSummary();
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
  updateSummary();
  askMore();
}

function tryAgain(chosen) {
  for (const item of chosen) setState(item, "waiting");
  sort();
  updateSummary();
  askMore();
}

function sort() {
  const focused = document.activeElement;
  task.inOrder(items).forEach((item, position) => {
    const there = list.children[position];
    if (there !== item.element) list.insertBefore(item.element, there ?? null);
  });
  if (focused !== document.activeElement && list.contains(focused)) focused.focus();
}

function updateSummary() {
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
    parts.push(...task.counts(done));
    if (foreign.length) parts.push(`${text("foreign")} (${foreign.length})`);
    if (failed.length) parts.push(`${text("no_answer")} (${failed.length})`);
    found("summary").textContent = parts.join(" · ");
  }, 200);
}
