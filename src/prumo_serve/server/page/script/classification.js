// What the task `classification` shows. Another task has an object with the same members.

const task = {
  // What stands behind the model's version.
  note: () => "",

  // What a damaged image is called.
  refusedBadge: () => text("unreadable"),

  // `refused` for an image that cannot be read, `foreign` for a file that is no image.
  refusedState: async () => "refused",

  // Marks the element of an item for the style.
  urgency: () => "",

  // Beside the name, and below it.
  headParts: (answer) => [line("answer", word("labels", answer.label))],
  answerParts: (answer) => [
    shares([[text("probability"), answer.probability]]),
    probabilities(answer, { isSorted: true }),
  ],

  // Whether an answer holds words of one language, so that another must be asked for.
  hasWords: () => false,

  inOrder: (items) => items,

  // Of the answers that are there, for the line above them.
  counts: () => [],

  // For the table: of an answer, and of an image that cannot be read; and which kinds of words
  // its columns have.
  cells: ({ label, probability }) => ({ label, probability }),
  refusedCells: () => ({}),
  kinds: { label: "labels" },
};
