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
  item.element.dataset.urgency = urgency(item);
  item.element.replaceChildren(
    item.picture,
    make(
      "div",
      { className: "head" },
      make("h3", { className: "name", textContent: item.file.name }),
      ...headParts(item),
    ),
    make("div", { className: "rest" }, ...(isAnswered ? answerParts(item) : []), buttons(item)),
    ...heatMapParts(item),
  );
  if (focused) item.element.querySelector(`[data-does="${focused}"]`)?.focus();
}

function headParts(item) {
  const { answer, failure, state } = item;
  if (state === "refused") {
    const words = isRetina ? word("urgencies", "ungradable") : text("unreadable");
    return [badge(words), line("reason", failure.text())];
  }
  if (state === "foreign") return [badge(text("foreign")), line("reason", failure.text())];
  if (state === "failed") return [badge(text("no_answer")), line("reason", failure.text())];
  if (state !== "answered") return [line("waiting", text(state))];
  if (!isRetina) return [line("answer", word("labels", answer.label))];
  return [badge(word("urgencies", answer.urgency)), gradeLine(answer)];
}

function answerParts({ answer }) {
  if (!isRetina) {
    return [shares([[text("probability"), answer.probability]]), probabilities(answer)];
  }
  return [
    answer.label !== null && referralShares(answer),
    reasonLine(answer),
    qualityLine(answer),
    answer.grade !== null && probabilities(answer),
  ];
}

function line(className, textContent) {
  return make("p", { className, textContent });
}

function badge(words) {
  return line("badge", words);
}

function gradeLine(answer) {
  if (answer.grade === null) return null;
  return line("answer", `${text("grade")} ${answer.grade}: ${word("labels", answer.label)}`);
}

function referralShares(answer) {
  const rows = [[text("referral_probability"), answer.referral_probability, answer.threshold]];
  const threat = answer.severe_or_proliferative_probability;
  if (threat !== null) rows.push([text("threat_probability"), threat]);
  return shares(rows, threshold());
}

function reasonLine({ refer, grade, referral_probability, threshold }) {
  if (!refer || grade === null || grade >= data.referableFrom) return null;
  const values = { probability: percent(referral_probability), threshold: percent(threshold) };
  return line("reason", text("refer_reason", values));
}

function qualityLine(answer) {
  if (!answer.quality) return null;
  const { verdict, reason } = answer.quality;
  const words = word("verdicts", verdict);
  const told = reason ? `${words}: ${reason}` : words;
  return line("reason", `${text("quality")}: ${told}`);
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

function probabilities(answer) {
  const rows = data.labels.map((label) => [word("labels", label), answer.probabilities[label]]);
  if (!isRetina) rows.sort(([, one], [, other]) => other - one);
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
