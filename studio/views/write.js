export const view = {
  name: "write",
  title: "Write",
  about: "The answer as it comes, with what else could have come.",
  fits() { return true; },
  async draw(place, state, source) {
    for await (const line of source.write(state.request(), state.gone)) if (line.answer) place.append(line.answer.text);
  },
};
