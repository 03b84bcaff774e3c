// What a person does.

const PHOTOGRAPH_NAME = /\.(jpe?g|jpe|png)$/i;
const drop = found("drop");

async function filesOf(entry) {
  if (entry.isFile) return [await new Promise((ok, fail) => entry.file(ok, fail))];
  const reader = entry.createReader();
  const files = [];
  for (;;) {
    const part = await new Promise((ok, fail) => reader.readEntries(ok, fail));
    if (part.length === 0) return files.filter((file) => PHOTOGRAPH_NAME.test(file.name));
    for (const inside of part) files.push(...(await filesOf(inside)));
  }
}

async function addDropped(transfer) {
  const entries = [...transfer.items].map((one) => one.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) add(transfer.files);
  for (const entry of entries) add(await filesOf(entry));
}

for (const id of ["choose", "take"]) {
  found(id).addEventListener("change", ({ target }) => {
    add(target.files);
    // So that the same photograph can be chosen again.
    target.value = "";
  });
}
addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.classList.add("over");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) drop.classList.remove("over");
});
addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  addDropped(event.dataTransfer);
});
for (const chosen of document.querySelectorAll("[data-language]")) {
  chosen.addEventListener("click", () => setLanguage(chosen.dataset.language));
}
found("again").addEventListener("click", () => {
  tryAgain(items.filter((item) => item.state === "failed"));
});
found("print").addEventListener("click", () => print());
found("save").addEventListener("click", save);
found("clear").addEventListener("click", () => items.forEach(remove));
updatePage();
