// What the tasks of retinopathy show: referrals, the most urgent first.

function threshold() {
  const point = data.task.points[language];
  const values = { threshold: percent(data.task.threshold), point };
  return text(point ? "threshold_of" : "threshold", values);
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
  if (!refer || grade === null || grade >= data.task.referableFrom) return null;
  const values = { probability: percent(referral_probability), threshold: percent(threshold) };
  return line("reason", text("refer_reason", values));
}

function qualityLine(answer) {
  if (!answer.quality) return null;
  const { verdict, reason } = answer.quality;
  const words = word("verdicts", verdict);
  return line("reason", `${text("quality")}: ${reason ? `${words}: ${reason}` : words}`);
}

// As `prumo retina predict` sorts; without an answer at the end, where new ones come in.
function place(item) {
  const { urgencies } = data.task;
  if (["failed", "foreign"].includes(item.state)) return [urgencies.length, 0];
  if (item.state !== "refused" && item.state !== "answered") return [urgencies.length + 1, 0];
  const urgency = task.urgency(item);
  const probability =
    urgency === "urgent"
      ? item.answer.severe_or_proliferative_probability
      : item.answer?.referral_probability;
  return [urgencies.indexOf(urgency), -(probability ?? 0)];
}

const task = {
  note: () => `, ${threshold()}`,

  refusedBadge: () => word("urgencies", "ungradable"),

  // A damaged photograph is of somebody, who is referred; a file of another kind is of nobody.
  refusedState: async (file) => ((await isPhotograph(file)) ? "refused" : "foreign"),

  urgency(item) {
    if (item.state === "foreign") return "";
    return item.state === "refused" ? "ungradable" : item.answer?.urgency ?? "";
  },

  headParts: (answer) => [badge(word("urgencies", answer.urgency)), gradeLine(answer)],
  answerParts: (answer) => [
    answer.label !== null && referralShares(answer),
    reasonLine(answer),
    qualityLine(answer),
    answer.grade !== null && probabilities(answer),
  ],

  hasWords: (answer) => Boolean(answer.quality?.reason),

  inOrder(items) {
    const places = new Map(items.map((item) => [item, [...place(item), item.number]]));
    const difference = (one, other) => one.map((value, step) => value - other[step]).find(Boolean);
    return [...items].sort((one, other) => difference(places.get(one), places.get(other)) ?? 0);
  },

  counts: (done) =>
    data.task.urgencies
      .map((known) => [known, done.filter((item) => task.urgency(item) === known).length])
      .filter(([, count]) => count)
      .map(([known, count]) => `${word("urgencies", known)} (${count})`),

  cells: (answer) => ({
    ...answer,
    probability: answer.referral_probability,
    grade_title: answer.grade === null ? "" : word("labels", answer.label),
    quality: answer.quality?.verdict,
    reason: answer.quality?.reason,
  }),
  refusedCells: () => ({ quality: "unreadable", refer: true, urgency: "ungradable" }),
  kinds: { label: "labels", urgency: "urgencies", quality: "verdicts" },
};
