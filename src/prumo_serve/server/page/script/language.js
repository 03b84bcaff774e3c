"use strict";

// Texts and numbers in the reader's language. All files of this folder are one script.

const data = JSON.parse(document.getElementById("data").textContent);
const found = (id) => document.getElementById(id);
let language = document.documentElement.lang;

function text(name, values = {}) {
  const template = data.languages[language].texts[name];
  return template.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

function word(kind, key) {
  return data.languages[language].words[kind][key] ?? key;
}

function percent(share) {
  const form = { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return new Intl.NumberFormat(language, form).format(share);
}

function setLanguage(tag) {
  language = tag;
  document.documentElement.lang = tag;
  document.title = `${text("title")} · ${data.model.name}`;
  history.replaceState(null, "", `?lang=${tag}`);
  updatePage();
  for (const item of items) {
    // Reasons come from the server in one language, so it is asked again.
    const isRefused = ["refused", "foreign"].includes(item.state);
    if (isRefused || (item.answer && task.hasWords(item.answer))) item.state = "waiting";
    show(item);
  }
  sort();
  updateSummary();
  askMore();
}

function updatePage() {
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = text(element.dataset.text);
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", text(element.dataset.label));
  }
  for (const button of document.querySelectorAll("[data-language]")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }
  found("version").textContent = text("version", data.model);
  found("note").textContent = task.note();
}
