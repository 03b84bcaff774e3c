// The worklist as a table for other programs.

function csv() {
  const columns = isRetina
    ? ["file", "quality", "reason", "grade", "grade_title", "probability",
       "severe_or_proliferative_probability", "threshold", "refer", "urgency"]
    : ["file", "label", "probability", "reason"];
  const rows = inOrder().map((item) => ({ ...cells(item), model: data.model.name,
    model_version: data.model.version }));
  const all = [...columns, "model", "model_version"];
  const lines = [all.map(header), ...rows.map((row) => all.map((name) => told(name, row[name])))];
  return lines.map((line) => line.map(quoted).join(separator())).join("\r\n") + "\r\n";
}

function header(name) {
  return data.languages[language].columns[name];
}

// In English as programs know it, in other languages as people there, and their spreadsheets, do.
function told(name, value) {
  if (language === "en") return value;
  if (typeof value === "number") return String(value).replace(".", decimalSign());
  if (typeof value === "boolean") return text(value ? "yes" : "no");
  const kinds = { label: "labels", urgency: "urgencies", quality: "verdicts" };
  return name in kinds ? word(kinds[name], value) : value;
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
    const told = { file, reason: failure.text() };
    return isRetina ? { ...told, quality: "unreadable", refer: true, urgency: "ungradable" } : told;
  }
  if (item.state !== "answered") return { file };
  if (!isRetina) return { file, label: answer.label, probability: answer.probability };
  return {
    ...answer,
    file,
    probability: answer.referral_probability,
    grade_title: answer.grade === null ? "" : word("labels", answer.label),
    quality: answer.quality?.verdict,
    reason: answer.quality?.reason,
  };
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
