// What is shown of one photograph.

const SHOWN_LABELS = 10;

function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

function show(item) {
  const focused = item.element.contains(document.activeElement)
    ? document.activeElement.dataset.does
    : "";
  const isAnswered = item.state === "answered";
  item.picture.setAttribute("aria-label", item.file.name);
  item.element.dataset.state = item.state;
  item.element.dataset.urgency = task.urgency(item);
  item.element.replaceChildren(
    item.picture,
    make(
      "div",
      { className: "head" },
      make("h3", { className: "name", textContent: item.file.name }),
      ...headParts(item),
    ),
    make("div", { className: "rest" }, ...(isAnswered ? task.answerParts(item.answer) : []), buttons(item)),
    ...heatMapParts(item),
  );
  if (focused) item.element.querySelector(`[data-does="${focused}"]`)?.focus();
}

function headParts(item) {
  const { answer, failure, state } = item;
  if (state === "refused") {
    return [badge(task.refusedBadge()), line("reason", failure.text())];
  }
  if (state === "foreign") return [badge(text("foreign")), line("reason", failure.text())];
  if (state === "failed") return [badge(text("no_answer")), line("reason", failure.text())];
  if (state !== "answered") return [line("waiting", text(state))];
  return task.headParts(answer);
}

function line(className, textContent) {
  return make("p", { className, textContent });
}

function badge(words) {
  return line("badge", words);
}

function shares(rows, note = "") {
  const parts = rows.flatMap(([title, share, mark]) => [
    make("dt", { textContent: title }),
    make(
      "dd",
      {},
      bar(share, mark),
      make("span", { className: "number", textContent: percent(share) }),
      mark !== undefined && note && make("span", { className: "note", textContent: note }),
    ),
  ]);
  return make("dl", { className: "shares" }, ...parts);
}

function bar(share, mark) {
  const drawn = make("span", { className: "bar", "aria-hidden": "true" }, make("span"));
  drawn.style.setProperty("--share", share);
  if (mark !== undefined) {
    drawn.append(make("i"));
    drawn.style.setProperty("--mark", mark);
  }
  return drawn;
}

function probabilities(answer, { isSorted = false } = {}) {
  const rows = data.labels.map((label) => [word("labels", label), answer.probabilities[label]]);
  if (isSorted) rows.sort(([, one], [, other]) => other - one);
  const summary = make("summary", { textContent: text("probabilities") });
  return make("details", {}, summary, shares(rows.slice(0, SHOWN_LABELS)));
}

function buttons(item) {
  const row = make("div", { className: "buttons" });
  if (data.hasHeatMaps && item.state === "answered" && item.answer.label !== null) {
    const isOpen = item.heatMap !== null;
    const act = () => (item.heatMap ? closeHeatMap(item) : openHeatMap(item));
    row.append(button("heat_map", act, { "aria-expanded": String(isOpen) }));
  }
  if (item.state === "failed") row.append(button("again", () => tryAgain([item])));
  const name = text("remove_named", { name: item.file.name });
  row.append(button("remove", () => remove(item), { "aria-label": name, className: "quiet" }));
  return row;
}

function button(name, act, properties = {}) {
  const made = make("button", { type: "button", textContent: text(name), ...properties });
  made.dataset.does = name;
  made.addEventListener("click", act);
  return made;
}
