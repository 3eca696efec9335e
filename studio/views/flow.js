export const view = {
  name: "flow",
  title: "Flow",
  about: "The whole model, drawn from its own parts, with the numbers of this input.",
  fits() { return true; },
  async draw(place, state, source) {
    const flow = await source.flow(state.model.name, state.gone);
    place.append(`${flow.boxes.length} boxes`);
  },
};
