// Heat maps, which come when they are asked for.

async function openHeatMap(item) {
  item.heatMap = { url: "", failure: null };
  const opened = item.heatMap;
  show(item);
  try {
    const answer = await ask(item, { heat_map: "true" }, () => {});
    opened.url = answer.heat_map ?? "";
    if (!opened.url) opened.failure = new Failure("heat_map_failed");
  } catch (error) {
    opened.failure = error instanceof Failure ? error : new Failure("heat_map_failed");
  }
  if (items.includes(item)) show(item);
}

function closeHeatMap(item) {
  item.heatMap = null;
  show(item);
}

function heatMapParts(item) {
  if (!item.heatMap) return [];
  const { url, failure } = item.heatMap;
  if (url) {
    const alt = text("heat_map_of", { name: item.file.name });
    const caption = make("figcaption", { textContent: text("heat_map_caption") });
    return [make("figure", {}, make("img", { src: url, alt }), caption)];
  }
  const words = failure ? failure.text() : text("heat_map_loading");
  return [make("p", { className: "heat-state", role: "status", textContent: words })];
}
