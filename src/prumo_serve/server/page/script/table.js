// The worklist as a table for other programs.

function csv() {
  const rows = task.inOrder(items).map((item) => ({ ...cells(item), model: data.model.name,
    model_version: data.model.version }));
  const all = [...data.columns, "model", "model_version"];
  const lines = [all.map(header), ...rows.map((row) => all.map((name) => shown(name, row[name])))];
  return lines.map((line) => line.map(quoted).join(separator())).join("\r\n") + "\r\n";
}

function header(name) {
  return data.languages[language].columns[name];
}

// In English as programs know it, in other languages as people there, and their spreadsheets, do.
function shown(name, value) {
  if (language === "en") return value;
  if (typeof value === "number") return String(value).replace(".", decimalSign());
  if (typeof value === "boolean") return text(value ? "yes" : "no");
  return name in task.kinds ? word(task.kinds[name], value) : value;
}

function decimalSign() {
  return new Intl.NumberFormat(language).format(0.5)[1];
}

function separator() {
  return decimalSign() === "," ? ";" : ",";
}

function cells(item) {
  const { answer, failure } = item;
  const file = item.file.name;
  if (item.state === "failed") return { file, reason: failure.text(), urgency: text("no_answer") };
  if (item.state === "foreign") return { file, reason: failure.text(), urgency: text("foreign") };
  if (item.state === "refused") {
    return { file, reason: failure.text(), ...task.refusedCells() };
  }
  if (item.state !== "answered") return { file };
  return { ...task.cells(answer), file };
}

function quoted(value) {
  // A name that begins like a formula must not become one in a spreadsheet.
  const words = String(value ?? "").replace(/^[=+@\t-]/, "'$&");
  const isSpecial = /["\r\n]/.test(words) || words.includes(separator());
  return isSpecial ? `"${words.replaceAll('"', '""')}"` : words;
}

function save() {
  const url = URL.createObjectURL(new Blob(["\ufeff", csv()], { type: "text/csv" }));
  make("a", { href: url, download: "worklist.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
