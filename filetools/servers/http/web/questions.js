/** Approvals and conflicts: what a person is asked. */

/** Ask a person what waits for one. */
export function mountQuestions(element, { live, server, monaco, say }) {
  return { askInline() {} };
}
